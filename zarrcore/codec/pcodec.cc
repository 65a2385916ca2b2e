#include "zarrcore/codec/registry.h"

#ifdef ZARRFS_PCODEC

#include <zarrfs_pcodec.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "pcodec decodes to the machine's byte order");

constexpr size_t kMaxMessage = 200;
// Upper bounds in bytes for the overhead of a file, and of each of its pages. A page may contain
// only one number. Writers store numbers uncompressed if that is shorter.
constexpr uint64_t kOfFile = 64;
constexpr uint64_t kOfPage = 32;

// Returns the number by which pcodec identifies a data type, or nullopt if pcodec lacks the type.
std::optional<uint8_t> NumberOf(const DataType& type) {
  constexpr std::pair<std::string_view, uint8_t> kNumbers[] = {
      {"uint8", 10}, {"uint16", 7}, {"uint32", 1},  {"uint64", 2},  {"int8", 11},   {"int16", 8},
      {"int32", 3},  {"int64", 4},  {"float16", 9}, {"float32", 5}, {"float64", 6},
  };
  const std::string_view name = type.is_date() ? "int64" : std::string_view(type.name);
  const auto* const found =
      std::ranges::find(kNumbers, name, &std::pair<std::string_view, uint8_t>::first);
  if (found == std::end(kNumbers)) return std::nullopt;
  return found->second;
}

class PcodecCodec final : public ArrayToBytesCodec {
 public:
  PcodecCodec(std::string name, uint8_t number) : name_(std::move(name)), number_(number) {}

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    const auto size = spec.size();
    if (!size || *size > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", name_);
    }
    Bytes decoded(*size);
    // The library cannot report that memory has run out. So this allocates and frees the memory
    // that the library needs, which throws if memory has run out.
    operator delete(operator new(encoded.size() + ZARRFS_PCODEC_MEMORY));
    std::array<char, kMaxMessage> message = {};
    if (zarrfs_pcodec_decode(reinterpret_cast<const uint8_t*>(encoded.data()), encoded.size(),
                             number_, decoded.data(), *size / spec.data_type.item_size,
                             message.data(), message.size()) != 0) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes do not decode to {}: {}", name_,
                  encoded.size(), spec.data_type.name, message.data());
    }
    return decoded;
  }

  uint64_t MaxEncodedSize(const ChunkSpec& spec) const override {
    const uint64_t size = std::min(spec.size().value_or(0), kMaxChunkBytes);
    return kOfFile + size + size / spec.data_type.item_size * kOfPage;
  }

  uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& spec) const override {
    return ZARRFS_PCODEC_MEMORY + 2 * encoded + spec.size().value_or(0);
  }

  Result<Bytes> Encode(BytesView, const ChunkSpec&) const override {
    return Fail(ErrorCode::kUnsupported, "codec '{}' cannot encode", name_);
  }

 private:
  const std::string name_;
  const uint8_t number_;
};

}  // namespace

Result<ArrayToBytesPtr> MakePcodecCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const auto number = NumberOf(chunk.data_type);
  if (!number) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': pcodec has no data type '{}'", codec.name,
                chunk.data_type.name);
  }
  return std::make_shared<const PcodecCodec>(codec.name, *number);
}

bool DecodesPcodec() { return true; }

}  // namespace zarrfs

#else

namespace zarrfs {

Result<ArrayToBytesPtr> MakePcodecCodec(const CodecSpec& codec, const ChunkSpec&) {
  return Fail(ErrorCode::kUnsupported,
              "codec '{}' needs the library pcodec, which this program was built without",
              codec.name);
}

bool DecodesPcodec() { return false; }

}  // namespace zarrfs

#endif
