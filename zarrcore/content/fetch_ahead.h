// FetchAhead: fetches chunks of a slow store before they are read, in the order in which they will
// be (ArrayOrder), into the StoredRanges from which they are then served.
//
//   OnWanted()  the reader's thread     which chunks are next; a batch
//   Plan        one of our threads      where they are; those whose shards have no index here yet
//                                       wait for it by themselves
//   LearnLater  another one             indexes of shards that come after what is ahead
//   FetchKnown  the first one           ranges
//   Fetch       as many as there are    a range each, one request
//
// Neighbours in a stored object are fetched with one request, together with chunks that come later,
// as many bytes as of those that come now, and with what lies between them if that is little:
// shards are not written in the order in which they are read, so it is mostly what comes next. If
// it turns out not to be read, it is left out. How much is ahead follows the link (StoredRanges).
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
  /// Waits for what is being fetched.
  ~FetchAhead() { Stop(); }
  FetchAhead(const FetchAhead&) = delete;
  FetchAhead& operator=(const FetchAhead&) = delete;

  /// A reader wants a chunk now. Never waits.
  void OnWanted(const ChunkFile& file);

  /// Nothing more is begun.
  void Stop();

 private:
  using Source = std::shared_ptr<const ChunkSource>;
  static constexpr size_t kThreads = 32;
  static constexpr size_t kShardsAtOnce = 16;
  // Ranges that are always fetched at once. More are as long as the link is not full: what is
  // wanted first is to come first.
  static constexpr size_t kAtOnce = 3;
  static constexpr size_t kMaxTasks = 1024;
  static constexpr size_t kArrays = 64;  // whose readers are remembered
  // Between neighbours that are fetched together, at most.
  static constexpr uint64_t kGap = 256u << 10;

  struct Piece {
    static constexpr size_t kLater = SIZE_MAX;
    ChunkLocation chunk;
    size_t place;  // in the order in which they are wanted; kLater: is not fetched for itself
  };
  struct Range {
    ChunkLocation chunk;  // one of those in it
    uint64_t begin;
    uint64_t end;
    // Of chunks that are fetched for themselves: first byte, end, bytes, and the least place; and
    // bytes of others.
    uint64_t begin_now;
    uint64_t end_now;
    uint64_t bytes_now = 0;
    size_t place = Piece::kLater;
    uint64_t bytes_later = 0;
  };
  struct Task {
    std::function<void()> work;
    uint64_t bytes = 0;  // that it fetches
  };
  struct Array {
    explicit Array(const Source& of) : source(of), order(of->layout().inner_grid) {}
    Source source;
    ArrayOrder order;
  };

  Array& ArrayOf(const Source& source);
  [[nodiscard]] bool IsHere(const ChunkSource& source, InnerIndex chunk) const;
  // False if nothing more is taken. The mutex is held.
  bool Enqueue(Task task, bool first);
  [[nodiscard]] bool MayBegin(const Task& task) const {
    return task.bytes == 0 || under_way_ < kAtOnce || bytes_under_way_ < ranges_.AtOnce();
  }
  void Work();
  // `window`: chunks that may be ahead.
  void Plan(const Source& source, ArrayOrder::Next next, size_t window);
  // Indexes of shards whose turn comes after the window. The mutex is held.
  void LearnLater(const Source& source, std::vector<InnerIndex> later);
  // Whether shards have indexes that are read without the rest of them.
  [[nodiscard]] static bool HasIndexes(const ChunkSource& source);
  [[nodiscard]] static bool IsKnown(const ChunkSource& source, InnerIndex chunk);
  // One for each of the shards that have these chunks, of the first `most`.
  [[nodiscard]] static std::vector<InnerIndex> FirstOfShards(const ChunkSource& source,
                                                             const std::vector<InnerIndex>& chunks,
                                                             size_t most);
  // Of the shards that have these chunks.
  static void LearnIndexes(const ChunkSource& source, const std::vector<InnerIndex>& chunks);
  void FetchKnown(const Source& source, const ArrayOrder::Next& next);
  // Those whose place is known and that are not fetched yet.
  [[nodiscard]] std::vector<Piece> Locate(const ChunkSource& source,
                                          const ArrayOrder::Next& next) const;
  [[nodiscard]] std::vector<Range> Join(const ChunkSource& source, std::vector<Piece> pieces) const;

  StoredRanges& ranges_;
  std::mutex planning_;  // what one plan has, no other one takes
  std::mutex mutex_;     // guards the rest
  std::condition_variable arrived_;
  std::list<Array> arrays_;                // the one that was read last is the first
  std::set<const ChunkSource*> learning_;  // LearnLater() is under way
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  size_t under_way_ = 0;  // fetches
  uint64_t bytes_under_way_ = 0;
  bool is_over_ = false;
};

}  // namespace zarrfs
