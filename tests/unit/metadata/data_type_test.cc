#include "zarrcore/metadata/data_type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {
namespace {

DataType Type(std::string_view json) {
  auto type = ParseDataType(*ParseJson(json, "k"), "k");
  EXPECT_TRUE(type) << (type ? "" : type.error().message);
  return type ? *type : DataType{};
}

DataType Named(std::string_view name) { return Type(fmt::format("\"{}\"", name)); }

Error RefusedType(std::string_view json) {
  const auto type = ParseDataType(*ParseJson(json, "k"), "k");
  EXPECT_FALSE(type) << json;
  return type ? Error{ErrorCode::kNotFound, ""} : type.error();
}

/// The element as hex digits, least significant byte first.
std::string Fill(std::string_view json, const DataType& type) {
  const auto fill = ParseFillValue(*ParseJson(json, "k"), type, "k");
  if (!fill) return fill.error().code == ErrorCode::kDamaged ? "damaged" : "wrong code";
  std::string hex;
  for (const std::byte byte : *fill) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}
std::string Fill(std::string_view json, std::string_view type) { return Fill(json, Named(type)); }

/// The v3 spelling of what `json` means.
std::string Rewritten(std::string_view json, std::string_view type) {
  const auto fill = ParseFillValue(*ParseJson(json, "k"), Named(type), "k");
  EXPECT_TRUE(fill) << (fill ? "" : fill.error().message);
  return fill ? FillValueToV3(*fill, Named(type)).dump() : "";
}

TEST(DataType, CoreTypesHaveTheirSizes) {
  const std::vector<std::tuple<const char*, DataKind, size_t, size_t>> types = {
      {"bool", DataKind::kBool, 1, 1},
      {"int8", DataKind::kInt, 1, 1},
      {"int64", DataKind::kInt, 8, 8},
      {"uint16", DataKind::kUint, 2, 2},
      {"float16", DataKind::kFloat, 2, 2},
      {"float64", DataKind::kFloat, 8, 8},
      {"complex64", DataKind::kComplex, 8, 4},
      {"complex128", DataKind::kComplex, 16, 8},
      {"r8", DataKind::kRaw, 1, 1},
      {"r24", DataKind::kRaw, 3, 1},
      {"r524288", DataKind::kRaw, 65536, 1},
      {"bfloat16", DataKind::kOther, 0, 1},
      {"raw", DataKind::kOther, 0, 1},
      {"r", DataKind::kOther, 0, 1}};
  for (const auto& [name, kind, size, unit] : types) {
    const DataType type = Named(name);
    EXPECT_EQ(type.name, name);
    EXPECT_EQ(type.kind, kind) << name;
    EXPECT_EQ(type.item_size, size) << name;
    EXPECT_EQ(type.byte_order_unit(), unit) << name;
    EXPECT_EQ(type.is_core(), kind != DataKind::kOther) << name;
  }
}

TEST(DataType, OtherSpellingsGetTheCoreName) {
  EXPECT_EQ(Named("complex_float32").name, "complex64");
  EXPECT_EQ(Named("complex_float64").name, "complex128");
  EXPECT_EQ(Type(R"({"name":"int32"})").name, "int32");
  EXPECT_EQ(Type(R"({"name":"int32","configuration":{}})").kind, DataKind::kInt);
  const DataType raw = Type(R"({"name":"raw_bytes","configuration":{"length_bytes":2}})");
  EXPECT_EQ(raw.name, "r16");
  EXPECT_EQ(raw.item_size, 2U);
  EXPECT_EQ(raw.document["name"], "raw_bytes");
}

TEST(DataType, ExtensionTypeIsKnownByNameAndKeepsItsDocument) {
  const DataType type =
      Type(R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}})");
  EXPECT_EQ(type.name, "numpy.datetime64");
  EXPECT_FALSE(type.is_core());
  EXPECT_EQ(type.document["configuration"]["unit"], "s");
}

TEST(DataType, WhatIsNoDataTypeIsDamaged) {
  for (const char* json :
       {"1", "null", "[]", "{}", "\"\"", "\"r7\"", "\"r0\"", "\"r08\"", "NaN", R"({"name":1})",
        R"({"name":"int32","configuration":1})", "\"raw_bytes\"",
        R"({"name":"raw_bytes","configuration":{"length_bytes":0}})",
        R"({"name":"raw_bytes","configuration":{"length_bytes":-1}})"}) {
    EXPECT_EQ(RefusedType(json).code, ErrorCode::kDamaged) << json;
  }
}

