// ChunkCursor: iterates over the chunks in one stored object, in row-major order.
//
//   ChunkCursor cursor(source, outer, {.max_age = age});
//   while (const ListedChunk* next = cursor.Next()) Show(next->chunk, next->location);
//   if (!cursor.status()) return Fail(cursor.status());
//
// Holds one chunk and the open shard, regardless of the shard's size. For one thread. If the shard
// is replaced in the meantime it is reopened, and the cursor continues in the new version.
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
  /// Or why it cannot be used; kNotFound for a missing chunk.
  Result<ChunkLocation> location;
};

struct CursorOptions {
  std::span<const uint64_t> prefix = {};  // only chunks whose coordinates begin with this
  Slot from{};                            // the first slot to visit
  Age max_age = kAnyAge;
  bool include_missing = false;  // otherwise only chunks that are present or damaged
  Sizes sizes = Sizes::kChecked;
};

class ChunkCursor {
 public:
  /// `source` must outlive this object.
  ChunkCursor(const ChunkSource& source, OuterIndex outer, const CursorOptions& options = {});

  /// The next chunk, valid until the next call; null at the end, or if status() fails. All chunks
  /// count as present in a shard that is damaged or that the store refuses to read; they are
  /// missing in an object that does not exist.
  [[nodiscard]] const ListedChunk* Next();

  /// Fails only if the store cannot answer now (it would block, timed out, no descriptors left).
  [[nodiscard]] const Result<void>& status() const { return status_; }

  /// Whether the stored object was opened: false if no slots remained.
  [[nodiscard]] bool is_open() const { return shard_.has_value(); }
  /// The validity of everything read so far; unknown until is_open().
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  // Opens the object; false if the iteration ends there.
  bool Open(bool may_read);
  void MoveTo(uint64_t slot);
  // Slots to skip because the chunk at slot_ lies outside the array or the object; else 0.
  [[nodiscard]] uint64_t SlotsOutside() const;
  // Finds the chunk at slot_. False if it must be skipped.
  bool Find();

  const ChunkSource& source_;
  const OuterIndex outer_;
  const CursorOptions options_;  // without its prefix
  ChunkCoordinates begin_{};     // of the object, in innermost chunks
  ChunkCoordinates limit_{};     // the end of the object, or of the array
  uint64_t slot_ = 0;
  uint64_t end_ = 0;
  uint64_t step_ = 0;  // from slot_ to the next slot to visit
  ChunkCoordinates local_{};
  ChunkCoordinates global_{};
  std::optional<Result<OpenShardPtr>> shard_;  // nullopt: not opened yet
  Validity validity_;
  int attempt_ = 1;
  Result<void> status_;
  ListedChunk next_{{}, {}, Fail(ErrorCode::kNotFound, "not stored")};
};

}  // namespace zarrfs
