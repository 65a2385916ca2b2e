// ChunkCursor: iterates over the chunks in one stored object, in row-major order.
//
//   ChunkCursor cursor(source, outer, {.max_age = age});
//   while (const ListedChunk* next = cursor.Next()) Show(next->chunk, next->location);
//   if (!cursor.status()) return Fail(cursor.status());
//
// A cursor holds one ListedChunk and the open shard in memory, regardless of the number of chunks.
// Not thread-safe. If the shard is replaced during the iteration, the cursor reopens it and
// continues in the new version.
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
  /// The location of the chunk, or an error that says why the chunk cannot be used. kNotFound for a
  /// missing chunk.
  Result<ChunkLocation> location;
};

struct CursorOptions {
  std::span<const uint64_t> prefix = {};  // visit only chunks whose coordinates begin with `prefix`
  Slot from{};                            // the first slot to visit
  Age max_age = kAnyAge;
  bool include_missing = false;  // if false, visit only chunks that are present or damaged
  Sizes sizes = Sizes::kChecked;
};

class ChunkCursor {
 public:
  /// `source` must outlive this object.
  ChunkCursor(const ChunkSource& source, OuterIndex outer, const CursorOptions& options = {});

  /// Returns the next chunk, which is valid until the next call. Returns null at the end, or if
  /// status() has failed. If a shard is damaged or the store refuses to read it, all its chunks are
  /// returned with the error. If the object does not exist, all its chunks are missing.
  [[nodiscard]] const ListedChunk* Next();

  /// The error that ended the iteration, if any. The iteration fails only if the store cannot
  /// answer now, because the call would block, was interrupted or timed out, or because no
  /// descriptors are free.
  [[nodiscard]] const Result<void>& status() const { return status_; }

  /// True once Next() has tried to open the stored object. Stays false if there are no slots to
  /// visit.
  [[nodiscard]] bool is_open() const { return shard_.has_value(); }
  /// The validity of everything that the cursor has read so far; unknown until is_open().
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  // Opens the stored object. Returns false if the iteration ends here, because the object does not
  // exist and missing chunks are not visited, or because the store cannot answer now.
  bool Open(bool may_read);
  void MoveTo(uint64_t slot);
  // Returns the number of slots to skip if the chunk at slot_ is outside the array or the stored
  // object; otherwise 0.
  [[nodiscard]] uint64_t SlotsOutside() const;
  // Fills next_ for the chunk at slot_. Returns false if that chunk must be skipped, or if the
  // iteration ends.
  bool Find();

  const ChunkSource& source_;
  const OuterIndex outer_;
  const CursorOptions options_;  // `prefix` is cleared
  ChunkCoordinates begin_{};     // coordinates of the object's first innermost chunk
  ChunkCoordinates limit_{};     // coordinates where the object ends, or the array if it ends first
  uint64_t slot_ = 0;
  uint64_t end_ = 0;
  uint64_t step_ = 0;  // the distance from slot_ to the next slot to visit
  ChunkCoordinates local_{};
  ChunkCoordinates global_{};
  std::optional<Result<OpenShardPtr>> shard_;  // nullopt until the first Open()
  Validity validity_;
  int attempt_ = 1;
  Result<void> status_;
  ListedChunk next_{{}, {}, Fail(ErrorCode::kNotFound, "not stored")};
};

}  // namespace zarrfs
