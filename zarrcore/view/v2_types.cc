#include "zarrcore/view/v2_types.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "zarrcore/metadata/base64.h"

namespace zarrfs {
namespace {

// Returns "NaN" for a NaN with a payload, which v3 spells in hexadecimal and v2 cannot spell. Other
// values stay unchanged.
Json PlainFloat(Json json) {
  if (json.is_string() && json.get_ref<const std::string&>().starts_with("0x")) return "NaN";
  return json;
}

// Returns the unit of a date type as numpy spells it, such as "[10us]"; "" for the generic unit.
std::string TimeUnit(const DataType& type) {
  if (type.time_unit == "generic") return "";
  if (type.time_scale == 1) return fmt::format("[{}]", type.time_unit);
  return fmt::format("[{}{}]", type.time_scale, type.time_unit);
}

}  // namespace

Result<Json> V2TypeOf(const DataType& type, char byte_order) {
  const char order = type.byte_order_unit() > 1 ? byte_order : '|';
  switch (type.kind) {
    case DataKind::kBool:
    case DataKind::kInt:
    case DataKind::kUint:
    case DataKind::kFloat:
    case DataKind::kComplex:  // numpy's letter is the first of the type's name
      return Json(fmt::format("{}{}{}", order, type.name[0], type.item_size));
    case DataKind::kFixedLengthUtf32:
      return Json(fmt::format("{}U{}", order, type.item_size / 4));
    case DataKind::kNullTerminatedBytes:
      return Json(fmt::format("|S{}", type.item_size));
    case DataKind::kRaw:
    case DataKind::kNarrowInt:
    case DataKind::kNarrowUint:
    case DataKind::kNarrowFloat:
    case DataKind::kNarrowComplex:
      return Json(fmt::format("|V{}", type.item_size));
    case DataKind::kDatetime:
      return Json(fmt::format("{}M8{}", order, TimeUnit(type)));
    case DataKind::kTimedelta:
      return Json(fmt::format("{}m8{}", order, TimeUnit(type)));
    case DataKind::kStruct: {
      Json fields = Json::array();
      for (const StructField& field : type.fields) {
        auto field_type = V2TypeOf(field.type, byte_order);
        if (!field_type) return field_type;
        fields.push_back(Json::array({field.name, *std::move(field_type)}));
      }
      return fields;
    }
    case DataKind::kString:
    case DataKind::kBytes:
      return Json("|O");
    case DataKind::kOther:
      break;
  }
  return Fail(ErrorCode::kUnsupported, "data type '{}' cannot be represented in Zarr v2",
              type.name);
}

Json V2FillOf(const FillBytes& fill, const DataType& type, char byte_order) {
  switch (type.kind) {
    case DataKind::kRaw:
    case DataKind::kNarrowInt:
    case DataKind::kNarrowUint:
    case DataKind::kNarrowFloat:
    case DataKind::kNarrowComplex:
    case DataKind::kStruct: {
      FillBytes stored = fill;
      if (byte_order == '>') ReverseByteOrder(stored, type);
      return EncodeBase64(stored);
    }
    case DataKind::kNullTerminatedBytes:
      return EncodeBase64(fill);  // with trailing zeros, because tensorstore needs the whole item
    case DataKind::kBytes:
      return nullptr;
    case DataKind::kDatetime: {
      const Json integer = FillValueToV3(fill, type);
      if (type.time_unit != "generic") return integer;
      // numpy cannot make a point in time from an integer without a unit.
      return integer == std::numeric_limits<int64_t>::min() ? Json("NaT") : Json();
    }
    case DataKind::kComplex: {
      Json parts = FillValueToV3(fill, type);
      for (Json& part : parts) part = PlainFloat(std::move(part));
      return parts;
    }
    default:
      return PlainFloat(FillValueToV3(fill, type));
  }
}

}  // namespace zarrfs
