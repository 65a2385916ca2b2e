// Lookup: finds the entry of a name in a folder.
//
// Old readers treat a failed lookup as an absent chunk, so everything that may exist has an entry
// (entries.h). Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "fs/tree/entries.h"
#include "fs/tree/nodes.h"
#include "fs/tree/timeouts.h"

namespace zarrfs {

class Lookup {
 public:
  Lookup(Nodes& nodes, const Entries& entries, const Timeouts& timeouts)
      : nodes_(nodes), entries_(entries), timeouts_(timeouts) {}

  /// Finds the entry of a name in a folder. If the name does not exist, returns an entry without an
  /// id, or kNotFound.
  [[nodiscard]] Result<Entry> Find(const Target& folder, const std::string& name) const;

  /// Returns the latest known entry of a name after its lookup was interrupted, because old readers
  /// also treat an interruption as an absent chunk. Fails if nothing is known about the name.
  [[nodiscard]] Result<Entry> FindInterrupted(const Target& folder, const std::string& name) const;

 private:
  Result<Entry> InRootOfViews(const std::string& name) const;
  Result<Entry> InNode(const KnownNode& node, size_t view, const std::string& name) const;
  // Finds the folder or file of a node below a group.
  Result<Entry> Child(const std::string& path, size_t view, const std::string& name) const;
  // Finds a name in a folder of a view that shows assembled files (HasFiles()).
  Result<Entry> InFolderOfFiles(const CurrentNode& group, size_t view,
                                const std::string& name) const;
  // Returns the node whose assembled file has this name in `folder`, as the node was last seen.
  // Without such a node, the result has no record.
  CurrentNode LastSeenFile(const std::string& folder, size_t view, std::string_view name) const;
  // Returns the entry of a name that may be a chunk, or a folder of chunks, of a node that cannot
  // be read because of `error`. Readers treat a missing name, and some readers a failed lookup, as
  // an absent chunk, so the entry is a file whose READ fails with the reason. Fails if the name
  // must be a folder, or if the view shows assembled files.
  Result<Entry> MaybeChunk(const Target& folder, const CurrentNode& node, Error error,
                           std::string_view name) const;
  Result<Entry> InUnreadable(const KnownNode& node, size_t view, const std::string& name) const;
  Result<Entry> InChunkFolder(const Target& folder, const KnownNode& node,
                              std::string_view name) const;
  // Finds a name in the array's own folder (`in_array`), or in the folder of the chunks that begin
  // with the first `level` coordinates of `prefix`. `error` is the reason why the array cannot be
  // read; null if it can be read. An unreadable array may have any chunk.
  Result<Entry> ChunkPath(const CurrentNode& node, size_t view, ChunkCoordinates prefix,
                          size_t level, bool in_array, std::string_view name,
                          const Error* error) const;
  Result<Entry> Chunk(const ChunkName& chunk) const;

  Nodes& nodes_;
  const Entries& entries_;
  const Timeouts& timeouts_;
};

}  // namespace zarrfs
