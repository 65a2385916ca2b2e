// FetchAhead: fetches chunks of a slow store before they are read, in the order predicted by
// ArrayOrder, into the StoredRanges that serve them.
//
//   OnWanted()  the reader's thread     which chunks are next; a batch
//   Plan        one of our threads      where they are; those whose shards have no index here yet
//                                       wait for it by themselves
//   LearnLater  another one             indexes of shards that come after what is ahead
//   FetchKnown  the first one           ranges
//   Fetch       as many as there are    a range each, one request
//
// Neighbours in a stored object are fetched with one request, together with later chunks (up to as
// many bytes as the current ones) and small gaps between them: shards are not written in the order
// in which they are read, so these are mostly the chunks read next. Later chunks are left out if
// they turn out not to be read. How much is fetched ahead depends on the link (StoredRanges).
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "zarrcore/content/array_order.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/content/stored_ranges.h"

namespace zarrfs {

class FetchAhead {
 public:
  explicit FetchAhead(StoredRanges& ranges) : ranges_(ranges) {}
  /// Waits for running fetches.
  ~FetchAhead() { Stop(); }
  FetchAhead(const FetchAhead&) = delete;
  FetchAhead& operator=(const FetchAhead&) = delete;

  /// A reader wants a chunk now. Never waits.
  void OnWanted(const ChunkFile& file);

  /// Starts no further fetches.
  void Stop();

 private:
  using Source = std::shared_ptr<const ChunkSource>;
  static constexpr size_t kThreads = 32;
  static constexpr size_t kShardsAtOnce = 16;
  // Number of ranges that are always fetched concurrently. More run while the link has capacity:
  // the ranges wanted first must arrive first.
  static constexpr size_t kAtOnce = 3;
  static constexpr size_t kMaxTasks = 1024;
  static constexpr size_t kArrays = 64;  // maximum number of arrays whose readers are tracked
  // Maximum gap between neighbours that are fetched together.
  static constexpr uint64_t kGap = 256u << 10;

  struct Piece {
    static constexpr size_t kLater = SIZE_MAX;
    ChunkLocation chunk;
    size_t place;  // in the expected order; kLater: not fetched on its own
  };
  struct Range {
    ChunkLocation chunk;  // one of the chunks in it
    uint64_t begin;
    uint64_t end;
    // Of chunks fetched on their own: first byte, end, number of bytes, and the earliest place; and
    // bytes of the others.
    uint64_t begin_now;
    uint64_t end_now;
    uint64_t bytes_now = 0;
    size_t place = Piece::kLater;
    uint64_t bytes_later = 0;
  };
  struct Task {
    std::function<void()> work;
    uint64_t bytes = 0;  // of the range
  };
  struct Array {
    explicit Array(const Source& of) : source(of), order(of->layout().inner_grid) {}
    Source source;
    ArrayOrder order;
  };

  Array& ArrayOf(const Source& source);
  [[nodiscard]] bool IsHere(const ChunkSource& source, InnerIndex chunk) const;
  // False if stopped. The caller holds the mutex.
  bool Enqueue(Task task, bool first);
  [[nodiscard]] bool MayBegin(const Task& task) const {
    return task.bytes == 0 || under_way_ < kAtOnce || bytes_under_way_ < ranges_.AtOnce();
  }
  void Work();
  // `window`: maximum number of chunks ahead.
  void Plan(const Source& source, ArrayOrder::Next next, size_t window);
  // Loads indexes of shards beyond the window. The caller holds the mutex.
  void LearnLater(const Source& source, std::vector<InnerIndex> later);
  // Whether shards have indexes that can be read separately.
  [[nodiscard]] static bool HasIndexes(const ChunkSource& source);
  [[nodiscard]] static bool IsKnown(const ChunkSource& source, InnerIndex chunk);
  // One chunk from each shard of the first `most` shards that hold these chunks.
  [[nodiscard]] static std::vector<InnerIndex> FirstOfShards(const ChunkSource& source,
                                                             const std::vector<InnerIndex>& chunks,
                                                             size_t most);
  // Loads the indexes of the shards that hold these chunks.
  static void LearnIndexes(const ChunkSource& source, const std::vector<InnerIndex>& chunks);
  void FetchKnown(const Source& source, const ArrayOrder::Next& next);
  // The chunks with a known location that are not fetched yet.
  [[nodiscard]] std::vector<Piece> Locate(const ChunkSource& source,
                                          const ArrayOrder::Next& next) const;
  [[nodiscard]] std::vector<Range> Join(const ChunkSource& source, std::vector<Piece> pieces) const;

  StoredRanges& ranges_;
  std::mutex planning_;  // serializes plans, so that no chunk is in two
  std::mutex mutex_;     // guards the rest
  std::condition_variable arrived_;
  std::list<Array> arrays_;                // most recently read first
  std::set<const ChunkSource*> learning_;  // LearnLater() is running
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  size_t under_way_ = 0;  // running fetches
  uint64_t bytes_under_way_ = 0;
  bool is_over_ = false;
};

}  // namespace zarrfs
