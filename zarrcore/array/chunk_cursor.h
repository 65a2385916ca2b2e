// ChunkCursor: the chunks in one stored object, in row-major order, one at a time.
//
//   ChunkCursor cursor(source, outer, {.max_age = age});
//   while (const ListedChunk* next = cursor.Next()) Show(next->chunk, next->location);
//   if (!cursor.status()) return Fail(cursor.status());
//
// Holds one chunk and the open shard, whatever the shard's size. For one thread; a shard that is
// replaced meanwhile is opened anew, and the cursor goes on in the new version.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

struct ListedChunk {
  Slot slot{};
  InnerIndex chunk{};
  /// Or why it cannot be used; kNotFound of a missing chunk.
  Result<ChunkLocation> location;
};

struct CursorOptions {
  std::span<const uint64_t> prefix = {};  // only chunks whose coordinates begin with this
  Slot from{};                            // the first slot to look at
  Age max_age = kAnyAge;
  bool include_missing = false;  // else only chunks that are present, or damaged
  Sizes sizes = Sizes::kChecked;
};

class ChunkCursor {
 public:
  /// `source` outlives this.
  ChunkCursor(const ChunkSource& source, OuterIndex outer, const CursorOptions& options = {});

  /// The next chunk, valid until the next call; null at the end, or if status() fails. Chunks of a
  /// shard that is damaged, or that the store refuses to read, all count as present; those of an
  /// object that does not exist are missing.
  [[nodiscard]] const ListedChunk* Next();

  /// Fails only if the store cannot be asked now (it would block, timed out, no descriptors left).
  [[nodiscard]] const Result<void>& status() const { return status_; }

  /// Whether the stored object was asked for: not if no slot was left to look at.
  [[nodiscard]] bool is_open() const { return shard_.has_value(); }
  /// How long all of it holds, as far as it was read; unknown until is_open().
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  // Opens the object; false if that ends the cursor.
  bool Open(bool may_read);
  void MoveTo(uint64_t slot);
  // Slots to skip because the chunk here lies outside the array or the object; else 0.
  [[nodiscard]] uint64_t SlotsOutside() const;
  // Finds the chunk at slot_. False if it is not to be shown.
  bool Find();

  const ChunkSource& source_;
  const OuterIndex outer_;
  const CursorOptions options_;  // (without its prefix)
  ChunkCoordinates begin_{};     // of the object, in innermost chunks
  ChunkCoordinates limit_{};     // the end of the object, or of the array
  uint64_t slot_ = 0;
  uint64_t end_ = 0;
  uint64_t step_ = 0;  // from slot_ to the next one to look at
  ChunkCoordinates local_{};
  ChunkCoordinates global_{};
  std::optional<Result<OpenShardPtr>> shard_;  // nullopt: not opened yet
  Validity validity_;
  int attempt_ = 1;
  Result<void> status_;
  ListedChunk next_{{}, {}, Fail(ErrorCode::kNotFound, "not stored")};
};

}  // namespace zarrfs