TEST(DataType, WhatACoreTypeDoesNotHaveIsUnsupported) {
  for (const char* json :
       {R"({"name":"int32","configuration":{"endian":"big"}})",
        R"({"name":"int32","endian":"big"})", "\"r524296\"", "\"r99999999999999999999999999\"",
        R"({"name":"raw_bytes","configuration":{"length_bytes":65537}})"}) {
    EXPECT_EQ(RefusedType(json).code, ErrorCode::kUnsupported) << json;
  }
}

TEST(FillValue, IntegersAreExactAndInRange) {
  EXPECT_EQ(Fill("258", "uint16"), "0201");
  EXPECT_EQ(Fill("-2", "int32"), "feffffff");
  EXPECT_EQ(Fill("18446744073709551615", "uint64"), "ffffffffffffffff");
  EXPECT_EQ(Fill("9223372036854775807", "int64"), "ffffffffffffff7f");
  EXPECT_EQ(Fill("-9223372036854775808", "int64"), "0000000000000080");
  EXPECT_EQ(Fill("-128", "int8"), "80");
  EXPECT_EQ(Fill("3.0", "int32"), "03000000");
  EXPECT_EQ(Fill("-3.0", "int32"), "fdffffff");
  for (const auto& [json, type] :
       std::vector<std::pair<const char*, const char*>>{{"256", "uint8"},
                                                        {"-1", "uint8"},
                                                        {"128", "int8"},
                                                        {"-129", "int8"},
                                                        {"9223372036854775808", "int64"},
                                                        {"18446744073709551616", "uint64"},
                                                        {"9007199254740994.0", "int64"},
                                                        {"3.5", "int32"},
                                                        {"1e300", "int64"},
                                                        {"NaN", "int32"},
                                                        {"\"3\"", "int32"},
                                                        {"\"0x1\"", "int32"},
                                                        {"true", "int32"},
                                                        {"[3]", "int32"},
                                                        {"{}", "int32"}}) {
    EXPECT_EQ(Fill(json, type), "damaged") << json << " " << type;
  }
}

TEST(FillValue, BoolIsAlsoZeroOrOne) {
  EXPECT_EQ(Fill("true", "bool"), "01");
  EXPECT_EQ(Fill("false", "bool"), "00");
  EXPECT_EQ(Fill("1", "bool"), "01");
  EXPECT_EQ(Fill("0", "bool"), "00");
  EXPECT_EQ(Fill("2", "bool"), "damaged");
  EXPECT_EQ(Fill("\"true\"", "bool"), "damaged");
}

TEST(FillValue, FloatNumbersAreTheNearestOfTheType) {
  EXPECT_EQ(Fill("1", "float32"), "0000803f");
  EXPECT_EQ(Fill("0.1", "float32"), "cdcccc3d");
  EXPECT_EQ(Fill("0.1", "float64"), "9a9999999999b93f");
  EXPECT_EQ(Fill("-0.0", "float32"), "00000080");
  EXPECT_EQ(Fill("-0.0", "float16"), "0080");
  EXPECT_EQ(Fill("1e-45", "float32"), "01000000");
  EXPECT_EQ(Fill("3.4028234663852886e38", "float32"), "ffff7f7f");
}

TEST(FillValue, Float16RoundsToNearestEven) {
  EXPECT_EQ(Fill("1", "float16"), "003c");
  EXPECT_EQ(Fill("-2.5", "float16"), "00c1");
  EXPECT_EQ(Fill("65504", "float16"), "ff7b");
  EXPECT_EQ(Fill("65519.99", "float16"), "ff7b");
  EXPECT_EQ(Fill("2049", "float16"), "0068");             // tie, down to even
  EXPECT_EQ(Fill("2051", "float16"), "0268");             // tie, up to even
  EXPECT_EQ(Fill("4095.5", "float16"), "006c");           // carries into the exponent
  EXPECT_EQ(Fill("6.103515625e-05", "float16"), "0004");  // smallest normal
  EXPECT_EQ(Fill("6.1e-05", "float16"), "ff03");          // largest subnormal
  EXPECT_EQ(Fill("5.960464477539063e-08", "float16"), "0100");
  EXPECT_EQ(Fill("2.9802322387695312e-08", "float16"), "0000");  // tie, to zero
  EXPECT_EQ(Fill("1e-300", "float16"), "0000");
}

