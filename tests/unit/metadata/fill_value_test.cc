#include "zarrcore/metadata/fill_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "zarrcore/base/byte_order.h"

namespace zarrfs::fill_value_test {
namespace {

constexpr std::string_view kRecord =
    R"({"name":"struct","configuration":{"fields":[{"name":"a","data_type":"uint8"},
        {"name":"b","data_type":{"name":"struct","configuration":{"fields":[
            {"name":"x","data_type":"int16"},{"name":"y","data_type":"float32"}]}}}]}})";

DataType Type(std::string_view json) {
  auto type = ParseDataType(*ParseJson(json, "k"), "k");
  EXPECT_TRUE(type) << (type ? "" : type.error().message);
  return type ? *type : DataType{};
}

DataType Named(std::string_view name) { return Type(fmt::format("\"{}\"", name)); }

std::string HexOf(const FillBytes& fill) {
  std::string hex;
  for (const std::byte byte : fill) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return hex;
}

/// The element as hex digits, least significant byte first.
std::string Fill(std::string_view json, const DataType& type) {
  const auto fill = ParseFillValue(*ParseJson(json, "k"), type, "k");
  if (!fill) return fill.error().code == ErrorCode::kDamaged ? "damaged" : "wrong code";
  return HexOf(*fill);
}
std::string Fill(std::string_view json, std::string_view type) { return Fill(json, Named(type)); }

/// The v3 spelling of the fill value `json`.
std::string Rewritten(std::string_view json, std::string_view type) {
  const auto fill = ParseFillValue(*ParseJson(json, "k"), Named(type), "k");
  EXPECT_TRUE(fill) << (fill ? "" : fill.error().message);
  return fill ? FillValueToV3(*fill, Named(type)).dump() : "";
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

TEST(FillValue, OfAnUnknownTypeIsNotRead) { EXPECT_EQ(Fill("{\"a\":1}", "unheard_of"), ""); }

TEST(FillValue, NarrowIntegersLeaveUnusedBitsZero) {
  EXPECT_EQ(Fill("-2", "int2"), "02");
  EXPECT_EQ(Fill("1", "int2"), "01");
  EXPECT_EQ(Fill("-8", "int4"), "08");
  EXPECT_EQ(Fill("3", "uint2"), "03");
  EXPECT_EQ(Fill("15", "uint4"), "0f");
  for (const auto& [json, type] :
       std::vector<std::pair<const char*, const char*>>{{"2", "int2"},
                                                        {"-3", "int2"},
                                                        {"8", "int4"},
                                                        {"4", "uint2"},
                                                        {"16", "uint4"},
                                                        {"-1", "uint4"}}) {
    EXPECT_EQ(Fill(json, type), "damaged") << json << " " << type;
  }
}

TEST(FillValue, NarrowFloats) {
  EXPECT_EQ(Fill("1.5", "bfloat16"), "c03f");
  EXPECT_EQ(Fill("\"NaN\"", "bfloat16"), "c07f");
  EXPECT_EQ(Fill("\"0x7fc1\"", "bfloat16"), "c17f");
  EXPECT_EQ(Fill("\"-Infinity\"", "bfloat16"), "80ff");
  EXPECT_EQ(Fill("1", "float8_e4m3"), "38");
  EXPECT_EQ(Fill("\"0x7c\"", "float8_e4m3"), "7c");
  EXPECT_EQ(Fill("\"0b01\"", "float8_e4m3"), "01");
  EXPECT_EQ(Fill("6", "float4_e2m1fn"), "07");
  EXPECT_EQ(Fill("\"0x0f\"", "float4_e2m1fn"), "0f");
  for (const auto& [json, type] :
       std::vector<std::pair<const char*, const char*>>{{"\"0x10\"", "float4_e2m1fn"},
                                                        {"\"NaN\"", "float6_e2m3fn"},
                                                        {"\"Infinity\"", "float8_e5m2fnuz"},
                                                        {"\"0x100\"", "float8_e4m3"},
                                                        {"1e39", "bfloat16"},
                                                        {"-1", "float8_e8m0fnu"}}) {
    EXPECT_EQ(Fill(json, type), "damaged") << json << " " << type;
  }
}

TEST(FillValue, ComplexOfNarrowFloats) {
  EXPECT_EQ(Fill("[1, -2]", "complex_float16"), "003c00c0");
  EXPECT_EQ(Fill("[1.5, \"NaN\"]", "complex_bfloat16"), "c03fc07f");
  EXPECT_EQ(Fill("1", "complex_float8_e5m2"), "3c00");
}

TEST(FillValue, DatesAreIntegersOrNotATime) {
  const DataType type =
      Type(R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}})");
  EXPECT_EQ(Fill("1", type), "0100000000000000");
  EXPECT_EQ(Fill("-9223372036854775808", type), "0000000000000080");
  EXPECT_EQ(Fill("\"NaT\"", type), "0000000000000080");
  for (const char* json : {"\"NaN\"", "NaN", "1.5", "9223372036854775808", "\"1970-01-01\""}) {
    EXPECT_EQ(Fill(json, type), "damaged") << json;
  }
}

