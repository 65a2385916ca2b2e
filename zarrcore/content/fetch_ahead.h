// FetchAhead: prefetches chunks of a slow store into StoredRanges, in the order that ArrayOrder
// predicts. Thread-safe.
//
//   OnWanted()  on the reader's thread     finds the next chunks, and starts a batch
//   Plan        on a thread of FetchAhead  finds their locations; chunks of shards without a loaded
//                                          index get their own tasks
//   LearnLater  on another thread          loads indexes of the shards after those of the batch
//   FetchKnown  on the thread of Plan      combines the chunks into ranges
//   Fetch       on each available thread   fetches one range with one request
//
// Neighbours in a stored object are fetched with one request. The request also includes small gaps,
// and chunks that are expected later, but no more bytes of later chunks than of the neighbours. The
// later chunks are usually read next, because shards are often written in another order than they
// are read. If many fetched bytes stay unread, gaps are left out. The number of bytes ahead depends
// on the speed and latency of the store; see StoredRanges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "zarrcore/base/mutex.h"
#include "zarrcore/content/array_order.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/content/stored_ranges.h"

namespace zarrfs {

class FetchAhead {
 public:
  explicit FetchAhead(StoredRanges& ranges) : ranges_(ranges) {}
  /// Stops, and waits for running fetches.
  ~FetchAhead() { Stop(); }
  FetchAhead(const FetchAhead&) = delete;
  FetchAhead& operator=(const FetchAhead&) = delete;

  /// Records that a reader requests a chunk now. Never waits.
  void OnWanted(const ChunkFile& file);

  /// Starts no further fetches, and waits for running ones.
  void Stop();

 private:
  using Source = std::shared_ptr<const ChunkSource>;
  static constexpr size_t kThreads = 32;
  static constexpr size_t kShardsAtOnce = 16;
  // The number of ranges that are always fetched concurrently. More fetches run only while the
  // connection has capacity, because the ranges that are needed first must arrive first.
  static constexpr size_t kAtOnce = 3;
  static constexpr size_t kMaxTasks = 1024;
  static constexpr size_t kArrays = 64;  // maximum number of arrays whose readers are tracked
  // Maximum gap in bytes between neighbours that are fetched together.
  static constexpr uint64_t kGap = 256u << 10;

  struct Piece {
    static constexpr size_t kLater = SIZE_MAX;
    ChunkLocation chunk;
    // The chunk's position in the predicted order, or kLater if the chunk is fetched only together
    // with others.
    size_t place;
  };
  struct Range {
    ChunkLocation chunk;  // one of the chunks in the range
    uint64_t begin;
    uint64_t end;
    // begin_now, end_now, bytes_now and `place` describe only the chunks that are expected next:
    // the offset of their first byte, their end, their number of bytes, and the earliest
    // Piece::place. bytes_later is the number of bytes in chunks that are expected later.
    uint64_t begin_now;
    uint64_t end_now;
    uint64_t bytes_now = 0;
    size_t place = Piece::kLater;
    uint64_t bytes_later = 0;
  };
  struct Task {
    std::function<void()> work;
    uint64_t bytes = 0;  // the number of bytes to fetch; 0 for tasks that fetch no range
  };
  struct Array {
    explicit Array(const Source& of) : source(of), order(of->layout().inner_grid) {}
    Source source;
    ArrayOrder order;
  };

  Array& ArrayOf(const Source& source) REQUIRES(mutex_);
  [[nodiscard]] bool IsHere(const ChunkSource& source, InnerIndex chunk) const;
  // Adds a task, before all others if `first`. Returns false if fetching has stopped or the queue
  // is full.
  bool Enqueue(Task task, bool first) REQUIRES(mutex_);
  [[nodiscard]] bool MayBegin(const Task& task) const REQUIRES(mutex_) {
    return task.bytes == 0 || under_way_ < kAtOnce || bytes_under_way_ < ranges_.AtOnce();
  }
  void Work();
  // Starts fetches of the chunks in `next`. `window`: maximum number of chunks ahead.
  void Plan(const Source& source, ArrayOrder::Next next, size_t window);
  // Loads the indexes of the shards that contain the chunks `later`, on another thread.
  void LearnLater(const Source& source, std::vector<InnerIndex> later) REQUIRES(mutex_);
  // True if the array is sharded, and the index of a shard can be read without the rest of the
  // shard.
  [[nodiscard]] static bool HasIndexes(const ChunkSource& source);
  [[nodiscard]] static bool IsKnown(const ChunkSource& source, InnerIndex chunk);
  // Returns one chunk per shard, for the first `most` shards that contain any of `chunks`.
  [[nodiscard]] static std::vector<InnerIndex> FirstOfShards(const ChunkSource& source,
                                                             const std::vector<InnerIndex>& chunks,
                                                             size_t most);
  // Loads the indexes of the shards that contain `chunks`.
  static void LearnIndexes(const ChunkSource& source, const std::vector<InnerIndex>& chunks);
  void FetchKnown(const Source& source, const ArrayOrder::Next& next);
  // Returns the chunks in `next` whose location is known and that are neither cached nor being
  // fetched.
  [[nodiscard]] std::vector<Piece> Locate(const ChunkSource& source,
                                          const ArrayOrder::Next& next) const;
  [[nodiscard]] std::vector<Range> Join(const ChunkSource& source, std::vector<Piece> pieces) const;

  StoredRanges& ranges_;
  Mutex planning_;  // serializes calls of StoredRanges::Plan(), so no chunk is planned twice
  Mutex mutex_;
  CondVar arrived_;
  std::list<Array> arrays_ GUARDED_BY(mutex_);  // the most recently read array is first
  // Arrays for which LearnLater() is running.
  std::set<const ChunkSource*> learning_ GUARDED_BY(mutex_);
  std::deque<Task> tasks_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  size_t idle_ GUARDED_BY(mutex_) = 0;
  size_t under_way_ GUARDED_BY(mutex_) = 0;  // the number of running fetches
  uint64_t bytes_under_way_ GUARDED_BY(mutex_) = 0;
  bool is_over_ GUARDED_BY(mutex_) = false;
};

}  // namespace zarrfs