TEST(FillValue, FiniteNumbersBeyondTheTypeAreDamaged) {
  EXPECT_EQ(Fill("65520", "float16"), "damaged");
  EXPECT_EQ(Fill("3.4028235677973366e38", "float32"), "damaged");
  EXPECT_EQ(Fill("-1e39", "float32"), "damaged");
}

TEST(FillValue, NanAndInfinityHaveManySpellings) {
  EXPECT_EQ(Fill("\"NaN\"", "float32"), "0000c07f");
  EXPECT_EQ(Fill("NaN", "float32"), "0000c07f");
  EXPECT_EQ(Fill("\"NaN\"", "float16"), "007e");
  EXPECT_EQ(Fill("\"NaN\"", "float64"), "000000000000f87f");
  EXPECT_EQ(Fill("\"Infinity\"", "float32"), "0000807f");
  EXPECT_EQ(Fill("\"+Infinity\"", "float32"), "0000807f");
  EXPECT_EQ(Fill("Infinity", "float16"), "007c");
  EXPECT_EQ(Fill("\"-Infinity\"", "float64"), "000000000000f0ff");
  EXPECT_EQ(Fill("-Infinity", "float16"), "00fc");
}

TEST(FillValue, BitsOfAFloat) {
  EXPECT_EQ(Fill("\"0x7fc00001\"", "float32"), "0100c07f");
  EXPECT_EQ(Fill("\"0x7FC00001\"", "float32"), "0100c07f");
  EXPECT_EQ(Fill("\"0x7f\"", "float32"), "7f000000");
  EXPECT_EQ(Fill("\"0b01111111110000000000000000000001\"", "float32"), "0100c07f");
  EXPECT_EQ(Fill("\"0x3c00\"", "float16"), "003c");
  EXPECT_EQ(Fill("\"0xfff8000000000001\"", "float64"), "010000000000f8ff");
  for (const char* json : {"\"0x\"", "\"0x7fc000011\"", "\"0xg\"", "\"0x-1\"", "\"0X7f\"",
                           "\"0b2\"", "\"0b\"", "\"0x 1\"", "\"7fc00001\""}) {
    EXPECT_EQ(Fill(json, "float32"), "damaged") << json;
  }
}

TEST(FillValue, FloatRefusesOtherText) {
  for (const char* json : {"\"1.5\"", "\"\"", "\"nan\"", "true", "[1]", "{}", "\"-NaN\""}) {
    EXPECT_EQ(Fill(json, "float32"), "damaged") << json;
  }
}

TEST(FillValue, ComplexIsTwoFloatsOrOneNumber) {
  EXPECT_EQ(Fill("[1.5, \"NaN\"]", "complex64"), "0000c03f0000c07f");
  EXPECT_EQ(Fill("[\"0x7fc00001\", -0.0]", "complex_float32"), "0100c07f00000080");
  EXPECT_EQ(Fill("1.5", "complex64"), "0000c03f00000000");
  EXPECT_EQ(Fill("[0, 1]", "complex128"), "0000000000000000000000000000f03f");
  for (const char* json : {"[1]", "[1,2,3]", "[1,null]", "\"1\"", "[1,\"x\"]", "[1e39,0]", "{}"}) {
    EXPECT_EQ(Fill(json, "complex64"), "damaged") << json;
  }
}

TEST(FillValue, RawIsAListOfBytesOrBase64) {
  EXPECT_EQ(Fill("[1, 2]", "r16"), "0102");
  EXPECT_EQ(Fill("\"AQI=\"", "r16"), "0102");
  EXPECT_EQ(Fill("\"/w==\"", "r8"), "ff");
  EXPECT_EQ(Fill("\"+/8A\"", "r24"), "fbff00");
  for (const char* json : {"[1]", "[1,2,3]", "[1,256]", "[1,-1]", "\"AQ==\"", "\"AQI\"", "\"A===\"",
                           "\"AQID\"", "\"AQ=I\"", "\"====\"", "0", "\"!!!=\"", "\"\""}) {
    EXPECT_EQ(Fill(json, "r16"), "damaged") << json;
  }
}

