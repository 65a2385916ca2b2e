// The codecs this program knows, by the name that zarr.json gives them.
#ifndef ZARRCORE_CODEC_REGISTRY_H_
#define ZARRCORE_CODEC_REGISTRY_H_

#include <memory>
#include <string_view>
#include <variant>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Makes a codec from its configuration: kDamaged if that is wrong, kUnsupported if this program
/// cannot decode it. `chunk` is what the codec will be applied to.
using ArrayToArrayFactory = Result<std::shared_ptr<const ArrayToArrayCodec>> (*)(
    const CodecSpec& codec, const ChunkSpec& chunk);
using ArrayToBytesFactory = Result<std::shared_ptr<const ArrayToBytesCodec>> (*)(
    const CodecSpec& codec, const ChunkSpec& chunk);
using BytesToBytesFactory =
    Result<std::shared_ptr<const BytesToBytesCodec>> (*)(const CodecSpec& codec);

/// The alternative determines where in a chain the codec may be.
using CodecFactory = std::variant<ArrayToArrayFactory, ArrayToBytesFactory, BytesToBytesFactory>;

/// Null for an unknown name. The pointer is valid forever.
[[nodiscard]] const CodecFactory* FindCodec(std::string_view name);

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_REGISTRY_H_
