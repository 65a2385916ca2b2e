// Converts the filters and the compressor of a Zarr v2 array to the codec chain of zarr.json.
//
// A v2 writer applies the filters in order, and then the compressor. Filters that map elements to
// elements are placed before v3's codec "bytes", and filters on bytes after it.
#pragma once

#include <cstddef>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/v2_dtype.h"

namespace zarrfs {

struct V2Codecs {
  Json codecs;     // the value of "codecs" in zarr.json
  Json data_type;  // the value of "data_type", from the dtype; for "|O", from the filters
};

/// Converts the members "order", "filters" (may be absent) and "compressor" of `zarray`. kDamaged
/// if they are malformed. kUnsupported for codecs without a counterpart in v3, and for chains that
/// reinterpret the bytes of elements as another type.
[[nodiscard]] Result<V2Codecs> ParseV2Codecs(const Json& zarray, const V2Dtype& dtype, size_t rank,
                                             std::string_view key);

}  // namespace zarrfs
