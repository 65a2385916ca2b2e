// ChunkFiles: the chunk files of an open folder of an array, as a part of the folder's listing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fs/tree/entries.h"
#include "fs/tree/folder.h"
#include "fs/tree/nodes.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {

/// The leading coordinates that all chunks in a chunk folder have in common, in one view of an
/// array.
struct ChunkPrefix {
  CurrentNode node;
  size_t view = 0;
  ChunkCoordinates at{};
  size_t level = 0;  // the number of fixed coordinates

  [[nodiscard]] std::span<const uint64_t> fixed() const { return {at.data(), level}; }
};

/// Lists chunk files. Positions number the chunk slots of all stored objects in order, so a listing
/// reads each shard index once.
class ChunkFiles final : public FolderPart {
 public:
  /// Lists the chunks of the stored objects in `objects`. Each object is looked up when the listing
  /// reaches it. If `objects` is null, lists all chunks, including missing ones, of `count` stored
  /// objects from `first` on.
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
  Result<bool> ListObject(OuterIndex object, uint64_t from, ListingOf what, const AddEntry& add)
      REQUIRES(mutex_);
  Entry EntryOf(const ListedChunk& chunk, Validity validity, ListingOf what) const;

  const Entries& entries_;
  const Nodes& nodes_;
  const ChunkPrefix prefix_;
  const uint64_t first_;
  const uint64_t count_;

  // Held during calls to the store. The kernel sends the READDIRs of a handle one after the other,
  // but an interrupted READDIR may still be running.
  mutable Mutex mutex_;
  const std::unique_ptr<StoredObjectsCursor> objects_;  // null if all chunks have files
  // The listing position that `objects_` has reached; nullopt after a failure.
  std::optional<uint64_t> next_ GUARDED_BY(mutex_) = 0;
  // True if every shard index read so far stays valid for as long as the list of objects.
  bool indexes_are_valid_ GUARDED_BY(mutex_) = true;
};

}  // namespace zarrfs
