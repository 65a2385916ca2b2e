// From the words of a command line to a node of a store, or to one of its chunks.
#ifndef TOOLS_ZARRCTL_TARGET_H_
#define TOOLS_ZARRCTL_TARGET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs::ctl {

/// A store that was opened, and one node of it.
struct TargetNode {
  std::string folder;  // of the store: absolute, symbolic links resolved
  std::unique_ptr<Hierarchy> hierarchy;
  NodePtr node;

  /// Absolute path of an object.
  [[nodiscard]] std::string FileOf(std::string_view key) const;
  /// Why the node has no chunks to look at, if node->chunks is null: it is a group, or broken.
  [[nodiscard]] Error WhyNoChunks() const;
};

/// Opens the store that `store` lies in (the topmost of the groups that hold each other; what is
/// above decides how a view names chunks) and finds the node `path` below `store`.
[[nodiscard]] Result<TargetNode> FindNode(const std::string& store, const std::string& path);

/// A chunk of an array, whether or not the store holds it.
struct TargetChunk {
  TargetNode array;    // node->chunks is never null
  uint64_t chunk = 0;  // in layout().inner_grid
  ChunkCoordinates coordinates{};
  std::string file;            // the path below a mount that names it, absolute; else ""
  std::optional<size_t> view;  // the view that this path goes through, if that is known

  [[nodiscard]] std::span<const uint64_t> at() const {
    return {coordinates.data(), source().layout().inner_grid.rank()};
  }
  [[nodiscard]] const ChunkSource& source() const { return *array.node->chunks; }
  [[nodiscard]] InnerIndex inner() const { return InnerIndex{chunk}; }
  /// "0.3.1".
  [[nodiscard]] std::string name() const { return ChunkNaming{}.Path(at()); }
  /// Absolute path of the stored object that holds the chunk, or would hold it.
  [[nodiscard]] std::string ObjectFile() const {
    return array.FileOf(source().ObjectKey(source().OuterOf(inner())));
  }
  /// What to say of a chunk that the store does not hold.
  [[nodiscard]] Error NotStored() const;
};

/// `words`: ARRAY CHUNK; STORE PATH CHUNK; or, in one or more parts, the path of a chunk file below
/// a mount, whether or not there is such a file.
[[nodiscard]] Result<TargetChunk> FindChunk(const std::vector<std::string>& words);

/// "0.3.1", "0/3/1", "c.0.3.1" or "c/0/3/1"; of an array without dimensions "0", "c" or "".
/// kInvalidArgument unless it is a chunk of the grid.
[[nodiscard]] Result<ChunkCoordinates> ParseChunkName(std::string_view name, const ChunkGrid& grid);

}  // namespace zarrfs::ctl

#endif  // TOOLS_ZARRCTL_TARGET_H_
