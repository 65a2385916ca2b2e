#include "zarrcore/array/outer_axis.h"

#include <algorithm>

namespace zarrfs {

OuterAxis::OuterAxis(std::span<const EdgeRun> edges, uint64_t inner_length) {
  runs_.reserve(edges.size());
  uint64_t inner = 0;
  for (const EdgeRun& edge : edges) {
    // `inner` cannot overflow, because the sum of all edge lengths is less than 2^63.
    if (!runs_.empty()) inner += (edge.first - runs_.back().outer) * runs_.back().per_outer;
    runs_.push_back({edge.first, inner, edge.length / inner_length});
  }
}

OuterAxis::Place OuterAxis::PlaceOf(uint64_t inner) const {
  const Run& run = *(std::ranges::upper_bound(runs_, inner, {}, &Run::inner) - 1);
  const uint64_t from_run = inner - run.inner;
  return {run.outer + from_run / run.per_outer, from_run % run.per_outer};
}

const OuterAxis::Run& OuterAxis::RunOf(uint64_t outer) const {
  return *(std::ranges::upper_bound(runs_, outer, {}, &Run::outer) - 1);
}

uint64_t OuterAxis::FirstOf(uint64_t outer) const {
  const Run& run = RunOf(outer);
  return run.inner + (outer - run.outer) * run.per_outer;
}

}  // namespace zarrfs
