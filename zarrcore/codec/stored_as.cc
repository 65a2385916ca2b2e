#include "zarrcore/codec/stored_as.h"

#include <algorithm>
#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/metadata/v2_dtype.h"

namespace zarrfs {
namespace {

// Returns the type that a member of the configuration names, or `otherwise` if the member is absent
// or null.
Result<DataType> TypeMember(const CodecSpec& codec, std::string_view member,
                            const DataType& otherwise) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr || value->is_null()) return otherwise;
  const Result<std::string> text = StringMember(codec, member, "");
  if (!text) return Fail(text);
  std::string_view name = WithoutByteOrder(*text);
  if (const NumpyNumber* number = FindNumpyNumber(name)) name = number->data_type;
  Result<DataType> type = ParseDataType(Json(std::string(name)), codec.name);
  if (!type || !type->is_core() || type->kind == DataKind::kRaw) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': {} '{}' is not known", codec.name, member,
                *text);
  }
  return type;
}

}  // namespace

Result<DataType> StoredType(const CodecSpec& codec, const DataType& type, std::string_view decoded,
                            std::string_view stored) {
  Result<DataType> given = TypeMember(codec, decoded, type);
  if (!given) return given;
  if (given->name != type.name) return WrongMember(codec, decoded, type.name);
  return TypeMember(codec, stored, type);
}

tl::unexpected<Error> RefuseTypes(const CodecSpec& codec, const DataType& type,
                                  const DataType& stored) {
  return Fail(ErrorCode::kUnsupported, "codec '{}': {} stored as {} is not known", codec.name,
              type.name, stored.name);
}

uint64_t StoredAsCodec::MemoryToDecode(uint64_t encoded, const ChunkSpec& decoded) const {
  const uint64_t size = decoded.size().value_or(0);
  const uint64_t elements = size / decoded.data_type.item_size;
  const uint64_t calculated = elements * CalculatedItemSize(decoded.data_type);
  return std::max(encoded, size) + (calculated == 0 ? std::min(encoded, size) : calculated);
}

Result<Bytes> StoredAsCodec::DecodeInPlace(Bytes encoded, const ChunkSpec& decoded) const {
  const auto checked = CheckSize(name_, encoded, stored_, decoded.shape, ErrorCode::kDamaged);
  if (!checked) return Fail(checked);
  return DecodeElements(std::move(encoded), decoded.data_type);
}

Result<Bytes> StoredAsCodec::Encode(BytesView decoded, const ChunkSpec& spec) const {
  const auto checked =
      CheckSize(name_, decoded, spec.data_type, spec.shape, ErrorCode::kInvalidArgument);
  if (!checked) return Fail(checked);
  return EncodeElements(decoded, spec.data_type);
}

Result<Bytes> StoredAsCodec::EncodeElements(BytesView, const DataType&) const {
  return Fail(ErrorCode::kUnsupported, "codec '{}' cannot encode", name_);
}

}  // namespace zarrfs
