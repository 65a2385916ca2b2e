// Data types as numpy spells them in the configuration of its codecs.
#ifndef ZARRCORE_CODEC_NUMPY_TYPE_H_
#define ZARRCORE_CODEC_NUMPY_TYPE_H_

#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// "<i4", "i4", "int32" of the core data types; `otherwise` if the member is absent or null. The
/// byte order means nothing here: how elements are stored, the array -> bytes codec says.
/// kUnsupported for other types, kDamaged for what is no text.
[[nodiscard]] Result<DataType> NumpyTypeMember(const CodecSpec& codec, std::string_view member,
                                               const DataType& otherwise);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_NUMPY_TYPE_H_