TEST(FillValue, TextOfAFixedLengthIsPaddedOrCut) {
  const DataType utf32 =
      Type(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":8}})");
  EXPECT_EQ(Fill(R"("")", utf32), "0000000000000000");
  EXPECT_EQ(Fill(R"("a")", utf32), "6100000000000000");
  EXPECT_EQ(Fill(R"("\u00e9\u65e5")", utf32), "e9000000e5650000");
  EXPECT_EQ(Fill(R"("\ud83d\ude00xy")", utf32), "00f6010078000000");
  EXPECT_EQ(Fill("1", utf32), "damaged");
  EXPECT_EQ(Fill("NaN", utf32), "damaged");
  const DataType bytes =
      Type(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":3}})");
  EXPECT_EQ(Fill(R"("")", bytes), "000000");
  EXPECT_EQ(Fill(R"("YWI=")", bytes), "616200");
  EXPECT_EQ(Fill(R"("YWJjZA==")", bytes), "616263");
  EXPECT_EQ(Fill("[97]", bytes), "610000");
  EXPECT_EQ(Fill(R"("ab")", bytes), "damaged");
}

TEST(FillValue, TextAndBytesOfAnyLength) {
  EXPECT_EQ(Fill(R"("\u00e9x")", "string"), "c3a978");
  EXPECT_EQ(Fill(R"("")", "string"), "");
  EXPECT_EQ(Fill("0", "string"), "damaged");
  EXPECT_EQ(Fill("NaN", "string"), "damaged");
  for (const char* name : {"bytes", "variable_length_bytes", "binary"}) {
    EXPECT_EQ(Fill(R"("AQID")", name), "010203");
    EXPECT_EQ(Fill("[1, 2]", name), "0102");
    EXPECT_EQ(Fill("[]", name), "");
    EXPECT_EQ(Fill(R"("?")", name), "damaged");
    EXPECT_EQ(Fill("[256]", name), "damaged");
  }
}

TEST(FillValue, StructIsAnObjectOrBase64) {
  const DataType type = Type(kRecord);
  EXPECT_EQ(Fill(R"({"a":1,"b":{"x":-2,"y":"NaN"}})", type), "01feff0000c07f");
  EXPECT_EQ(Fill(R"({"b":{"y":0.5,"x":258},"a":null})", type), "0002010000003f");
  EXPECT_EQ(Fill(R"("Af7/AADAfw==")", type), "01feff0000c07f");
  EXPECT_EQ(Fill("null", type), "00000000000000");
  for (const char* json :
       {"0", "{}", R"({"a":1})", R"({"a":1,"b":{"x":0,"y":0},"c":0})", R"("AQ==")",
        R"({"a":1,"c":{"x":0,"y":0}})", R"({"a":1,"b":{"x":0,"y":[]}})", "[1,[2,3]]",
        R"({"a":256,"b":{"x":0,"y":0}})", "NaN"}) {
    EXPECT_EQ(Fill(json, type), "damaged") << json;
  }
}

