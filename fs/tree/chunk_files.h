// ChunkFiles: the chunk files in one folder of an array, as of the time it was opened.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "fs/tree/entries.h"
#include "fs/tree/folder.h"
#include "fs/tree/nodes.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs {

/// The leading coordinates of a chunk folder or chunk file, in one view of an array.
struct ChunkPrefix {
  CurrentNode node;
  size_t view = 0;
  ChunkCoordinates at{};
  size_t level = 0;  // number of fixed coordinates

  [[nodiscard]] std::span<const uint64_t> fixed() const { return {at.data(), level}; }
};

/// A position is a slot of a stored object, so a listing reads each index once.
class ChunkFiles final : public FolderPart {
 public:
  /// The chunks in `objects`, found during the listing. Null: all chunks of `count` stored objects
  /// from `first` on, including missing ones.
  ChunkFiles(const Entries& entries, const Nodes& nodes, ChunkPrefix prefix,
             std::unique_ptr<StoredObjectsCursor> objects, uint64_t first = 0, uint64_t count = 0)
      : entries_(entries),
        nodes_(nodes),
        prefix_(std::move(prefix)),
        first_(first),
        count_(count),
        objects_(std::move(objects)) {}
  Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) override;
  Validity validity() const override;

 private:
  Result<bool> ListStored(uint64_t from, ListingOf what, const AddEntry& add);
  Result<bool> ListObject(OuterIndex object, uint64_t from, ListingOf what, const AddEntry& add);
  Entry EntryOf(const ListedChunk& chunk, Validity validity, ListingOf what) const;

  const Entries& entries_;
  const Nodes& nodes_;
  const ChunkPrefix prefix_;
  const uint64_t first_;
  const uint64_t count_;

  // Guards the members below, and is held while the store is asked: the kernel sends the READDIRs
  // of a handle one after the other, but the answer to an interrupted one may still be running.
  mutable std::mutex mutex_;
  const std::unique_ptr<StoredObjectsCursor> objects_;  // null if all chunks have files
  // The position of `objects_`, or the one after its last object; none after a failure.
  std::optional<uint64_t> next_ = 0;
  bool indexes_are_valid_ = true;  // all indexes read so far hold as long as the list of objects
};

}  // namespace zarrfs
