// PlaneValues: the numbers of a plane of an array, reduced to a grid of the size of the picture.
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
  /// A grid of the numbers of one channel, row by row. NaN if a cell has no number.
  struct Grid {
    std::vector<double> values;
    // For an array with one axis, the minimum and the maximum of each column. `values` is then not
    // used.
    std::vector<double> low;
    std::vector<double> high;
    bool has_range = false;
    double least = 0;  // the minimum of all numbers that were read
    double greatest = 0;
  };

  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<Grid> channels;
  std::vector<State> states;  // for each cell of the grid, why it may have no number
  // The exact minimum and maximum of the plane, each as one decoded element.
  FillBytes least = {};  // empty if the plane contains no numbers
  FillBytes greatest = {};
  // How many chunks of the plane are stored, are missing, and were skipped.
  uint64_t stored = 0;
  uint64_t not_stored = 0;
  uint64_t not_looked_at = 0;
  std::vector<Error> failures;  // errors of the first chunks that cannot be read or decoded
  uint64_t failed = 0;
};

struct PlaneRequest {
  uint32_t most_columns = 384;
  uint32_t most_rows = 384;
  bool has_means = false;  // true: a cell has the mean of its elements; false: the first
};

/// Reads each chunk of the plane once, on several threads. `plane`: the result of ChoosePlane() for
/// this array, whose elements must be numbers. Once `is_over` returns true, the remaining chunks
/// are skipped.
[[nodiscard]] PlaneValues ReadPlane(const ArrayMetadata& metadata, const ChunkSource& source,
                                    const Plane& plane, const PlaneRequest& request,
                                    const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
