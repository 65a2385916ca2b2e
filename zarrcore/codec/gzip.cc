#include "zarrcore/codec/gzip.h"

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/deflate.h"

namespace zarrfs {

Result<std::shared_ptr<const BytesToBytesCodec>> MakeGzipCodec(const CodecSpec& codec) {
  const int64_t level = EncoderMember(codec, "level", 0, 9, 5);
  return MakeDeflateCodec(DeflateWrapper::kGzip, static_cast<int>(level));
}

}  // namespace zarrfs
