#include "zarrcore/view/v2_types.h"

#include <gtest/gtest.h>

#include <string>

namespace zarrfs::v2_types_test {
namespace {

// Short names for what takes long to write.
DataType Type(std::string_view spelling) {
  std::string json(spelling);
  if (spelling.starts_with('U')) {
    json = fmt::format(R"({{"name":"fixed_length_utf32","configuration":{{"length_bytes":{}}}}})",
                       4 * std::stoi(json.substr(1)));
  } else if (spelling.starts_with('S')) {
    json =
        fmt::format(R"({{"name":"null_terminated_bytes","configuration":{{"length_bytes":{}}}}})",
                    spelling.substr(1));
  } else if (spelling.starts_with("M8") || spelling.starts_with("m8")) {
    json = fmt::format(R"({{"name":"numpy.{}64","configuration":{}}})",
                       spelling[0] == 'M' ? "datetime" : "timedelta", spelling.substr(2));
  } else if (!spelling.starts_with('{')) {
    json = fmt::format("\"{}\"", spelling);
  }
  const auto type = ParseDataType(*ParseJson(json, "k"), "k");
  EXPECT_TRUE(type) << type.error().message;
  return *type;
}

std::string V2Type(std::string_view spelling, char byte_order) {
  const auto v2 = V2TypeOf(Type(spelling), byte_order);
  return v2 ? v2->dump() : v2.error().message;
}

std::string V2Fill(std::string_view json, std::string_view spelling, char byte_order = '<') {
  const auto fill = ParseFillValue(*ParseJson(json, "k"), Type(spelling), "k");
  return fill ? V2FillOf(*fill, Type(spelling), byte_order).dump() : fill.error().message;
}

constexpr std::string_view kRecord =
    R"({"name":"struct","configuration":{"fields":[{"name":"id","data_type":"uint8"},
        {"name":"at","data_type":{"name":"struct","configuration":{"fields":[
            {"name":"x","data_type":"float32"},{"name":"s","data_type":
                {"name":"fixed_length_utf32","configuration":{"length_bytes":8}}}]}}},
        {"name":"b","data_type":"bfloat16"}]}})";

TEST(V2Type, NumpySpellings) {
  const struct {
    std::string_view type, little, big;
  } cases[] = {
      {"bool", R"("|b1")", R"("|b1")"},
      {"int8", R"("|i1")", R"("|i1")"},
      {"uint64", R"("<u8")", R"(">u8")"},
      {"float16", R"("<f2")", R"(">f2")"},
      {"complex_float32", R"("<c8")", R"(">c8")"},
      {"r24", R"("|V3")", R"("|V3")"},
      {"U4", R"("<U4")", R"(">U4")"},
      {"S3", R"("|S3")", R"("|S3")"},
      {R"(M8{"unit":"s","scale_factor":1})", R"("<M8[s]")", R"(">M8[s]")"},
      {R"(m8{"unit":"μs","scale_factor":10})", R"("<m8[10us]")", R"(">m8[10us]")"},
      {R"(M8{"unit":"generic","scale_factor":1})", R"("<M8")", R"(">M8")"},
      {"string", R"("|O")", R"("|O")"},
      {"bytes", R"("|O")", R"("|O")"},
      {"binary", R"("|O")", R"("|O")"},
  };
  for (const auto& [type, little, big] : cases) {
    EXPECT_EQ(V2Type(type, '<'), little);
    EXPECT_EQ(V2Type(type, '>'), big);
  }
}

TEST(V2Type, WhatNumpyDoesNotHaveIsOpaqueBytes) {
  for (const char* one_byte : {"int2", "uint4", "float8_e4m3", "float6_e2m3fn", "float4_e2m1fn"}) {
    EXPECT_EQ(V2Type(one_byte, '>'), R"("|V1")") << one_byte;
  }
  EXPECT_EQ(V2Type("bfloat16", '>'), R"("|V2")");
  EXPECT_EQ(V2Type("complex_float8_e5m2", '<'), R"("|V2")");
  EXPECT_EQ(V2Type("complex_float16", '<'), R"("|V4")");
}

