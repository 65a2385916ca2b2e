// The codecs this program knows, by the name that zarr.json gives them.
#ifndef ZARRCORE_CODEC_REGISTRY_H_
#define ZARRCORE_CODEC_REGISTRY_H_

#include <memory>
#include <string_view>
#include <variant>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Each makes a codec from its configuration: kDamaged if that is wrong, kUnsupported if this build
/// cannot do what it asks. `chunk` is what the codec will be applied to.
using ArrayToArrayFactory = Result<std::shared_ptr<const ArrayToArrayCodec>> (*)(
    const CodecSpec& codec, const ChunkSpec& chunk);
using ArrayToBytesFactory = Result<std::shared_ptr<const ArrayToBytesCodec>> (*)(
    const CodecSpec& codec, const ChunkSpec& chunk);
using BytesToBytesFactory =
    Result<std::shared_ptr<const BytesToBytesCodec>> (*)(const CodecSpec& codec);

/// Which of the three is set says where in a chain the codec may stand.
using CodecFactory = std::variant<ArrayToArrayFactory, ArrayToBytesFactory, BytesToBytesFactory>;

/// Null for a name that is not known. The pointer lives as long as the program.
[[nodiscard]] const CodecFactory* FindCodec(std::string_view name);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_REGISTRY_H_
