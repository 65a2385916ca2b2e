// ChunkGrid: the number of chunks of an array along each axis (core specification, "Regular
// grids"), and the row-major linear order that ids, caches and listings use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Coordinates of a chunk. Only the first rank() entries are meaningful.
using ChunkCoordinates = std::array<uint64_t, kMaxRank>;

/// Maximum number of chunks in an array. Arrays with more chunks are hidden, because node ids
/// contain chunk numbers and have a limited size.
inline constexpr uint64_t kMaxChunksPerArray = uint64_t{1} << 40;

/// Parses a decimal coordinate less than `count`. Returns nullopt for any other string, including
/// one with a sign or leading zeros, which chunk names never have.
[[nodiscard]] std::optional<uint64_t> ParseCoordinate(std::string_view text, uint64_t count);

// Types for chunk numbers. Each number is a row-major position in a grid; separate types prevent
// mix-ups. OuterIndex{n} converts an integer to a chunk number, ToNumber() converts it back.

/// The number of a stored object, in the row-major order of ArrayLayout::outer_grid.
enum class OuterIndex : uint64_t {};

/// The number of an innermost chunk, in the row-major order of ArrayLayout::inner_grid.
enum class InnerIndex : uint64_t {};

/// The number of an innermost chunk within its stored object; less than
/// ArrayLayout::inner_per_outer_count.
enum class Slot : uint64_t {};

template <typename Index>
requires std::is_enum_v<Index>
[[nodiscard]] constexpr uint64_t ToNumber(Index index) { return static_cast<uint64_t>(index); }

class ChunkGrid {
 public:
  /// Makes a grid of ceil(shape / chunk_shape) chunks along each axis. Fails with kUnsupported if
  /// it has more than kMaxChunksPerArray chunks.
  [[nodiscard]] static Result<ChunkGrid> Make(std::span<const uint64_t> shape,
                                              std::span<const uint64_t> chunk_shape);
  /// Makes a grid of counts[d] chunks along each axis d. Fails with kUnsupported if it has more
  /// than kMaxChunksPerArray chunks.
  [[nodiscard]] static Result<ChunkGrid> OfCounts(std::vector<uint64_t> counts);

  [[nodiscard]] size_t rank() const { return counts_.size(); }
  /// The number of chunks along each axis.
  [[nodiscard]] const std::vector<uint64_t>& counts() const { return counts_; }
  /// The total number of chunks: 1 for rank 0, and 0 if any dimension is empty.
  [[nodiscard]] uint64_t size() const { return size_; }

  [[nodiscard]] uint64_t Linear(std::span<const uint64_t> coordinates) const {
    uint64_t linear = 0;
    for (size_t d = 0; d < counts_.size(); ++d) linear = linear * counts_[d] + coordinates[d];
    return linear;
  }
  /// Converts a linear index, which must be below size(), to coordinates.
  void Coordinates(uint64_t linear, ChunkCoordinates& out) const {
    for (size_t d = counts_.size(); d-- > 0;) {
      out[d] = linear % counts_[d];
      linear /= counts_[d];
    }
  }

 private:
  std::vector<uint64_t> counts_;
  uint64_t size_ = 1;
};

}  // namespace zarrfs
