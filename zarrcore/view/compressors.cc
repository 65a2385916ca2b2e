#include "zarrcore/view/compressors.h"

namespace zarrfs {

std::optional<CompressorSet> ParseCompressors(std::string_view ids) {
  CompressorSet set;
  if (ids == "none") return set;
  for (size_t from = 0; from <= ids.size();) {
    const size_t end = std::min(ids.find(':', from), ids.size());
    const auto* const found = std::ranges::find(kCompressors, ids.substr(from, end - from));
    if (found == kCompressors.end()) return std::nullopt;
    set.set(static_cast<size_t>(found - kCompressors.begin()));
    from = end + 1;
  }
  return set;
}

std::string CompressorNames(const CompressorSet& set) {
  std::string names;
  for (size_t i = 0; i < kCompressors.size(); ++i) {
    if (!set[i]) continue;
    if (!names.empty()) names += ':';
    names += kCompressors[i];
  }
  return names.empty() ? "none" : names;
}

}  // namespace zarrfs
