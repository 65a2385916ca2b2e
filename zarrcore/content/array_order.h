// ArrayOrder: predicts which chunks of an array readers will request next, from their earlier
// requests. Not thread-safe.
//
// A reader of several chunks usually iterates over a box of the array in nested loops: rows (C
// order), columns (F order), backwards, every n-th chunk, slabs along an axis. ArrayOrder learns
// the loops of each Reader from its requests. A repeated step is the innermost loop. When that loop
// restarts, another axis advances and becomes the next loop. The loops predict the chunks ahead. If
// the next loop is not learned yet, ArrayOrder guesses its axis: the next axis in C order, or in F
// order.
//
// A step to a chunk that is not a neighbour may come from a reader that skips chunks, or from
// another reader. In a worker pool, for example, each worker reads its own block. ArrayOrder
// follows both hypotheses. Blocks usually have the size of previous blocks, so a reader that starts
// a row is expected to read a box of the usual size, and nothing beyond.
//
// Threads that share a scan in C order request chunks in an order that loops cannot explain. These
// threads are a *crowd*. A crowd is recognized by chunks that are close together, advance, and are
// often unexpected.
//
// Prefetching starts after a few steps in order, or after one step to the next chunk of the row.
// Each time a quarter of the chunks ahead has been read, the number of chunks ahead grows
// eightfold, up to a window. Beyond a learned end of a loop, that number only doubles. For a box of
// the usual size, a whole window is fetched immediately. For random access, almost nothing is
// fetched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "zarrcore/array/chunk_grid.h"

namespace zarrfs {

class ArrayOrder {
 public:
  explicit ArrayOrder(const ChunkGrid& grid) : grid_(grid) {}

  /// True if a chunk is cached, being fetched or known to be missing, so it need not be fetched.
  using IsHere = std::function<bool(InnerIndex chunk)>;

  struct Next {
    std::vector<InnerIndex> chunks{};  // chunks to fetch now, in the expected order
    /// The chunks that are expected after `chunks`. Each may be fetched in one request with a
    /// neighbour in `chunks`. Some of them may already be cached.
    std::vector<InnerIndex> later{};
  };
  /// Records that a reader requests a chunk, possibly again. Returns the chunks to fetch, usually
  /// none. `window`: maximum number of chunks ahead of a reader.
  [[nodiscard]] Next OnWanted(InnerIndex chunk, size_t window, const IsHere& is_here);

 private:
  static constexpr size_t kReaders = 8;  // maximum number of readers tracked
  // The number of consecutive requests in a learned order before chunks are prefetched.
  static constexpr uint64_t kMinSteps = 2;
  static constexpr size_t kFirst = 4;  // initial number of chunks to prefetch
  // Maximum number of iterations of a loop from one request to the next. Iterations are skipped if
  // their chunks are missing or read by other threads.
  static constexpr int64_t kMaxJump = 8;
  // Maximum number of skipped chunks that are still expected.
  static constexpr size_t kMaxLate = 64;
  static constexpr size_t kGrowth = 8;
  // Replaces kGrowth after a loop has passed its learned end.
  static constexpr size_t kGrowthBeyond = 2;
  static constexpr size_t kMaxAhead = 8192;
  static constexpr size_t kMaxLater = 1024;
  static constexpr size_t kAlike =
      2;  // similar boxes that are required before the next is predicted
  // A crowd is recognized from the latest kCrowd/2 to kCrowd requested chunks: they advance, span
  // at most kCrowdSpan times their number, and at least kUnexpected of them were unexpected.
  static constexpr size_t kCrowd = 32;
  static constexpr double kCrowdSpan = 1.4;    // max ratio of the span of chunks to their number
  static constexpr ptrdiff_t kUnexpected = 3;  // minimum number of unexpected chunks of a crowd
  static constexpr int kMaxRestarts = 3;
  // The maximum distance between threads of a crowd, in chunks.
  static constexpr uint64_t kNear = 64;

  struct Loop {
    size_t axis;
    int64_t step;
    uint64_t begin;  // the coordinate along `axis` at which the loop begins
    // The coordinate along `axis` at which the loop ends; nullopt if it ends at the edge of the
    // grid.
    std::optional<uint64_t> last{};
  };
  struct Side {
    size_t axis;
    int64_t step;
    uint64_t begin;
    int64_t length;  // the distance from its first to its last chunk along `axis`
  };
  using Box = std::vector<Side>;  // innermost loop first
  struct Ahead {
    uint64_t chunk;
    bool is_fetched;  // true if the chunk was fetched for this reader
  };
  struct Recent {
    uint64_t chunk;
    bool is_expected;
  };
  struct Reader {
    uint64_t newest = 0;  // the latest chunk that this reader requested
    ChunkCoordinates at{};
    std::vector<Loop> loops{};  // innermost loop first
    // What may be the next outer loop, after a single move to a chunk that is not a neighbour.
    std::optional<Loop> unsure{};
    bool is_box = false;  // true if the loops describe a whole box, so no chunk follows
    uint64_t steps = 0;   // the number of consecutive requests that followed the loops
    std::optional<uint64_t> row_end{};  // the coordinate at which the innermost loop last ended
    size_t size = 0;                    // the target number of prefetched chunks
    size_t growth = kGrowth;            // the factor by which `size` grows
    ChunkCoordinates tip{};             // the last predicted chunk
    bool is_over = false;               // true if no chunk is expected after `tip`
    bool is_crowd = false;
    // For a crowd, how often its prediction restarted since it last requested a chunk in `ahead`.
    int restarts = 0;
    std::deque<Ahead> ahead{};
    size_t fetched = 0;  // the number of chunks in `ahead` that were fetched
  };

