// ArrayOrder: predicts which chunks of an array readers will request next, from their earlier
// requests.
//
// A reader of several chunks usually iterates over a box of the array in nested loops: rows (C
// order), columns (F order), backwards, every n-th chunk, slabs along an axis. A Reader represents
// such loops, learned from the chunks it takes: a repeated step is the innermost loop; when that
// restarts, another axis advances and becomes the next loop. The loops predict the chunks ahead. An
// axis that was not learned yet is guessed: the next one in C order (or F order). A step to a chunk
// that is not a neighbour may belong to a reader that skips chunks, or start another reader, as in
// a pool whose workers take a block each: both hypotheses are followed. Blocks mostly have the size
// of previous ones, so a reader that starts a row is expected to read a box like the last ones, and
// nothing beyond. Many threads that share a scan in C order take chunks in an order that no loops
// explain: such a *crowd* is recognized by chunks that are close together, move on, and are often
// unexpected.
//
// After a few steps in order, or one to the next chunk of the row, the chunks ahead are worth
// fetching: eight times as many each time a quarter of them was wanted, up to a window; beyond a
// learned end, twice as many; of a box like the last ones, a whole window. Random readers get next
// to nothing. Not thread-safe.
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

  /// Whether a chunk is cached, or already being fetched.
  using IsHere = std::function<bool(InnerIndex chunk)>;

  struct Next {
    std::vector<InnerIndex> chunks{};  // worth fetching now, in the expected order
    /// The expected chunks after these, as far as known: worth fetching together with a neighbour
    /// in `chunks`; some may be cached.
    std::vector<InnerIndex> later{};
  };
  /// A chunk is wanted, not necessarily for the first time. Returns the chunks to fetch, usually
  /// none. `window`: maximum number of chunks ahead of a reader.
  [[nodiscard]] Next OnWanted(InnerIndex chunk, size_t window, const IsHere& is_here);

 private:
  static constexpr size_t kReaders = 8;     // maximum number of readers tracked
  static constexpr uint64_t kMinSteps = 2;  // in order, before chunks are fetched ahead
  static constexpr size_t kFirst = 4;       // initial number of chunks ahead
  static constexpr int64_t kMaxJump = 8;    // maximum steps at once: missing chunks, threads
  static constexpr size_t kMaxLate = 64;    // maximum skipped chunks that may still be read
  static constexpr size_t kGrowth = 8;
  static constexpr size_t kGrowthBeyond = 2;  // beyond a learned end of a loop
  static constexpr size_t kMaxAhead = 8192;
  static constexpr size_t kMaxLater = 1024;
  static constexpr size_t kAlike = 2;  // number of similar boxes that predict the next one
  // The latest chunks form a crowd, once half of kCrowd are known,
  static constexpr size_t kCrowd = 32;
  static constexpr double kCrowdSpan = 1.4;    // if they span at most this many times their number
  static constexpr ptrdiff_t kUnexpected = 3;  // and at least this many were unexpected
  static constexpr int kMaxRestarts = 3;
  static constexpr uint64_t kNear = 64;  // maximum distance between its threads, in chunks

  struct Loop {
    size_t axis;
    int64_t step;
    uint64_t begin;                  // first coordinate of each pass
    std::optional<uint64_t> last{};  // last coordinate of each pass; nullopt: the grid's end
  };
  struct Side {
    size_t axis;
    int64_t step;
    uint64_t begin;
    int64_t length;  // from its first to its last chunk
  };
  using Box = std::vector<Side>;  // innermost first
  struct Ahead {
    uint64_t chunk;
    bool is_fetched;  // for this reader
  };
  struct Recent {
    uint64_t chunk;
    bool is_expected;
  };
  struct Reader {
    uint64_t newest = 0;  // the latest chunk it wanted
    ChunkCoordinates at{};
    std::vector<Loop> loops{};          // innermost first
    std::optional<Loop> unsure{};       // a possible outer loop, after a single step far away
    bool is_box = false;                // nothing follows its loops
    uint64_t steps = 0;                 // in order
    std::optional<uint64_t> row_end{};  // previous end of the innermost loop
    size_t size = 0;                    // target number of chunks ahead
    size_t growth = kGrowth;            // factor by which `size` grows
    ChunkCoordinates tip{};             // the farthest chunk ahead
    bool is_over = false;               // nothing follows `tip`
    bool is_crowd = false;
    int restarts = 0;  // of a crowd, since it last took a chunk that was ahead
    std::deque<Ahead> ahead{};
    size_t fetched = 0;  // of `ahead`
  };

  // Each returns true if this reader wanted the chunk.
  bool TakeAhead(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;
  bool Follow(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;

  // Records a chunk. True if it completes a crowd, which then is the first reader.
  bool MakeCrowd(uint64_t chunk, bool is_expected);
  // Whether a chunk that is not ahead belongs to a crowd: it was left behind, or is beyond all
  // chunks ahead.
  bool TakeNear(Reader& crowd, uint64_t chunk, const ChunkCoordinates& at) const;

  // A new reader of a chunk that no reader expected. Perhaps it continues a reader that has jumped
  // far away.
  [[nodiscard]] Reader Begin(uint64_t chunk, const ChunkCoordinates& at) const;
  // Whether the innermost `loops` loops are at their ends.
  [[nodiscard]] bool IsAtEnd(const Reader& reader, size_t loops) const;
  // The box that it has read, if that is or may be complete.
  [[nodiscard]] std::optional<Box> BoxOf(const Reader& reader) const;
  // The usual box of readers whose innermost loop is like this one, underestimated if in doubt.
  [[nodiscard]] std::optional<Box> UsualBox(const Loop& innermost) const;
  // Takes the outer loops of a reader whose first loop has begun from the usual box.
  void AdoptBox(Reader& reader) const;

  // The number of steps of the innermost loop to `at`; nullopt if it is not on the loop's way.
  [[nodiscard]] std::optional<int64_t> StepsTo(const Reader& reader,
                                               const ChunkCoordinates& at) const;
  // The innermost loop has restarted at `at`, which was ahead, possibly behind others.
  void LearnRow(Reader& reader, const ChunkCoordinates& at) const;
  // The first loop, or one around the known loops, if it begins with a step to `at`.
  [[nodiscard]] std::optional<Loop> LoopTo(const Reader& reader, const ChunkCoordinates& at) const;
  // Begins this loop if it steps to a neighbour.
  bool BeginLoop(Reader& reader, const ChunkCoordinates& at) const;
  // A loop continues past its previous end; its new end is unknown.
  static void GoBeyond(Reader& reader, Loop& loop);
  // Confirms the unsure loop if it continues.
  bool MakeSure(Reader& reader, const ChunkCoordinates& at) const;
  // Finds a known loop that continues.
  bool TurnLoop(Reader& reader, const ChunkCoordinates& at) const;
  // Whether it steps from a chunk to the next one of its row.
  [[nodiscard]] bool IsInRow(const Loop& loop) const {
    const auto inner = std::span(grid_.counts()).subspan(loop.axis + 1);
    return loop.step == 1 && std::ranges::all_of(inner, [](uint64_t count) { return count == 1; });
  }
  // The chunk after `at`; false if there is none.
  [[nodiscard]] bool Advance(const Reader& reader, ChunkCoordinates& at) const;
  // Advance() by learned loops only.
  [[nodiscard]] bool AdvanceLearned(const Reader& reader, ChunkCoordinates& at) const;
  [[nodiscard]] bool AdvanceGuessed(const Reader& reader, ChunkCoordinates& at) const;
  // Moves along one axis; false if that would leave the grid, or pass `last`.
  [[nodiscard]] bool Move(const Loop& loop, ChunkCoordinates& at) const;
  [[nodiscard]] Next Extend(Reader& reader, size_t window, const IsHere& is_here) const;
  // Continues `reader` at `at`, contrary to the prediction.
  static void Restart(Reader& reader, const ChunkCoordinates& at);
  static void Forget(Reader& reader, size_t count);
  [[nodiscard]] uint64_t NumberOf(const ChunkCoordinates& at) const {
    return grid_.Linear({at.data(), grid_.rank()});
  }

  const ChunkGrid& grid_;
  std::deque<Reader> readers_;  // the most recently active one first
  std::deque<Recent> recent_;   // the latest one last
};

}  // namespace zarrfs
