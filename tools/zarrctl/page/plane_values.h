// PlaneValues: the numbers of a plane, brought onto a grid no larger than a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/plane.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/fill_value.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::ctl {

struct PlaneValues {
  enum class State : uint8_t { kEmpty, kDamaged, kNotLookedAt };
  /// Of one channel, row by row. NaN: no number.
  struct Grid {
    std::vector<double> values;
    // Of an array of one axis, the least and greatest of each column, instead of `values`.
    std::vector<double> low;
    std::vector<double> high;
    bool has_range = false;
    double least = 0;  // of all numbers looked at
    double greatest = 0;
  };

  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<Grid> channels;
  std::vector<State> states;  // of each place: why it may have no number
  // Elements: exact.
  FillBytes least = {};  // none if there is no number
  FillBytes greatest = {};
  // Chunks of the plane:
  uint64_t stored = 0;
  uint64_t not_stored = 0;
  uint64_t not_looked_at = 0;
  std::vector<Error> failures;  // of those that cannot be read or decoded, a few
  uint64_t failed = 0;
};

struct PlaneRequest {
  uint32_t most_columns = 384;
  uint32_t most_rows = 384;
  bool has_means = false;  // a place is the mean of its elements, else the first one
};

/// Reads each chunk of the plane once, on several threads. `plane`: of this array, as
/// ChoosePlane() gives it; its elements are numbers. Leaves out the rest once `is_over`.
[[nodiscard]] PlaneValues ReadPlane(const ArrayMetadata& metadata, const ChunkSource& source,
                                    const Plane& plane, const PlaneRequest& request,
                                    const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
