#include "zarrcore/codec/zlib.h"

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/deflate.h"

namespace zarrfs {

Result<std::shared_ptr<const BytesToBytesCodec>> MakeZlibCodec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", -1, 9, 1);
  return MakeDeflateCodec(DeflateWrapper::kZlib, static_cast<int>(level));
}

}  // namespace zarrfs
