// ChunkFiles: the chunk files in one folder of an array, as they were when the folder was opened.
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

/// A folder of chunks, or a chunk file, is below these coordinates of an array in one view.
struct ChunkPrefix {
  CurrentNode node;
  size_t view = 0;
  ChunkCoordinates at{};
  size_t level = 0;  // coordinates that are fixed

  [[nodiscard]] std::span<const uint64_t> fixed() const { return {at.data(), level}; }
};

/// A position is a slot of a stored object: each index is read once for a listing.
class ChunkFiles final : public FolderPart {
 public:
  /// The chunks in `objects`, which are found as the listing goes on. Null: all chunks of `count`
  /// stored objects from `first` on, also those that are not stored.
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

  // Guards the rest, while the store is asked too: the kernel sends the READDIRs of a handle one
  // after the other, but the answer to one that was interrupted may still be under way.
  mutable std::mutex mutex_;
  const std::unique_ptr<StoredObjectsCursor> objects_;  // null if all chunks have files
  // The position that `objects_` stands at, or behind the objects there; none after a failure.
  std::optional<uint64_t> next_ = 0;
  bool indexes_are_valid_ = true;  // all that were read hold as long as the list of objects
};

}  // namespace zarrfs