TEST(FillValue, StructOfManyFieldsIsReadAndWritten) {
  constexpr size_t kFields = 3000;
  std::string fields;
  std::string values;
  for (size_t i = 0; i < kFields; ++i) {
    fields += fmt::format(R"({}["{}","uint8"])", i == 0 ? "" : ",", i);
    values += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", kFields - 1 - i, i % 251);
  }
  const DataType type =
      Type(fmt::format(R"({{"name":"struct","configuration":{{"fields":[{}]}}}})", fields));
  const auto fill = ParseFillValue(*ParseJson("{" + values + "}", "k"), type, "k");
  ASSERT_TRUE(fill);
  EXPECT_EQ((*fill)[0], static_cast<std::byte>((kFields - 1) % 251));
  EXPECT_EQ(FillValueToV3(*fill, type).size(), kFields);
}

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

TEST(FillValueToV3, ExtensionTypes) {
  EXPECT_EQ(Rewritten("-2", "int4"), "-2");
  EXPECT_EQ(Rewritten("15", "uint4"), "15");
  EXPECT_EQ(Rewritten("0.1", "bfloat16"), "0.10009765625");
  EXPECT_EQ(Rewritten("\"0x7fc1\"", "bfloat16"), "\"0x7fc1\"");
  EXPECT_EQ(Rewritten("\"0xff\"", "float8_e8m0fnu"), "\"NaN\"");
  EXPECT_EQ(Rewritten("[1, \"Infinity\"]", "complex_float8_e5m2"), "[1.0,\"Infinity\"]");
  EXPECT_EQ(Rewritten(R"("\u65e5")", "string"), "\"\u65e5\"");
  EXPECT_EQ(Rewritten("[1,2]", "binary"), "\"AQI=\"");
  const auto rewritten = [](std::string_view json, const DataType& type) {
    const auto fill = ParseFillValue(*ParseJson(json, "k"), type, "k");
    return fill ? FillValueToV3(*fill, type).dump() : fill.error().message;
  };
  EXPECT_EQ(
      rewritten("\"NaT\"", Type(R"({"name":"numpy.timedelta64","configuration":{"unit":"s"}})")),
      "-9223372036854775808");
  EXPECT_EQ(rewritten(R"("z\u00e9\u65e5\ud83d\ude00")",
                      Type(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":24}})")),
            "\"z\u00e9\u65e5\U0001f600\"");
  EXPECT_EQ(
      rewritten("[97,0]",
                Type(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":9}})")),
      "\"YQ==\"");
  // The upper bits of narrow numbers are ignored.
  EXPECT_EQ(rewritten(R"("/f35")", Type(R"({"name":"struct","configuration":{"fields":[
                ["i","int4"],["u","uint2"],["f","float4_e2m1fn"]]}})")),
            R"({"i":-3,"u":1,"f":-0.5})");
  EXPECT_EQ(rewritten(R"("Af7/AADAfw==")", Type(kRecord)), R"({"a":1,"b":{"x":-2,"y":"NaN"}})");
}

// Writes and reads every float16, and every 100,003rd float32.
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

/// The element that the attribute `json` states, as hex digits.
std::string Attribute(std::string_view json, const DataType& type) {
  const auto fill = DecodeFillAttribute(*ParseJson(json, "k"), type);
  return fill ? HexOf(*fill) : "unusable";
}
std::string Attribute(std::string_view json, std::string_view type) {
  return Attribute(json, Named(type));
}

