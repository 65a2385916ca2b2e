// Metadata in today's spelling of v3.
//
// Drafts and writers spell codecs, types and fill values in ways that few readers know: the order
// "F" of a transpose, numbers for the shuffles of blosc, a type size of 0, missing members, whole
// numbers as floats. Equivalent spellings are rewritten to that of the specification, which
// zarr-python and tensorstore read; anything unknown stays unchanged.
#pragma once

#include <vector>

#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// `codecs` of unsharded chunks of `rank` axes with elements of `type`.
[[nodiscard]] std::vector<CodecSpec> InTodaysSpelling(std::vector<CodecSpec> codecs, size_t rank,
                                                      const DataType& type);

/// Raw types, structures and bytes have no spelling that two readers share: they stay unchanged.
[[nodiscard]] Json DataTypeInTodaysSpelling(const DataType& type);

/// `given`: the stored member, null if it is absent.
[[nodiscard]] Json FillValueInTodaysSpelling(const Json& given, const FillBytes& fill,
                                             const DataType& type);

}  // namespace zarrfs
