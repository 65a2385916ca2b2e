// From the words of a command line to a node of a store, or to one of its chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/local/link_policy.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/open/source.h"

namespace zarrfs::ctl {

/// Which symbolic links of stores to follow. Call before any store is opened; by default, the links
/// that a mount by the same user follows without options.
void SetLinksToFollow(LinkPolicy policy);

/// Removes `at=COMMIT` from a list of options as after -o: the commit of an Icechunk repository to
/// read (SourceAccess::at); "" if absent. kInvalidArgument if it is not a commit.
[[nodiscard]] Result<std::string> TakeCommit(std::string& options);

/// Sets the commit for all stores named from now on.
void SetCommit(std::string at);

/// Starts the fetch process for `store` if that is in a bucket or on a web server. Call before this
/// process is confined and has threads. kInvalidArgument for a wrong address.
[[nodiscard]] Result<void> ConnectTo(const Source& store, const RemoteOptions& options);

/// Likewise for the store of the mount that contains the path in `words` (of FindChunk()), with the
/// options of the mount.
[[nodiscard]] Result<void> ConnectToStoreOfMount(const std::vector<std::string>& words);

/// An open store, and one node of it.
struct TargetNode {
  Source source;  // absolute, links resolved
  std::unique_ptr<Hierarchy> hierarchy;
  NodePtr node;

  /// Absolute path of the zip file that is the store; "" if it is a folder.
  [[nodiscard]] std::string ZipFile() const;
  /// Absolute path of an object.
  [[nodiscard]] std::string FileOf(std::string_view key) const;
  /// Why the node has no chunks to look at, if node->chunks is null: it is a group, or broken.
  [[nodiscard]] Error WhyNoChunks() const;
};

/// Opens the store that contains `store` (the topmost of nested groups, because the groups above
/// decide how a view names chunks) and finds the node `path` below `store`.
[[nodiscard]] Result<TargetNode> FindNode(const std::string& store, const std::string& path,
                                          HierarchyOptions options = {});

/// A chunk of an array, whether or not the store holds it.
struct TargetChunk {
  TargetNode array;                 // node->chunks is never null
  std::vector<uint64_t> at;         // coordinates in layout().inner_grid
  std::string file = {};            // the path below a mount that names it, absolute; else ""
  std::optional<size_t> view = {};  // the view that this path goes through, if that is known

  [[nodiscard]] const ChunkSource& source() const { return *array.node->chunks; }
  [[nodiscard]] InnerIndex inner() const {
    return InnerIndex{source().layout().inner_grid.Linear(at)};
  }
  /// "0.3.1".
  [[nodiscard]] std::string name() const { return ChunkNaming{}.Path(at); }
  /// Absolute path of the stored object that would hold the chunk.
  [[nodiscard]] std::string ObjectFile() const {
    return array.FileOf(source().ObjectKey(source().OuterOf(inner())));
  }
  /// The error for a chunk that the store does not hold.
  [[nodiscard]] Error NotStored() const;
};

/// `words`: ARRAY CHUNK; STORE PATH CHUNK; or, in one or more parts, the path of a chunk file below
/// a mount, even if it does not exist. A CHUNK is "0.3.1", "0/3/1", "c.0.3.1" or "c/0/3/1"; for an
/// array without dimensions "0", "c" or "".
[[nodiscard]] Result<TargetChunk> FindChunk(const std::vector<std::string>& words);

}  // namespace zarrfs::ctl
