// Codec chains as Zarr v2 says them: "order", byte order, "filters", "compressor".
#pragma once

#include <vector>

#include "zarrcore/array/layout.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/checksum.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/view/compressors.h"
#include "zarrcore/view/reader_profile.h"

namespace zarrfs {

struct V2Chain {
  char byte_order = '<';
  char order = 'C';
  Json compressor = {};
  Json filters = {};
  /// Bytes of an element behind the filters.
  size_t filtered_item_size = 0;
  bool has_zstd = false;
  /// Bytes of checksum before and behind the encoded chunk, which v2 readers do not know.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// These, the outermost first.
  std::vector<Checksum> checksums = {};
};

/// The chain of the innermost chunks, whose elements are of `type`, where their bytes can be passed
/// through to the reader. kUnsupported, with the reason, where they cannot. `compressors`: of the
/// profile's those that the reader knows; unless it knows all, it is not trusted with filters.
[[nodiscard]] Result<V2Chain> ToV2Chain(const ArrayLayout& layout, const DataType& type,
                                        const ReaderProfile& profile,
                                        const CompressorSet& compressors = kAllCompressors);

}  // namespace zarrfs
