#include "zarrcore/codec/not_built.h"

namespace zarrfs {
Result<std::shared_ptr<const ArrayToBytesCodec>> RefusePcodec(const CodecSpec& codec,
                                                              const ChunkSpec&) {
  return Fail(ErrorCode::kUnsupported,
              "codec '{}' needs the library pcodec, which zarrfs does not use", codec.name);
}

}  // namespace zarrfs