  // TakeAhead() returns true if `reader` was expected to request the chunk. Follow() returns true
  // if the chunk was not expected but continues the loops of `reader`. Both then update `reader`.
  bool TakeAhead(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;
  bool Follow(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;

  // Records a requested chunk. Returns true if the latest requests are now recognized as a crowd,
  // which then replaces all readers.
  bool MakeCrowd(uint64_t chunk, bool is_expected);
  // True if a requested chunk that is not in `ahead` still belongs to a crowd: the crowd skipped
  // it, or it is shortly after the last predicted chunk. In the latter case, the prediction
  // restarts.
  bool TakeNear(Reader& crowd, uint64_t chunk, const ChunkCoordinates& at) const;

  // Returns a new reader for a chunk that no reader expected. If another reader has finished its
  // loops and may have jumped to this chunk, the new reader gets the loops of that reader.
  [[nodiscard]] Reader Begin(uint64_t chunk, const ChunkCoordinates& at) const;
  // True if each of the reader's `loops` innermost loops is at its end.
  [[nodiscard]] bool IsAtEnd(const Reader& reader, size_t loops) const;
  // Returns the box that a reader has read so far, or nullopt if its requests do not form a box.
  [[nodiscard]] std::optional<Box> BoxOf(const Reader& reader) const;
  // Returns the box that is usual for readers whose innermost loop has the axis and step of
  // `innermost`, or nullopt if they have no usual box. If their boxes differ in length along an
  // inner axis, the usual box has the smallest length.
  [[nodiscard]] std::optional<Box> UsualBox(const Loop& innermost) const;
  // If a usual box is known, sets the loops of a reader that has just begun its first loop so that
  // they describe such a box.
  void AdoptBox(Reader& reader) const;

  // Returns the number of iterations of the innermost loop from reader.at to `at`, negative for a
  // skipped chunk. nullopt if the loop does not reach `at` within kMaxJump iterations.
  [[nodiscard]] std::optional<int64_t> StepsTo(const Reader& reader,
                                               const ChunkCoordinates& at) const;
  // Called if a reader requests the chunk at `at` earlier than predicted, so its innermost loop may
  // have ended. If that is confirmed, learns the loop's end and restarts the prediction.
  void LearnRow(Reader& reader, const ChunkCoordinates& at) const;
  // Returns the loop that begins if the reader moves to `at`: its first loop, or its next outer
  // loop. nullopt if no loop begins.
  [[nodiscard]] std::optional<Loop> LoopTo(const Reader& reader, const ChunkCoordinates& at) const;
  // Adds the loop that begins if the reader moves to `at`. Returns false if there is no such loop
  // or `at` is not a neighbour.
  bool BeginLoop(Reader& reader, const ChunkCoordinates& at) const;
  // Continues a loop beyond its previous end, and forgets that end.
  static void GoBeyond(Reader& reader, Loop& loop);
  // Turns reader.unsure into a learned loop if that loop continues at `at`.
  bool MakeSure(Reader& reader, const ChunkCoordinates& at) const;
  // True if a learned outer loop advances to `at` while the loops inside it restart. Learns where
  // these loops end.
  bool TurnLoop(Reader& reader, const ChunkCoordinates& at) const;
  // True if `loop` moves from each chunk to the next chunk in C order.
  [[nodiscard]] bool IsInRow(const Loop& loop) const {
    const auto inner = std::span(grid_.counts()).subspan(loop.axis + 1);
    return loop.step == 1 && std::ranges::all_of(inner, [](uint64_t count) { return count == 1; });
  }
  // Moves `at` to the next expected chunk. Returns false if no chunk is expected.
  [[nodiscard]] bool Advance(const Reader& reader, ChunkCoordinates& at) const;
  // Like Advance(), but AdvanceLearned() follows only learned loops, and AdvanceGuessed() only a
  // guessed loop.
  [[nodiscard]] bool AdvanceLearned(const Reader& reader, ChunkCoordinates& at) const;
  [[nodiscard]] bool AdvanceGuessed(const Reader& reader, ChunkCoordinates& at) const;
  // Moves `at` one step along the loop's axis. Returns false if the step would leave the grid or
  // pass the loop's `last`.
  [[nodiscard]] bool Move(const Loop& loop, ChunkCoordinates& at) const;
  [[nodiscard]] Next Extend(Reader& reader, size_t window, const IsHere& is_here) const;
  // Discards the chunks predicted for `reader`. The next prediction begins after `at`.
  static void Restart(Reader& reader, const ChunkCoordinates& at);
  static void Forget(Reader& reader, size_t count);
  [[nodiscard]] uint64_t NumberOf(const ChunkCoordinates& at) const {
    return grid_.Linear({at.data(), grid_.rank()});
  }

  const ChunkGrid& grid_;
  std::deque<Reader> readers_;  // the most recently active reader is first
  std::deque<Recent> recent_;   // the most recently requested chunk is last
};

}  // namespace zarrfs
