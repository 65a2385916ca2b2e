// The filters and the compressor of a Zarr v2 array as the codec chain of zarr.json.
//
// A v2 writer applies the filters in their order and then the compressor, which is one filter more.
// Those that make elements of elements come before the codec "bytes" of v3, those that see nothing
// but bytes after it.
#ifndef ZARRCORE_METADATA_V2_CODECS_H_
#define ZARRCORE_METADATA_V2_CODECS_H_

#include <cstddef>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/v2_dtype.h"

namespace zarrfs {

struct V2Codecs {
  Json codecs;     // as zarr.json has them
  Json data_type;  // that of the dtype, or for "|O" what its filter says
};

/// `zarray` has the members "order", "filters" and "compressor" ("filters" may be absent). kDamaged
/// if they are no such thing; kUnsupported for codecs that have no counterpart, and for chains that
/// take the bytes of elements for elements of another type.
[[nodiscard]] Result<V2Codecs> ParseV2Codecs(const Json& zarray, const V2Dtype& dtype, size_t rank,
                                             std::string_view key);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_V2_CODECS_H_
