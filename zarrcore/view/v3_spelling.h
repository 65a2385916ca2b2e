// Metadata in today's spelling of v3.
//
// Drafts and writers spell codecs, types and fill values in ways that few readers know: the order
// "F" of a transpose, numbers for the shuffles of blosc, a type size of 0, members left out, whole
// numbers as floats. What means the same is written as the specification has it, and as
// zarr-python and tensorstore read it; what this program does not know stays as it stands.
#pragma once

#include <vector>

#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// `codecs` of chunks of `rank` axes whose elements are of `type`: none of them shards.
[[nodiscard]] std::vector<CodecSpec> InTodaysSpelling(std::vector<CodecSpec> codecs, size_t rank,
                                                      const DataType& type);

/// Raw types, structures and bytes have spellings that no two readers share: they stay.
[[nodiscard]] Json DataTypeInTodaysSpelling(const DataType& type);

/// `given` is the member as it stands, null if it is absent.
[[nodiscard]] Json FillValueInTodaysSpelling(const Json& given, const FillBytes& fill,
                                             const DataType& type);

}  // namespace zarrfs
