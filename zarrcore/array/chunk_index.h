// The numbers that identify chunks. All are row-major positions in some grid and look alike; a
// type each keeps them from being mixed up. OuterIndex{n} makes one, ToNumber() goes back.
#ifndef ZARRCORE_ARRAY_CHUNK_INDEX_H_
#define ZARRCORE_ARRAY_CHUNK_INDEX_H_

#include <cstdint>
#include <type_traits>

namespace zarrfs {

/// A stored object, in ArrayLayout::outer_grid.
enum class OuterIndex : uint64_t {};

/// An innermost chunk, in ArrayLayout::inner_grid.
enum class InnerIndex : uint64_t {};

/// An innermost chunk within its stored object: below ArrayLayout::inner_per_outer_count.
enum class Slot : uint64_t {};

template <typename Index>
requires std::is_enum_v<Index>
[[nodiscard]] constexpr uint64_t ToNumber(Index index) { return static_cast<uint64_t>(index); }

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_CHUNK_INDEX_H_
