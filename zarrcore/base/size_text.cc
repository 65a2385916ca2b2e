#include "zarrcore/base/size_text.h"

#include "zarrcore/base/number_text.h"

namespace zarrfs {

std::optional<uint64_t> ParseSize(std::string_view text) {
  constexpr std::string_view kUnits = "kKmMgGtT";
  uint64_t step = 1024;
  if (text.size() > 2 && text.ends_with("iB") &&
      kUnits.find(text[text.size() - 3]) != kUnits.npos) {
    text.remove_suffix(2);
  } else if (text.ends_with('B')) {
    text.remove_suffix(1);
    step = 1000;
  }
  uint64_t unit = 1;
  if (const size_t letter = text.empty() ? kUnits.npos : kUnits.find(text.back());
      letter != kUnits.npos) {
    for (size_t power = 0; power <= letter / 2; ++power) unit *= step;
    text.remove_suffix(1);
  }
  const auto number = NumberFrom<uint64_t>(text);
  if (!number || *number > UINT64_MAX / unit) return std::nullopt;
  return *number * unit;
}

}  // namespace zarrfs