TEST(FillValue, NullIsZeroBytes) {
  EXPECT_EQ(Fill("null", "int32"), "00000000");
  EXPECT_EQ(Fill("null", "bool"), "00");
  EXPECT_EQ(Fill("null", "complex64"), "0000000000000000");
  EXPECT_EQ(Fill("null", "r24"), "000000");
}

TEST(FillValue, OfAnExtensionTypeIsNotRead) { EXPECT_EQ(Fill("{\"a\":1}", "string"), ""); }

TEST(FillValue, RefusalNamesValueAndType) {
  const auto fill = ParseFillValue(Json(300), Named("uint8"), "a/zarr.json");
  ASSERT_FALSE(fill);
  EXPECT_EQ(fill.error().message,
            "a/zarr.json: fill_value: expected an integer in range for uint8, found 300");
}

TEST(FillValueToV3, FloatsAreTheShortestDecimalOfTheType) {
  EXPECT_EQ(Rewritten("0.10000000149011612", "float32"), "0.1");
  EXPECT_EQ(Rewritten("0.1", "float64"), "0.1");
  EXPECT_EQ(Rewritten("0.0999755859375", "float16"), "0.0999755859375");
  EXPECT_EQ(Rewritten("65504", "float16"), "65504.0");
  EXPECT_EQ(Rewritten("1e20", "float32"), "1e+20");
  EXPECT_EQ(Rewritten("0", "float32"), "0.0");
  EXPECT_EQ(Rewritten("-0.0", "float32"), "-0.0");
  EXPECT_EQ(Rewritten("-0.0", "float16"), "-0.0");
}

TEST(FillValueToV3, NonFiniteFloats) {
  EXPECT_EQ(Rewritten("NaN", "float32"), "\"NaN\"");
  EXPECT_EQ(Rewritten("\"0x7fc00000\"", "float32"), "\"NaN\"");
  EXPECT_EQ(Rewritten("\"0xffc00000\"", "float32"), "\"0xffc00000\"");
  EXPECT_EQ(Rewritten("\"0x7c01\"", "float16"), "\"0x7c01\"");
  EXPECT_EQ(Rewritten("\"0x7ff0000000000001\"", "float64"), "\"0x7ff0000000000001\"");
  EXPECT_EQ(Rewritten("\"+Infinity\"", "float32"), "\"Infinity\"");
  EXPECT_EQ(Rewritten("\"0xff800000\"", "float32"), "\"-Infinity\"");
}

TEST(FillValueToV3, OtherKinds) {
  EXPECT_EQ(Rewritten("1", "bool"), "true");
  EXPECT_EQ(Rewritten("-5", "int16"), "-5");
  EXPECT_EQ(Rewritten("18446744073709551615", "uint64"), "18446744073709551615");
  EXPECT_EQ(Rewritten("-9223372036854775808", "int64"), "-9223372036854775808");
  EXPECT_EQ(Rewritten("[1.5,\"NaN\"]", "complex64"), "[1.5,\"NaN\"]");
  EXPECT_EQ(Rewritten("\"AQI=\"", "r16"), "[1,2]");
}

// Every float16, and float32 with a stride: written, read, and the same bits again.
TEST(FillValueToV3, ReadsBackToTheSameBits) {
  const DataType half = Named("float16");
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    FillBytes fill(2);
    StoreLittle(fill.data(), static_cast<uint16_t>(bits));
    const auto back = ParseFillValue(FillValueToV3(fill, half), half, "k");
    ASSERT_TRUE(back) << bits;
    ASSERT_EQ(*back, fill) << bits;
  }
  const DataType single = Named("float32");
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 100003) {
    FillBytes fill(4);
    StoreLittle(fill.data(), static_cast<uint32_t>(bits));
    const auto back = ParseFillValue(FillValueToV3(fill, single), single, "k");
    ASSERT_TRUE(back) << bits;
    ASSERT_EQ(*back, fill) << bits;
  }
}

}  // namespace
}  // namespace zarrfs
