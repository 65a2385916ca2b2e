#include "zarrcore/base/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace zarrfs {
namespace {

// In bytes. Longer words get no suggestion, because Distance() takes quadratic time.
constexpr size_t kMaxWord = 64;

// Returns the number of edits that turn one word into the other (optimal string alignment
// distance).
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<size_t>> edits(from.size() + 1, std::vector<size_t>(to.size() + 1));
  for (size_t i = 0; i <= from.size(); ++i) {
    for (size_t j = 0; j <= to.size(); ++j) {
      size_t& least = edits[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1,
                        edits[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        least = std::min(least, edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits.back().back();
}

}  // namespace

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kMaxWord) return "";
  std::string_view nearest;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view each : known) {
    if (each.size() > kMaxWord) continue;
    if (const size_t edits = Distance(word, each); edits < least) {
      least = edits;
      nearest = each;
    }
  }
  return nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest);
}

}  // namespace zarrfs
