#include <limits>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

class ShuffleCodec : public BytesToBytesCodec {
 public:
  explicit ShuffleCodec(size_t element_size) : element_size_(element_size) {}

  std::optional<uint64_t> EncodedSize(uint64_t decoded_size) const override { return decoded_size; }

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    if (encoded.size() > limit || encoded.size() % element_size_ != 0) {
      return Fail(ErrorCode::kDamaged,
                  "shuffle: expected at most {} bytes in elements of {}, found {}", limit,
                  element_size_, encoded.size());
    }
    return Transpose(encoded, element_size_, encoded.size() / element_size_);
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    if (decoded.size() % element_size_ != 0) {
      return Fail(ErrorCode::kInvalidArgument, "shuffle: expected elements of {} bytes, found {}",
                  element_size_, decoded.size());
    }
    return Transpose(decoded, decoded.size() / element_size_, element_size_);
  }

 private:
  // Transposes a matrix of bytes with `rows` rows of `columns` bytes.
  static Bytes Transpose(BytesView from, size_t rows, size_t columns) {
    Bytes to(from.size());
    for (size_t row = 0; row < rows; ++row) {
      const std::byte* source = from.data() + row * columns;
      for (size_t column = 0; column < columns; ++column) to[column * rows + row] = source[column];
    }
    return to;
  }

  const size_t element_size_;  // at least 1
};

}  // namespace

Result<BytesToBytesPtr> MakeShuffleCodec(const CodecSpec& codec) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  const Result<int64_t> size = IntegerMember(codec, "elementsize", 0, kLargest, -1);
  if (!size) return Fail(size);
  if (*size < 0) return WrongMember(codec, "elementsize", "an integer");
  return std::make_shared<const ShuffleCodec>(static_cast<size_t>(*size == 0 ? 1 : *size));
}

}  // namespace zarrfs
