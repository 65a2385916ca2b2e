// Translates codec chains of Zarr v3 to Zarr v2: "order", byte order, "filters" and "compressor".
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
  /// The size in bytes of an element after the filters have encoded it.
  size_t filtered_item_size = 0;
  bool has_zstd = false;
  /// The size in bytes of the checksums before and after the encoded chunk. v2 readers do not
  /// support these checksums, so chunk files leave them out.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// The checksums of stored chunks that chunk files leave out, outermost first.
  std::vector<Checksum> checksums = {};
};

/// Translates the codec chain of the innermost chunks, whose elements have `type`, if the reader
/// can decode their bytes. Otherwise, kUnsupported with the reason. `compressors`: the set of
/// compressors that the reader supports. If the set is not kAllCompressors, filters are refused,
/// too.
[[nodiscard]] Result<V2Chain> ToV2Chain(const ArrayLayout& layout, const DataType& type,
                                        const ReaderProfile& profile,
                                        const CompressorSet& compressors = kAllCompressors);

}  // namespace zarrfs