TEST(V2Type, StructIsAListOfFields) {
  EXPECT_EQ(V2Type(kRecord, '<'), R"([["id","|u1"],["at",[["x","<f4"],["s","<U2"]]],["b","|V2"]])");
  EXPECT_EQ(V2Type(kRecord, '>'), R"([["id","|u1"],["at",[["x",">f4"],["s",">U2"]]],["b","|V2"]])");
}

TEST(V2Type, UnknownTypeIsRefusedByName) {
  EXPECT_EQ(V2Type("unheard_of", '<'), "data type 'unheard_of' cannot be represented in Zarr v2");
}

TEST(V2Fill, NumbersAreThoseOfTheTypedValue) {
  const struct {
    std::string_view type, v3, v2;
  } cases[] = {{"bool", "1", "true"},
               {"int64", "-9223372036854775808", "-9223372036854775808"},
               {"uint64", "18446744073709551615", "18446744073709551615"},
               {"int16", "3.0", "3"},
               {"float32", "0.1", "0.1"},
               {"float64", "-0.0", "-0.0"},
               {"float64", R"("+Infinity")", R"("Infinity")"},
               {"float32", R"("0x7fc00001")", R"("NaN")"},
               {"float32", R"("0x3f800000")", "1.0"},
               {"complex64", R"(["0x7fc00001", 0.0])", R"(["NaN",0.0])"}};
  for (const auto& [type, v3, v2] : cases) EXPECT_EQ(V2Fill(v3, type), v2) << type << " " << v3;
}

TEST(V2Fill, DatesAreIntegers) {
  constexpr std::string_view kType = R"(M8{"unit":"s","scale_factor":1})";
  EXPECT_EQ(V2Fill(R"("NaT")", kType, '>'), "-9223372036854775808");
  EXPECT_EQ(V2Fill("7", kType, '>'), "7");
  EXPECT_EQ(V2Fill("7", R"(m8{"unit":"generic","scale_factor":1})"), "7");
}

// numpy: "Converting an integer to a NumPy datetime requires a specified unit".
TEST(V2Fill, PointInTimeWithoutAUnitIsNoInteger) {
  constexpr std::string_view kType = R"(M8{"unit":"generic","scale_factor":1})";
  EXPECT_EQ(V2Fill("-9223372036854775808", kType), R"("NaT")");
  EXPECT_EQ(V2Fill("7", kType), "null");
}

TEST(V2Fill, TextStaysAndBytesAreBase64) {
  EXPECT_EQ(V2Fill(R"("aé日")", "U2", '>'), R"("aé")");
  EXPECT_EQ(V2Fill(R"("YWI=")", "S3", '>'), R"("YWIA")") << "all bytes, as tensorstore wants";
  EXPECT_EQ(V2Fill(R"("aé")", "string"), R"("aé")");
  EXPECT_EQ(V2Fill(R"("")", "string"), R"("")");
  EXPECT_EQ(V2Fill(R"("YWI=")", "bytes"), "null");
}

TEST(V2Fill, OpaqueBytesAreAsTheyLieInAChunk) {
  EXPECT_EQ(V2Fill("[1, 2, 3]", "r24", '>'), R"("AQID")");
  EXPECT_EQ(V2Fill("-1", "int4"), R"("Dw==")");
  EXPECT_EQ(V2Fill("1.5", "bfloat16", '<'), R"("wD8=")");
  EXPECT_EQ(V2Fill("1.5", "bfloat16", '>'), R"("P8A=")");
  EXPECT_EQ(V2Fill("[1, -2]", "complex_float16", '>'), R"("PADAAA==")");
}

TEST(V2Fill, StructIsBase64InTheByteOrderOfTheArray) {
  constexpr std::string_view kFill = R"({"id":1,"at":{"x":1.5,"s":"a"},"b":1.5})";
  EXPECT_EQ(V2Fill(kFill, kRecord, '<'), R"("AQAAwD9hAAAAAAAAAMA/")");
  EXPECT_EQ(V2Fill(kFill, kRecord, '>'), R"("AT/AAAAAAABhAAAAAD/A")");
}

}  // namespace
}  // namespace zarrfs::v2_types_test
