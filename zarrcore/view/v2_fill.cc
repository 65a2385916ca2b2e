#include "zarrcore/view/v2_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "zarrcore/view/v2_attributes.h"
#include "zarrcore/view/v2_types.h"

namespace zarrfs {
namespace {

constexpr const char* kFillAttribute = "_FillValue";

bool IsNan(const FillBytes& fill, const DataType& type) {
  if (type.kind != DataKind::kFloat) return false;
  const Json json = FillValueToV3(fill, type);
  // A string with hexadecimal digits is a NaN with a payload, because infinities have names.
  return json == "NaN" ||
         (json.is_string() && json.get_ref<const std::string&>().starts_with("0x"));
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool HasFiniteParts(const FillBytes& fill, const DataType& type) {
  const Json parts = FillValueToV3(fill, type);
  return std::ranges::all_of(parts, [](const Json& part) {
    return part.is_number() && !std::signbit(part.get<double>() == 0 ? part.get<double>() : 1.0);
  });
}

bool IsText(const DataType& type) {
  return type.kind == DataKind::kFixedLengthUtf32 || type.kind == DataKind::kNullTerminatedBytes;
}

// Converts a fill value to the attribute _FillValue. NaN and infinities become bare literals, so
// readers see numbers, not strings.
Json Attribute(const FillBytes& fill, const DataType& type) {
  Json json = V2FillOf(fill, type, '<');
  if (type.kind == DataKind::kFloat && json.is_string()) {
    return *ParseJson(json.get_ref<const std::string&>(), kFillAttribute);
  }
  return json;
}

// Returns the "fill_value" of .zarray for `value`; null if the reader cannot parse that value.
Json Emit(const FillBytes& value, const DataType& type, char byte_order,
          const ReaderProfile& profile) {
  Json json = V2FillOf(value, type, byte_order);
  if (type.kind == DataKind::kComplex && !profile.takes_complex_fill) {
    if (!IsZero(std::span(value).subspan(value.size() / 2))) return nullptr;
    return json[0];
  }
  if (type.kind == DataKind::kFixedLengthUtf32 && !profile.takes_text_fill && !IsZero(value)) {
    return nullptr;
  }
  if (!profile.takes_all_uint64_fill && json.is_number_unsigned() &&
      json.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return nullptr;
  }
  return json;
}

// Returns the value that the reader uses for missing chunks if .zarray states `fill_value`; nullopt
// if that is unknown. `value`: the value that `fill_value` spells.
std::optional<FillBytes> Understood(const Json& fill_value, const FillBytes& value,
                                    const DataType& type, const ReaderProfile& profile) {
  if (fill_value.is_null()) {
    if (profile.masks_fill || type.item_size == 0 || IsText(type)) return std::nullopt;
    return FillBytes(type.item_size);
  }
  switch (type.kind) {
    case DataKind::kComplex:
      // zarr-python 2 computes re + 1j * im, which differs from the complex number if a part is -0
      // or not finite.
      if (profile.masks_fill && !HasFiniteParts(value, type)) return std::nullopt;
      [[fallthrough]];
    case DataKind::kFloat: {
      // Parses the value as written in the metadata, because a converted NaN may have lost its
      // payload.
      auto parsed = ParseFillValue(fill_value, type, kFillAttribute);
      return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
    }
    default:
      return value;
  }
}

}  // namespace

V2Fill ChooseV2Fill(const FillBytes& fill, const DataType& type, char byte_order,
                    bool has_named_dimensions, const ViewContext& context,
                    const ReaderProfile& profile, Json& attributes) {
  V2Fill choice;
  std::optional<FillBytes> given;
  if (const auto attribute = attributes.find(kFillAttribute); attribute != attributes.end()) {
    given = DecodeFillAttribute(*attribute, type);
    if (!given) {
      choice.notes.push_back(LeftOut(kFillAttribute, *attribute, type.name));
      attributes.erase(kFillAttribute);
    }
  }

  // kKeep must not apply if _FillValue is another value, because missing data would then look like
  // measured numbers, or to booleans, because masking turns them into numbers.
  const bool may_keep = (!given || *given == fill) && type.kind != DataKind::kBool;
  const FillPolicy policy =
      context.fill == FillPolicy::kKeep && !may_keep ? FillPolicy::kAuto : context.fill;
  const bool keeps =
      policy == FillPolicy::kKeep || policy == FillPolicy::kAsStored ||
      (profile.masks_fill && (IsNan(fill, type) || context.below_ome || !has_named_dimensions));
  std::optional<FillBytes> wanted;
  // Readers that take the fill value literally mask nothing, so their .zarray always states the
  // fill value.
  if (policy == FillPolicy::kAuto && given && !profile.takes_fill_literally) {
    wanted = given;
  } else if (profile.takes_fill_literally || (policy != FillPolicy::kMaterialize && keeps)) {
    wanted = fill;
  }
  if (wanted) choice.fill_value = Emit(*wanted, type, byte_order, profile);
  // GDAL rejects null as the fill value of strings. With "", GDAL masks nothing.
  if (!wanted && !profile.masks_fill && IsText(type) && IsZero(fill)) choice.fill_value = "";
  const auto understood = Understood(choice.fill_value, wanted.value_or(fill), type, profile);
  choice.must_make_chunks = understood != fill || policy == FillPolicy::kMaterialize;

  if (given) {
    const bool is_said = wanted == given && !choice.fill_value.is_null();
    if (is_said && !profile.keeps_fill_attribute) {
      attributes.erase(kFillAttribute);
    } else {
      Json plain = Attribute(*given, type);
      if (!plain.is_null()) attributes[kFillAttribute] = std::move(plain);
    }
  }
  return choice;
}

}  // namespace zarrfs
