#include "zarrcore/codec/numpy_type.h"

#include <array>
#include <utility>

#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kCodes = {{
    {"b1", "bool"},
    {"i1", "int8"},
    {"i2", "int16"},
    {"i4", "int32"},
    {"i8", "int64"},
    {"u1", "uint8"},
    {"u2", "uint16"},
    {"u4", "uint32"},
    {"u8", "uint64"},
    {"f2", "float16"},
    {"f4", "float32"},
    {"f8", "float64"},
    {"c8", "complex64"},
    {"c16", "complex128"},
}};

}  // namespace

Result<DataType> NumpyTypeMember(const CodecSpec& codec, std::string_view member,
                                 const DataType& otherwise) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr || value->is_null()) return otherwise;
  const Result<std::string> text = StringMember(codec, member, "");
  if (!text) return Fail(text);
  std::string_view name = *text;
  if (!name.empty() && std::string_view("<>=|").find(name.front()) != std::string_view::npos) {
    name.remove_prefix(1);
  }
  for (const auto& [code, core] : kCodes) {
    if (name == code) name = core;
  }
  Result<DataType> type = ParseDataType(Json(std::string(name)), codec.name);
  if (!type || !type->is_core() || type->kind == DataKind::kRaw) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': {} '{}' is not known", codec.name, member,
                *text);
  }
  return type;
}

}  // namespace zarrfs
