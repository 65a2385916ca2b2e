// ArrayOrder: what readers of an array will ask for next, from what they have asked for.
//
// Whoever reads more than a chunk goes over a box of the array, one axis inside the other: rows
// (C order), columns (F order), backwards, every n-th, slabs along an axis. A Reader is such nested
// loops, learned from the chunks that it takes: a step that is repeated is the innermost loop;
// where that begins again, another axis goes on, and is the next one. What lies ahead is what the
// loops give. An axis that was not learned yet is guessed: the one that C order (or F order) takes
// next. A step to a chunk that is no neighbour may be one of a reader that leaves others out, or
// the first chunk of another reader, as in a pool whose workers take a block each: both are
// followed. Blocks are mostly as large as the ones before, so that a reader whose row begins is
// thought to read a box like the last ones, and nothing beyond. Many threads that share a scan in C
// order take chunks in an order that no loops give: such a *crowd* is recognized by chunks that lie
// close together, move on, and are often unexpected.
//
// After a few steps in order, or one to the next chunk of the row, the chunks ahead are worth
// fetching: eight times as many each time a quarter of them was wanted, up to a window; beyond an
// end that was learned, twice as many; of a box like the last ones, a whole window. Readers in no
// order get next to nothing. Not thread-safe.
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

  /// Whether a chunk is there, or on its way, without being asked for.
  using IsHere = std::function<bool(InnerIndex chunk)>;

  struct Next {
    std::vector<InnerIndex> chunks{};  // worth fetching now, in the order in which they are wanted
    /// What comes after these, as far as that is known: worth fetching with a neighbour in
    /// `chunks`, and perhaps here.
    std::vector<InnerIndex> later{};
  };
  /// A chunk is wanted, perhaps not for the first time. Returns what is to be fetched, mostly
  /// nothing. `window`: chunks that may be ahead of a reader.
  [[nodiscard]] Next OnWanted(InnerIndex chunk, size_t window, const IsHere& is_here);

 private:
  static constexpr size_t kReaders = 8;     // that are told apart
  static constexpr uint64_t kMinSteps = 2;  // in order, before anything is ahead
  static constexpr size_t kFirst = 4;       // chunks that are ahead at first
  static constexpr int64_t kMaxJump = 8;    // steps at once: chunks that are not stored, threads
  static constexpr size_t kMaxLate = 64;    // chunks ahead that were passed over and may come yet
  static constexpr size_t kGrowth = 8;
  static constexpr size_t kGrowthBeyond = 2;  // where a loop ended before
  static constexpr size_t kMaxAhead = 8192;
  static constexpr size_t kMaxLater = 1024;
  static constexpr size_t kAlike = 2;  // boxes that tell what the next one is
  // The latest chunks make a crowd, from half as many on,
  static constexpr size_t kCrowd = 32;
  static constexpr double kCrowdSpan = 1.4;    // if they are among so many times as many
  static constexpr ptrdiff_t kUnexpected = 3;  // and no fewer were unexpected
  static constexpr int kMaxRestarts = 3;
  static constexpr uint64_t kNear = 64;  // places that its threads are apart, at most

  struct Loop {
    size_t axis;
    int64_t step;
    uint64_t begin;                  // where it begins each time
    std::optional<uint64_t> last{};  // where it ends each time; else it goes to the grid's end
  };
  struct Side {
    size_t axis;
    int64_t step;
    uint64_t begin;
    int64_t length;  // from its first to its last chunk
  };
  using Box = std::vector<Side>;  // the innermost first
  struct Ahead {
    uint64_t chunk;
    bool is_fetched;  // for this reader
  };
  struct Recent {
    uint64_t chunk;
    bool is_expected;
  };
  struct Reader {
    uint64_t newest = 0;  // the chunk that it wanted last
    ChunkCoordinates at{};
    std::vector<Loop> loops{};          // the innermost first
    std::optional<Loop> unsure{};       // one around them, after a single step far away
    bool is_box = false;                // nothing comes after its loops
    uint64_t steps = 0;                 // in order
    std::optional<uint64_t> row_end{};  // where the innermost loop ended last time
    size_t size = 0;                    // of what is to be ahead
    size_t growth = kGrowth;            // of `size`, each time
    ChunkCoordinates tip{};             // the last one that is ahead
    bool is_over = false;               // nothing comes after `tip`
    bool is_crowd = false;
    int restarts = 0;  // of a crowd, since it took a chunk that was ahead
    std::deque<Ahead> ahead{};
    size_t fetched = 0;  // of `ahead`
  };

  // Each of these is true if it was the reader who wanted the chunk.
  bool TakeAhead(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;
  bool Follow(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const;

  // Remembers a chunk. True if it makes a crowd, which is the first reader then.
  bool MakeCrowd(uint64_t chunk, bool is_expected);
  // Whether a chunk that is not ahead is a crowd's: it was left behind, or is beyond all that is.
  bool TakeNear(Reader& crowd, uint64_t chunk, const ChunkCoordinates& at) const;

  // A reader of a chunk that nobody was to take. Perhaps it is one that goes on far away.
  [[nodiscard]] Reader Begin(uint64_t chunk, const ChunkCoordinates& at) const;
  // Whether so many of its loops, from the innermost on, have come to their ends.
  [[nodiscard]] bool IsAtEnd(const Reader& reader, size_t loops) const;
  // What it has read, if that is the whole of a box or may be.
  [[nodiscard]] std::optional<Box> BoxOf(const Reader& reader) const;
  // What readers whose innermost loop is like this one have read, rather too small than too large.
  [[nodiscard]] std::optional<Box> UsualBox(const Loop& innermost) const;
  // A reader whose first loop has begun takes the others from there.
  void AdoptBox(Reader& reader) const;

  // How many steps of the innermost loop lie between; nullopt if it is not on its way.
  [[nodiscard]] std::optional<int64_t> StepsTo(const Reader& reader,
                                               const ChunkCoordinates& at) const;
  // The innermost loop has begun again at `at`, which was ahead, perhaps with others before it.
  void LearnRow(Reader& reader, const ChunkCoordinates& at) const;
  // The first loop, or one around those that are known, if it begins with a step to `at`.
  [[nodiscard]] std::optional<Loop> LoopTo(const Reader& reader, const ChunkCoordinates& at) const;
  // Begins it, if it goes to a neighbour.
  bool BeginLoop(Reader& reader, const ChunkCoordinates& at) const;
  // A loop does not end where it did. Nobody knows how far it goes.
  static void GoBeyond(Reader& reader, Loop& loop);
  // The loop that was not sure goes on.
  bool MakeSure(Reader& reader, const ChunkCoordinates& at) const;
  // Finds one of those that are known going on.
  bool TurnLoop(Reader& reader, const ChunkCoordinates& at) const;
  // Whether it steps from a chunk to the next one of its row.
  [[nodiscard]] bool IsInRow(const Loop& loop) const {
    const auto inner = std::span(grid_.counts()).subspan(loop.axis + 1);
    return loop.step == 1 && std::ranges::all_of(inner, [](uint64_t count) { return count == 1; });
  }
  // The chunk after `at`; false if there is none.
  [[nodiscard]] bool Advance(const Reader& reader, ChunkCoordinates& at) const;
  // The same by what was learned alone.
  [[nodiscard]] bool AdvanceLearned(const Reader& reader, ChunkCoordinates& at) const;
  [[nodiscard]] bool AdvanceGuessed(const Reader& reader, ChunkCoordinates& at) const;
  // Moves one axis; false if it would leave the grid, or go beyond `last`.
  [[nodiscard]] bool Move(const Loop& loop, ChunkCoordinates& at) const;
  [[nodiscard]] Next Extend(Reader& reader, size_t window, const IsHere& is_here) const;
  // `reader` goes on at `at`, elsewhere than was thought.
  static void Restart(Reader& reader, const ChunkCoordinates& at);
  static void Forget(Reader& reader, size_t count);
  [[nodiscard]] uint64_t NumberOf(const ChunkCoordinates& at) const {
    return grid_.Linear({at.data(), grid_.rank()});
  }

  const ChunkGrid& grid_;
  std::deque<Reader> readers_;  // the one that wanted something last is the first
  std::deque<Recent> recent_;   // the latest last
};

}  // namespace zarrfs
