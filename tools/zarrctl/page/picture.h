// Picture: a plane of an array as a PNG file, with what is to be said of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/zarrctl/page/budget.h"
#include "tools/zarrctl/page/ome_image.h"
#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::ctl {

struct Picture {
  std::string png;
  uint32_t width = 0;
  uint32_t height = 0;
  bool is_curve = false;
  bool has_scale = false;  // colours stand for numbers, from `darkest` to `brightest`
  std::string darkest;
  std::string brightest;
  std::string place;  // DescribePlane(); "" for a whole array
  std::string least;  // exact; "" without numbers
  std::string greatest;
  std::vector<std::string> notes;  // more to say, a sentence each
  std::vector<Error> failures;     // of chunks
  uint64_t failed = 0;             // of these, how many there are
};

/// `image`: the OME-Zarr image that the array is a level of, or null. `is_turned`: the first row is
/// the lowest one. Fails with the reason, as
/// ChoosePlane() does, or kUnsupported for elements that are no numbers.
[[nodiscard]] Result<Picture> MakePicture(const ArrayMetadata& metadata, const ChunkSource& source,
                                          const OmeImage* image, bool is_turned,
                                          const PageLimits& limits,
                                          const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
