// The kinds of FolderPart. Each keeps what it needs as it was when the folder was opened.
#ifndef FS_TREE_FOLDER_PARTS_H_
#define FS_TREE_FOLDER_PARTS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/entries.h"
#include "fs/tree/folder.h"
#include "fs/tree/nodes.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs {

/// The folders of the views, at the root of the mount. Positions are view numbers.
class ViewFolders final : public FolderPart {
 public:
  ViewFolders(const Entries& entries, CurrentNode root)
      : entries_(entries), root_(std::move(root)) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;
  Validity validity() const override { return root_.node->freshness.validity(); }

 private:
  const Entries& entries_;
  const CurrentNode root_;
};

/// The metadata files of a node in one view. Positions are document numbers.
class DocumentFiles final : public FolderPart {
 public:
  /// `may_consolidate`: there are not too many nodes below for a consolidated document.
  DocumentFiles(const Nodes& nodes, const Contents& contents, const Entries& entries,
                CurrentNode node, size_t view, bool may_consolidate)
      : nodes_(nodes),
        contents_(contents),
        entries_(entries),
        node_(std::move(node)),
        view_(view),
        may_consolidate_(may_consolidate) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;

 private:
  bool HasConsolidated() const;
  // A document that is made from several nodes: not for a listing, which nobody may want it for.
  // Most likely it is as it was last.
  Entry MadeDocument(size_t document) const;

  const Nodes& nodes_;
  const Contents& contents_;
  const Entries& entries_;
  const CurrentNode node_;
  const size_t view_;
  const bool may_consolidate_;
};

/// The nodes below a group. Positions are those in `names`.
class ChildFolders final : public FolderPart {
 public:
  ChildFolders(Nodes& nodes, const Entries& entries, FailureLog& failures, CurrentNode group,
               size_t view, Valid<std::vector<std::string>> names)
      : nodes_(nodes),
        entries_(entries),
        failures_(failures),
        group_(std::move(group)),
        view_(view),
        names_(std::move(names)) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;
  Validity validity() const override { return names_.validity & group_.node->freshness.validity(); }

 private:
  Nodes& nodes_;
  const Entries& entries_;
  FailureLog& failures_;
  const CurrentNode group_;
  const size_t view_;
  const Valid<std::vector<std::string>> names_;
};

/// A folder of chunks, or a chunk file, is below these coordinates of an array in one view.
struct ChunkPrefix {
  CurrentNode node;
  size_t view = 0;
  ChunkCoordinates at{};
  size_t level = 0;  // coordinates that are fixed

  [[nodiscard]] std::span<const uint64_t> fixed() const { return {at.data(), level}; }
};

/// Folders of chunks. Positions are coordinates along the next axis.
class ChunkFolders final : public FolderPart {
 public:
  ChunkFolders(const Entries& entries, ChunkPrefix prefix, std::vector<uint64_t> coordinates)
      : entries_(entries), prefix_(std::move(prefix)), coordinates_(std::move(coordinates)) {}
  /// All coordinates up to `count`.
  ChunkFolders(const Entries& entries, ChunkPrefix prefix, uint64_t count)
      : entries_(entries), prefix_(std::move(prefix)), count_(count) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;

 private:
  bool Add(uint64_t coordinate, const AddEntry& add) const;

  const Entries& entries_;
  const ChunkPrefix prefix_;
  const std::vector<uint64_t> coordinates_;  // sorted
  const uint64_t count_ = 0;
};

/// The folder "c" that holds all chunks of an array. Its position is 0.
class ChunkRoot final : public FolderPart {
 public:
  ChunkRoot(const Entries& entries, CurrentNode node, size_t view)
      : entries_(entries), node_(std::move(node)), view_(view) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;

 private:
  const Entries& entries_;
  const CurrentNode node_;
  const size_t view_;
};

/// Chunk files. A position is a slot of a stored object: each index is read once for a listing.
class ChunkFiles final : public FolderPart {
 public:
  /// The chunks in these stored objects, which are found as the listing goes on.
  ChunkFiles(const Entries& entries, const Nodes& nodes, ChunkPrefix prefix,
             std::unique_ptr<StoredObjectsCursor> objects)
      : entries_(entries),
        nodes_(nodes),
        prefix_(std::move(prefix)),
        objects_(std::move(objects)) {}
  /// All chunks of `count` stored objects from `first` on, also those that are not stored.
  ChunkFiles(const Entries& entries, const Nodes& nodes, ChunkPrefix prefix, uint64_t first,
             uint64_t count)
      : entries_(entries),
        nodes_(nodes),
        prefix_(std::move(prefix)),
        first_(first),
        count_(count) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;
  Validity validity() const override;

 private:
  Result<bool> ListStored(uint64_t from, ListingOf what, const AddEntry& add);
  Result<bool> ListObject(OuterIndex object, uint64_t from, ListingOf what, const AddEntry& add);
  Entry EntryOf(const ListedChunk& chunk, Validity validity, ListingOf what) const;

  const Entries& entries_;
  const Nodes& nodes_;
  const ChunkPrefix prefix_;
  const uint64_t first_ = 0;
  const uint64_t count_ = 0;

  // Guards the rest, while the store is asked too: the kernel sends the READDIRs of a handle one
  // after the other, but the answer to one that was interrupted may still be under way.
  mutable std::mutex mutex_;
  const std::unique_ptr<StoredObjectsCursor> objects_;  // null if all chunks have files
  // The position that `objects_` stands at, or behind the objects there; none after a failure.
  std::optional<uint64_t> next_ = 0;
  bool indexes_are_valid_ = true;  // all that were read hold as long as the list of objects
};

/// The files of the status folder. Positions are those in `names`.
class StatusNames final : public FolderPart {
 public:
  explicit StatusNames(std::vector<std::string> names) : names_(std::move(names)) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;

 private:
  const std::vector<std::string> names_;
};

}  // namespace zarrfs

#endif  // FS_TREE_FOLDER_PARTS_H_
