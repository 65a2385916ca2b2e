// Codec chains in Zarr v2: "order", byte order, "filters", "compressor".
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
  /// Element size after the filters, in bytes.
  size_t filtered_item_size = 0;
  bool has_zstd = false;
  /// Bytes of checksums before and after the encoded chunk, which v2 readers do not know.
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
  /// These checksums, outermost first.
  std::vector<Checksum> checksums = {};
};

/// Translates the chain of the innermost chunks, with elements of `type`, if the reader can use
/// their bytes. Otherwise kUnsupported, with the reason. `compressors`: those of the profile that
/// the reader knows; a reader that lacks some is not trusted with filters.
[[nodiscard]] Result<V2Chain> ToV2Chain(const ArrayLayout& layout, const DataType& type,
                                        const ReaderProfile& profile,
                                        const CompressorSet& compressors = kAllCompressors);

}  // namespace zarrfs
