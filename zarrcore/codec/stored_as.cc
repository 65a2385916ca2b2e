#include "zarrcore/codec/stored_as.h"

#include "zarrcore/base/checked.h"

namespace zarrfs {
namespace {

// Whether `bytes` are the elements of a chunk of `shape`.
Result<void> CheckSize(std::string_view name, BytesView bytes, const DataType& type,
                       const std::vector<uint64_t>& shape, ErrorCode wrong_size) {
  const std::optional<uint64_t> elements = CheckedProduct(shape);
  const std::optional<uint64_t> size =
      elements ? CheckedMul(*elements, type.item_size) : std::nullopt;
  if (!size) return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", name);
  if (bytes.size() != *size) {
    return Fail(wrong_size, "codec '{}': expected {} bytes, found {}", name, *size, bytes.size());
  }
  return {};
}

}  // namespace

Result<Bytes> StoredAsCodec::Decode(BytesView encoded, const ChunkSpec& decoded) const {
  const auto checked = CheckSize(name_, encoded, stored_, decoded.shape, ErrorCode::kDamaged);
  if (!checked) return Fail(checked);
  return DecodeElements(encoded, decoded.data_type);
}

Result<Bytes> StoredAsCodec::Encode(BytesView decoded, const ChunkSpec& spec) const {
  const auto checked =
      CheckSize(name_, decoded, spec.data_type, spec.shape, ErrorCode::kInvalidArgument);
  if (!checked) return Fail(checked);
  return EncodeElements(decoded, spec.data_type);
}

Result<Bytes> StoredAsCodec::EncodeElements(BytesView, const DataType&) const {
  return Fail(ErrorCode::kUnsupported, "codec '{}' is only decoded", name_);
}

}  // namespace zarrfs
