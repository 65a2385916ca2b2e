// Entries: makes the entries of all files and folders of a mount: their ids, attributes and
// timeouts.
//
// A file or folder that exists or may exist, but cannot be read (damage, permissions, a store that
// fails or has disappeared), also has an entry: a file of at least one byte, or a folder, whose
// READ or listing fails. The functions fail only with errors that say nothing about the file
// (kWouldBlock, kInterrupted), except where their comments say otherwise. Thread-safe.
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

/// A chunk file of an array in one view.
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

  /// Returns the entry of the root of the mount.
  [[nodiscard]] Result<Entry> Root() const;
  /// Returns the entry of the root as it was last seen, which keeps .zarrfs accessible while the
  /// store does not answer.
  [[nodiscard]] Entry RootAsLastSeen() const;
  /// Returns the entry of a readable node's folder.
  [[nodiscard]] Entry Folder(const CurrentNode& node, size_t view) const;
  /// Returns the entry of a listed node's folder. The node must be readable and not a stored file.
  [[nodiscard]] Entry Folder(const ListedNode& node, size_t view) const;
  /// Returns the entry of a node's folder or, if the node is a stored file, of that file.
  [[nodiscard]] Entry FolderOrFile(const CurrentNode& node, size_t view) const;
  /// Returns the entry of the document with number `document`, which KindOfDocument() classifies.
  /// Fails with kNotFound if the node has no such document in the view. If the document is made
  /// from several nodes, its newest version becomes its current version.
  [[nodiscard]] Result<Entry> Document(const CurrentNode& node, size_t view, size_t document) const;

  /// Returns the entry of a stored chunk. The version at `location` becomes the chunk's current
  /// version. Returns the errors of Contents::SizeOf().
  [[nodiscard]] Result<Entry> Chunk(const ChunkName& chunk, const ChunkLocation& location,
                                    Validity validity) const;
  /// Returns the entry of a stored chunk in the version with `epoch`. Its name_timeout is 0.
  [[nodiscard]] Result<Entry> Chunk(const ArrayRange& range, size_t view, InnerIndex chunk,
                                    const ChunkLocation& location, uint32_t epoch) const;
  /// Returns the entry of a missing chunk, in a view that shows missing chunks as files. Fails if
  /// the array's codecs cannot encode the fill value.
  [[nodiscard]] Result<Entry> FillChunk(const ChunkName& chunk, Validity validity) const;
  [[nodiscard]] Entry ChunkFolder(const CurrentNode& node, size_t view,
                                  std::span<const uint64_t> prefix, Validity validity = {}) const;

  [[nodiscard]] Result<Entry> UnreadableChunk(const ChunkName& chunk, const Error& error) const;
  /// Returns the entry of an assembled file in the version that the file's inode represents; kStale
  /// if that version is no longer current.
  [[nodiscard]] Result<Entry> FileAsOf(const Target& file) const;
  [[nodiscard]] Entry UnreadableDocument(const CurrentNode& node, size_t view,
                                         size_t document) const;
  /// Returns the entry of an unreadable folder. It has the permissions of the node's folder, or
  /// none if these are unknown.
  [[nodiscard]] Result<Entry> UnreadableFolder(const KnownNode& node, size_t view) const;

  [[nodiscard]] Entry StatusFolder() const;
  [[nodiscard]] Entry StatusFile(const StatusFiles::Snapshot& file) const;

 private:
  // Make an entry from an id and an ObjectInfo. The attributes of a file never expire.
  Entry MakeFile(FileKind kind, NodeId id, uint32_t epoch, const ObjectInfo& info, uint64_t size,
                 uint32_t links = 1) const;
  Entry MakeFolder(NodeId id, const ObjectInfo& info, double timeout) const;
  // Returns the entry of a readable node's folder. Its modification time includes the last change
  // of the node's chunks.
  Entry MakeFolder(NodeId id, const Node& node) const;
  void SetChunkTimes(const ChunkSource* chunks, const ObjectInfo& folder, Entry& entry) const;
  // Returns the entry of a document made from several nodes. `made` becomes the document's current
  // version.
  Entry MakeFile(const CurrentNode& node, size_t view, size_t document,
                 const MadeDocument& made) const;

  Entry StoredFile(const CurrentNode& node, size_t view) const;
  // A document of one node.
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
  // The generation of the IdJournal; ids of other generations are invalid.
  const uint64_t generation_;
};

}  // namespace zarrfs
