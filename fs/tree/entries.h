// Entries: ids, attributes and timeouts of everything a mount shows.
//
// What is there, or may be, and cannot be read (damage, permissions, a store that fails or is gone)
// has an entry too: a file of at least a byte, or a folder, whose READ or listing gives the error.
// Each of these functions fails only with an error that says nothing about the file (kWouldBlock,
// kInterrupted) or where its comment says so. Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "fs/tree/contents.h"
#include "fs/tree/entry.h"
#include "fs/tree/nodes.h"
#include "fs/tree/status_files.h"
#include "fs/tree/timeouts.h"
#include "fs/tree/tree_options.h"

namespace zarrfs {

/// A chunk file of an array, as one view shows it.
struct ChunkName {
  const CurrentNode& node;
  size_t view;
  InnerIndex chunk;

  [[nodiscard]] const ArrayRange::ViewPart& part() const { return node.range->views[view]; }
  [[nodiscard]] uint64_t position() const { return node.range->PositionOf(view, chunk); }
};

class Entries {
 public:
  Entries(const TreeOptions& options, Nodes& nodes, const Contents& contents, AssembledFiles& files,
          const IdJournal& journal, const Timeouts& timeouts, FailureLog& failures);

  /// The root of the mount.
  [[nodiscard]] Result<Entry> Root() const;
  /// The root if the store does not answer, so that .zarrfs can be reached.
  [[nodiscard]] Entry RootAsLastSeen() const;
  [[nodiscard]] Entry Folder(const CurrentNode& node, size_t view) const;
  /// The folder of a node, or a stored file.
  [[nodiscard]] Entry FolderOrFile(const CurrentNode& node, size_t view) const;
  /// As KindOfDocument() says. kNotFound if the node has no such document in the view. The newest
  /// version of what is made becomes the current one.
  [[nodiscard]] Result<Entry> Document(const CurrentNode& node, size_t view, size_t document) const;

  /// A chunk that is stored; the version at `location` becomes the current one. Fails as
  /// Contents::SizeOf() does.
  [[nodiscard]] Result<Entry> Chunk(const ChunkName& chunk, const ChunkLocation& location,
                                    Validity validity) const;
  /// The same in the version of `epoch`, without a timeout for its name.
  [[nodiscard]] Result<Entry> Chunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                                    const ChunkLocation& location, uint32_t epoch) const;
  /// A chunk that is not stored, in a view that has files for such chunks. Fails if the array's
  /// codecs cannot encode.
  [[nodiscard]] Result<Entry> FillChunk(const ChunkName& chunk, Validity validity) const;
  [[nodiscard]] Entry ChunkFolder(const CurrentNode& node, size_t view,
                                  std::span<const uint64_t> prefix, Validity validity = {}) const;

  [[nodiscard]] Result<Entry> UnreadableChunk(const ChunkName& chunk, const Error& error) const;
  /// An assembled file as it was in the inode's version; kStale if that is gone.
  [[nodiscard]] Result<Entry> FileAsOf(const Target& file) const;
  [[nodiscard]] Entry UnreadableDocument(const CurrentNode& node, size_t view,
                                         size_t document) const;
  /// With the permissions of the node's folder, or none if they are not known.
  [[nodiscard]] Result<Entry> UnreadableFolder(const KnownNode& node, size_t view) const;

  [[nodiscard]] Entry StatusFolder() const;
  [[nodiscard]] Entry StatusFile(const StatusFiles::Snapshot& file) const;

 private:
  // The two that all others begin with. A file's attributes never expire.
  Entry MakeFile(FileKind kind, NodeId id, uint32_t epoch, const ObjectInfo& info, uint64_t size,
                 uint32_t links = 1) const;
  Entry MakeFolder(NodeId id, const ObjectInfo& info, double timeout) const;
  // A folder of a node that can be read: its time is also that of its chunks' last change.
  Entry MakeFolder(NodeId id, const Node& node) const;
  // A document that is made from several nodes; its version becomes the current one.
  Entry MakeFile(const CurrentNode& node, size_t view, size_t document,
                 const MadeDocument& made) const;

  Entry StoredFile(const CurrentNode& node, size_t view) const;
  // Of one node.
  Entry PlainDocument(const CurrentNode& node, size_t view, size_t document) const;
  Result<Entry> AssembledFile(const CurrentNode& node, size_t view, size_t document) const;
  Entry MakeFile(NodeId id, uint32_t epoch, size_t document,
                 const AssembledFiles::Version& version) const;
  Result<Entry> Consolidated(const CurrentNode& node, size_t view) const;
  Result<Entry> SharedDocument(const CurrentNode& node, size_t view) const;

  const TreeOptions& options_;
  Nodes& nodes_;
  const Contents& contents_;
  AssembledFiles& files_;
  const Timeouts& timeouts_;
  FailureLog& failures_;
  const uint64_t generation_;  // drawn at mount time: ids of an earlier mount mean nothing
};

}  // namespace zarrfs
