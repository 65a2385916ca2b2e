// Picture: a plane of an array as a PNG file, with facts and notes about it.
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
  bool has_scale = false;  // colours represent numbers from `darkest` to `brightest`
  std::string darkest;
  std::string brightest;
  std::string place;  // the part shown, see DescribePlane(); "" for the whole array
  std::string least;  // the exact minimum, printed; "" if the picture has no numbers
  std::string greatest;
  std::vector<std::string> notes;  // further facts about the picture, one sentence each
  std::vector<Error> failures;     // errors in reading chunks
  uint64_t failed = 0;             // the number of failed chunks, including those not in `failures`
};

/// Makes a picture. `image`: the OME-Zarr image that has the array as one of its resolutions, or
/// null. `is_turned`: true to draw the first row at the bottom. Returns the errors of
/// ChoosePlane(), and kUnsupported for elements that are not numbers.
[[nodiscard]] Result<Picture> MakePicture(const ArrayMetadata& metadata, const ChunkSource& source,
                                          const OmeImage* image, bool is_turned,
                                          const PageLimits& limits,
                                          const std::function<bool()>& is_over);

}  // namespace zarrfs::ctl
