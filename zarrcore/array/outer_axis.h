// OuterAxis: where the stored objects of an array begin along one axis, counted in innermost
// chunks, if they differ in length ("rectilinear" chunk grid). All innermost chunks have one
// length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zarrcore/metadata/chunk_edges.h"

namespace zarrfs {

class OuterAxis {
 public:
  /// `edges`: lengths of the stored objects, in elements, each a multiple of `inner_length`. Not
  /// empty.
  OuterAxis(std::span<const EdgeRun> edges, uint64_t inner_length);

  [[nodiscard]] bool differs() const { return runs_.size() > 1; }

  struct Place {
    uint64_t outer = 0;  // the stored object
    uint64_t local = 0;  // the innermost chunk within it
  };
  /// The place of an innermost chunk. A binary search.
  [[nodiscard]] Place PlaceOf(uint64_t inner) const;

  /// The first innermost chunk of a stored object, and the number of its chunks.
  [[nodiscard]] uint64_t FirstOf(uint64_t outer) const;
  [[nodiscard]] uint64_t CountOf(uint64_t outer) const { return RunOf(outer).per_outer; }

 private:
  // Stored objects of one length; the last run has no end.
  struct Run {
    uint64_t outer = 0;  // the first of them
    uint64_t inner = 0;  // its first innermost chunk
    uint64_t per_outer = 1;
  };
  [[nodiscard]] const Run& RunOf(uint64_t outer) const;

  std::vector<Run> runs_;
};

}  // namespace zarrfs
