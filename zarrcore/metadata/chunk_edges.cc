#include "zarrcore/metadata/chunk_edges.h"

#include <optional>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

std::optional<uint64_t> ToPositive(const Json& json) {
  const auto number = ParseInteger(json, 64, /*is_signed=*/false);
  return number && *number > 0 && *number <= kMaxExtent ? number : std::nullopt;
}

struct Edges {
  uint64_t length = 0;
  uint64_t count = 1;
};

// Parses an item of a list of chunk lengths: a length, or [length, count].
std::optional<Edges> ToEdges(const Json& item) {
  const bool is_run = item.is_array() && item.size() == 2;
  const auto length = ToPositive(is_run ? item[0] : item);
  const auto count = is_run ? ToPositive(item[1]) : 1;
  if (!length || !count) return std::nullopt;
  return Edges{*length, *count};
}

tl::unexpected<Error> Refuse(std::string_view key, const Json& found) {
  return Fail(ErrorCode::kDamaged,
              "{}: chunk_shapes: expected positive integers below 2^63, or pairs of a length and a "
              "count, found {}",
              key, Excerpt(found));
}

}  // namespace

Result<std::vector<EdgeRun>> ParseChunkEdges(const Json& document, uint64_t extent,
                                             std::string_view key) {
  if (!document.is_array()) {
    const auto length = ToPositive(document);
    if (!length) return Refuse(key, document);
    return std::vector{EdgeRun{0, *length}};
  }
  std::vector<EdgeRun> runs;
  uint64_t chunks = 0;
  uint64_t sum = 0;  // the sum of the chunk lengths so far
  for (const Json& item : document) {
    const auto edges = ToEdges(item);
    if (!edges) return Refuse(key, item);
    const bool is_in_array = runs.empty() || sum < extent;
    if (is_in_array && (runs.empty() || runs.back().length != edges->length)) {
      if (runs.size() == kMaxEdgeRuns) {
        return Fail(ErrorCode::kUnsupported,
                    "{}: chunk_shapes: expected at most {} changes of the length, found more", key,
                    kMaxEdgeRuns);
      }
      runs.push_back({chunks, edges->length});
    }
    const auto length = CheckedMul(edges->length, edges->count);
    const auto end = length ? CheckedAdd(sum, *length) : std::nullopt;
    if (!end || *end > kMaxExtent) {
      return Fail(ErrorCode::kDamaged,
                  "{}: chunk_shapes: expected lengths that sum up to less than 2^63, found more",
                  key);
    }
    sum = *end;
    // `chunks` cannot overflow: every chunk has a length of at least 1, so `chunks` is at most
    // `sum`.
    chunks += edges->count;
  }
  if (runs.empty() || sum < extent) {
    return Fail(ErrorCode::kDamaged,
                "{}: chunk_shapes: expected lengths that sum up to at least {}, as in shape, found "
                "{}",
                key, extent, sum);
  }
  return runs;
}

}  // namespace zarrfs
