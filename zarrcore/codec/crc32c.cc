#include "zarrcore/codec/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

constexpr size_t kChecksumSize = 4;

class Crc32cCodec : public BytesToBytesCodec {
 public:
  std::optional<uint64_t> EncodedSize(uint64_t decoded_size) const override {
    return CheckedAdd(decoded_size, kChecksumSize);
  }

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    if (encoded.size() < kChecksumSize) {
      return Fail(ErrorCode::kDamaged, "crc32c: expected at least {} bytes, found {}",
                  kChecksumSize, encoded.size());
    }
    const BytesView content = encoded.first(encoded.size() - kChecksumSize);
    if (content.size() > limit) {
      return Fail(ErrorCode::kDamaged, "crc32c: expected at most {} bytes, found {}", limit,
                  content.size());
    }
    const uint32_t stored = LoadLittle<uint32_t>(encoded.data() + content.size());
    const uint32_t computed = Crc32c(content);
    if (stored != computed) {
      return Fail(ErrorCode::kDamaged, "crc32c checksum 0x{:08x}, computed 0x{:08x}", stored,
                  computed);
    }
    return Bytes(content.begin(), content.end());
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    Bytes encoded;
    encoded.reserve(decoded.size() + kChecksumSize);
    encoded.assign(decoded.begin(), decoded.end());
    encoded.resize(decoded.size() + kChecksumSize);
    StoreLittle(encoded.data() + decoded.size(), Crc32c(decoded));
    return encoded;
  }
};

}  // namespace

uint32_t Crc32c(BytesView bytes) {
  // The library takes an int length, and leaves both inversions of the standard to the caller.
  constexpr size_t kLongestRun = size_t{1} << 30;
  uint32_t state = 0xffffffff;
  while (!bytes.empty()) {
    const BytesView run = bytes.first(std::min(bytes.size(), kLongestRun));
    // It only reads, but was declared before const was.
    auto* start = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(run.data()));
    state = crc32_iscsi(start, static_cast<int>(run.size()), state);
    bytes = bytes.subspan(run.size());
  }
  return ~state;
}

Result<std::shared_ptr<const BytesToBytesCodec>> MakeCrc32cCodec(const CodecSpec& codec) {
  const Result<std::string> location = StringMember(codec, "location", "end");
  if (!location) return Fail(location);
  if (*location != "end") return WrongMember(codec, "location", R"("end")");
  return std::make_shared<const Crc32cCodec>();
}

}  // namespace zarrfs