TEST(FillAttribute, FloatsHaveManySpellings) {
  for (const char* json : {"1.5", "[1.5]", "\"1.5\"", "\"AAAAAAAA+D8=\"", "[\"AAAAAAAA+D8=\"]"}) {
    EXPECT_EQ(Attribute(json, "float32"), "0000c03f") << json;
    EXPECT_EQ(Attribute(json, "float64"), "000000000000f83f") << json;
    EXPECT_EQ(Attribute(json, "bfloat16"), "c03f") << json;
  }
  for (const char* json : {"NaN", "\"NaN\"", "[\"NaN\"]", "\"AAAAAAAA+H8=\""}) {
    EXPECT_EQ(Attribute(json, "float32"), "0000c07f") << json;
  }
  EXPECT_EQ(Attribute("\"-Infinity\"", "float32"), "000080ff");
  EXPECT_EQ(Attribute("\"-9.99e2\"", "float32"), "00c079c4");
  EXPECT_EQ(Attribute("1e20", "float32"), "ec78ad60");
  EXPECT_EQ(Attribute("-9999", "float32"), "003c1cc6");
}

TEST(FillAttribute, UnusableFloats) {
  for (const char* json :
       {"\"nan\"", "\"inf\"", "\"0x7fc00000\"", "\"\"", "\"missing\"", "\"1.5 \"", "\"1e999\"",
        "\"AADAPw==\"", "true", "null", "[]", "[1,2]", "[[1]]", "{}", "1e39"}) {
    EXPECT_EQ(Attribute(json, "float32"), "unusable") << json;
  }
}

TEST(FillAttribute, ComplexIsTwoFloats) {
  EXPECT_EQ(Attribute("[1.5, \"NaN\"]", "complex64"), "0000c03f0000c07f");
  EXPECT_EQ(Attribute("[[\"AAAAAAAA+D8=\", 0]]", "complex64"), "0000c03f00000000");
  for (const char* json : {"1.5", "[1.5]", "[1,2,3]", "[1,\"x\"]"}) {
    EXPECT_EQ(Attribute(json, "complex64"), "unusable") << json;
  }
}

TEST(FillAttribute, IntegersAreIntegralAndInRange) {
  EXPECT_EQ(Attribute("-1", "int16"), "ffff");
  EXPECT_EQ(Attribute("[-9999.0]", "int16"), "f1d8");
  EXPECT_EQ(Attribute("18446744073709551615", "uint64"), "ffffffffffffffff");
  EXPECT_EQ(Attribute("true", "bool"), "01");
  EXPECT_EQ(Attribute("0", "bool"), "00");
  for (const auto& [json, type] :
       std::vector<std::pair<const char*, const char*>>{{"-1", "uint8"},
                                                        {"256", "uint8"},
                                                        {"1.5", "int32"},
                                                        {"NaN", "int32"},
                                                        {"\"1\"", "int32"},
                                                        {"2", "bool"},
                                                        {"null", "int32"}}) {
    EXPECT_EQ(Attribute(json, type), "unusable") << json << " " << type;
  }
}

TEST(FillAttribute, TextBytesAndDates) {
  EXPECT_EQ(
      Attribute("\"YQ==\"",
                Type(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":2}})")),
      "6100");
  EXPECT_EQ(Attribute("\"YQ==\"", "variable_length_bytes"), "61");
  EXPECT_EQ(Attribute("\"YQ==\"", "string"), "59513d3d");
  EXPECT_EQ(Attribute("\"a\"",
                      Type(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":4}})")),
            "61000000");
  const DataType date =
      Type(R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}})");
  EXPECT_EQ(Attribute("-1", date), "ffffffffffffffff");
  EXPECT_EQ(Attribute("\"NaT\"", date), "0000000000000080");
  EXPECT_EQ(Attribute("1", "string"), "unusable");
  EXPECT_EQ(Attribute("[1, 2]", "bytes"), "unusable");
  EXPECT_EQ(Attribute("\"AQ==\"", "r8"), "unusable");
  EXPECT_EQ(Attribute("{}", "unheard_of"), "unusable");
}

}  // namespace
}  // namespace zarrfs::fill_value_test
