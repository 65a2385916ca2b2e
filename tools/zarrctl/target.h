// Finds the node of a store, or the chunk of an array, to which the words of a command line refer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/icechunk/virtual_prefix.h"
#include "zarrcore/local/link_policy.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/open/source.h"

namespace zarrfs::ctl {

/// Sets which symbolic links of stores are followed. Call before any store is opened. By default,
/// these are the links that a mount by the same user follows without options.
void SetLinksToFollow(LinkPolicy policy);

/// Removes `at=COMMIT` from a list of options in the syntax of -o, and returns the commit of an
/// Icechunk repository to read (SourceAccess::at); "" if the option is absent. Fails with
/// kInvalidArgument if the value is not a commit.
[[nodiscard]] Result<std::string> TakeCommit(std::string& options);

/// Removes each `virtual=PREFIX` and `virtual_file=FILE` from a list of options in the syntax of
/// -o, reads FILE, and returns the locations from which virtual chunks of the repository may be
/// read. The message of an error begins with the name of the option or file.
[[nodiscard]] Result<std::vector<VirtualPrefix>> TakeVirtualPrefixes(std::string& options);

/// Sets the commit to read, and the locations of its virtual chunks, for all stores that are opened
/// afterwards.
void SetCommit(std::string at, std::vector<VirtualPrefix> prefixes);

/// Starts the fetch process if `store` is in a bucket or on a web server, or if its virtual chunks
/// may be (SetCommit). Call before this process is confined and has threads. Fails with
/// kInvalidArgument for a wrong address.
[[nodiscard]] Result<void> ConnectTo(const Source& store, const RemoteOptions& options);

/// Starts the fetch process for the store of the chunk that `words` name; see FindChunk(). The
/// words begin with a path. If a mount contains the path, the options are those of the mount. Call
/// before this process is confined and has threads.
[[nodiscard]] Result<void> ConnectToStoreOf(const std::vector<std::string>& words,
                                            const RemoteOptions& options);

/// An open store, and one of its nodes.
struct TargetNode {
  Source source;  // absolute, with symbolic links resolved
  std::unique_ptr<Hierarchy> hierarchy;
  NodePtr node;

  /// The absolute path of the single file that is the store, a zip file or a reference set; "" if
  /// the store is a folder.
  [[nodiscard]] std::string ContainerFile() const;
  /// Absolute path of a stored object.
  [[nodiscard]] std::string FileOf(std::string_view key) const;
  /// Returns the error that says why node->chunks is null: the node is a group, or is damaged.
  [[nodiscard]] Error WhyNoChunks() const;
};

/// Opens the store that contains `store`, and finds the node `path` below `store`. If groups are
/// nested, opens the topmost group as the store, because the parents of a node affect how a view
/// names its chunks.
[[nodiscard]] Result<TargetNode> FindNode(const std::string& store, const std::string& path,
                                          HierarchyOptions options = {});

/// A chunk of an array, stored or not.
struct TargetChunk {
  TargetNode array;          // its node always has chunks
  std::vector<uint64_t> at;  // the coordinates in layout().inner_grid
  // The absolute path below a mount, if the user named the chunk by that path; otherwise "".
  std::string file = {};
  std::optional<size_t> view = {};  // the view in that path, if it is known

  [[nodiscard]] const ChunkSource& source() const { return *array.node->chunks; }
  [[nodiscard]] InnerIndex inner() const {
    return InnerIndex{source().layout().inner_grid.Linear(at)};
  }
  /// The name of the chunk, such as "0.3.1".
  [[nodiscard]] std::string name() const { return ChunkNaming{}.Path(at); }
  /// Returns the absolute path of the object that contains the chunk, if the chunk is stored.
  [[nodiscard]] std::string ObjectFile() const {
    return array.FileOf(source().ObjectKey(source().OuterOf(inner())));
  }
  /// Returns the error for a command that needs the chunk, if the chunk is not stored.
  [[nodiscard]] Error NotStored() const;
};

/// Finds the chunk to which `words` refer: ARRAY CHUNK, or STORE PATH CHUNK, or, in one or more
/// words, the path of a chunk file below a mount, even if the file does not exist. A CHUNK is
/// "0.3.1", "0/3/1", "c.0.3.1" or "c/0/3/1"; for an array without dimensions "0", "c" or "".
[[nodiscard]] Result<TargetChunk> FindChunk(const std::vector<std::string>& words);

}  // namespace zarrfs::ctl
