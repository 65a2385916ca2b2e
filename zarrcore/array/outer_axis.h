// OuterAxis: where the stored objects of an array begin along one axis, if they differ in length
// ("rectilinear" chunk grid). Positions are counted in innermost chunks, which all have the same
// length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zarrcore/metadata/chunk_edges.h"

namespace zarrfs {

class OuterAxis {
 public:
  /// `edges`: the lengths of the stored objects in elements, as runs of equal lengths; at least one
  /// run. Each length is a multiple of `inner_length`.
  OuterAxis(std::span<const EdgeRun> edges, uint64_t inner_length);

  [[nodiscard]] bool differs() const { return runs_.size() > 1; }

  struct Place {
    uint64_t outer = 0;  // index of the stored object along the axis
    uint64_t local = 0;  // index of the innermost chunk in that object
  };
  /// Returns the stored object that contains an innermost chunk. Uses a binary search.
  [[nodiscard]] Place PlaceOf(uint64_t inner) const;

  /// FirstOf() returns the first innermost chunk of a stored object, CountOf() the number of its
  /// innermost chunks.
  [[nodiscard]] uint64_t FirstOf(uint64_t outer) const;
  [[nodiscard]] uint64_t CountOf(uint64_t outer) const { return RunOf(outer).per_outer; }

 private:
  // Consecutive stored objects of equal length. The last run is unbounded.
  struct Run {
    uint64_t outer = 0;  // the first stored object of the run
    uint64_t inner = 0;  // the first innermost chunk of that object
    uint64_t per_outer = 1;
  };
  [[nodiscard]] const Run& RunOf(uint64_t outer) const;

  std::vector<Run> runs_;
};

}  // namespace zarrfs
