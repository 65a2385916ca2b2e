#ifndef FS_TREE_SOURCE_SHIM_H_
#define FS_TREE_SOURCE_SHIM_H_
#include "zarrcore/array/chunk_source.h"
namespace zarrfs {
using OuterIndex = uint64_t;
struct Located {
  std::optional<ChunkLocation> location;
  Validity validity;
};
inline Result<Located> LocateShim(const ChunkSource& s, uint64_t chunk, Age age, bool may_read,
                                  Sizes sizes) {
  uint64_t watched = 0;
  auto l = s.Locate(chunk, age, may_read, &watched, sizes);
  if (!l) return Fail(l);
  return Located{*l, Validity(watched)};
}
inline Result<Valid<bool>> AnyShim(const ChunkSource& s, std::span<const uint64_t> p, Age age) {
  uint64_t watched = 0;
  auto l = s.AnyChunk(p, age, &watched);
  if (!l) return Fail(l);
  return Valid<bool>{*l, Validity(watched)};
}
inline Result<Valid<std::vector<OuterIndex>>> ListShim(const ChunkSource& s,
                                                       std::span<const uint64_t> p) {
  uint64_t watched = 0;
  auto l = s.ListOuter(p, &watched);
  if (!l) return Fail(l);
  return Valid<std::vector<OuterIndex>>{std::move(*l), Validity(watched)};
}
struct ListedChunk {
  uint64_t slot;
  uint64_t chunk;
  Result<ChunkLocation> location;
};
struct CursorOptions {
  std::span<const uint64_t> prefix;
  uint64_t from = 0;
  Age max_age = kAnyAge;
  bool missing_too = false;
  Sizes sizes = Sizes::kChecked;
};
struct ChunkCursor {
  std::vector<ListedChunk> all;
  size_t at = 0;
  Result<void> result;
  Validity v;
  ChunkCursor(const ChunkSource& s, uint64_t outer, CursorOptions o) {
    uint64_t watched = 0;
    result = s.VisitChunks(
        outer, o.prefix, o.from, o.max_age,
        [&](uint64_t slot, uint64_t chunk, const Result<ChunkLocation>& l) {
          all.push_back({slot, chunk, l});
          return all.size() < 2000000;
        },
        &watched, o.missing_too, o.sizes);
    v = Validity(watched);
  }
  Result<std::optional<ListedChunk>> Next() {
    if (!result) return Fail(result);
    if (at == all.size()) return std::optional<ListedChunk>();
    return std::optional<ListedChunk>(all[at++]);
  }
  Validity validity() const { return v; }
};
}  // namespace zarrfs
#endif
