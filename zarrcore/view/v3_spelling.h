// Rewrites v3 metadata in the spelling of the current specification.
//
// Drafts and writers spell codecs, types and fill values in ways that few readers support: the
// order "F" of a transpose, numbers for the shuffles of blosc, a type size of 0, missing members,
// whole numbers as floats. Equivalent spellings are rewritten to the spelling of the specification,
// which zarr-python and tensorstore read. Anything unknown stays unchanged.
#pragma once

#include <vector>

#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Rewrites the `codecs` of unsharded chunks with `rank` axes and elements of `type`.
[[nodiscard]] std::vector<CodecSpec> InTodaysSpelling(std::vector<CodecSpec> codecs, size_t rank,
                                                      const DataType& type);

/// Rewrites a data type. Raw types, structs and bytes stay unchanged, because no two readers agree
/// on a spelling of these types.
[[nodiscard]] Json DataTypeInTodaysSpelling(const DataType& type);

/// Rewrites the fill value `fill`. `given`: the stored "fill_value", or null if it is absent.
[[nodiscard]] Json FillValueInTodaysSpelling(const Json& given, const FillBytes& fill,
                                             const DataType& type);

}  // namespace zarrfs
