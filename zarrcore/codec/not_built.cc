#include "zarrcore/codec/not_built.h"

namespace zarrfs {
namespace {

tl::unexpected<Error> Refuse(const CodecSpec& codec, std::string_view library) {
  return Fail(ErrorCode::kUnsupported, "codec '{}' needs the library {}, which zarrfs does not use",
              codec.name, library);
}

}  // namespace

Result<std::shared_ptr<const ArrayToBytesCodec>> RefuseZfp(const CodecSpec& codec,
                                                           const ChunkSpec&) {
  return Refuse(codec, "zfp");
}

Result<std::shared_ptr<const ArrayToBytesCodec>> RefusePcodec(const CodecSpec& codec,
                                                              const ChunkSpec&) {
  return Refuse(codec, "pcodec");
}

}  // namespace zarrfs
