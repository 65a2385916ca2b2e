#include "zarrcore/metadata/data_type.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <tuple>

namespace zarrfs::data_type_test {
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

TEST(DataType, UnknownTypeIsKnownByNameAndKeepsItsDocument) {
  const DataType type = Type(R"({"name":"optional","configuration":{"name":"uint8"}})");
  EXPECT_EQ(type.name, "optional");
  EXPECT_EQ(type.kind, DataKind::kOther);
  EXPECT_EQ(type.document["configuration"]["name"], "uint8");
}

TEST(DataType, WhatIsNoDataTypeIsDamaged) {
  for (const char* json :
       {"1",
        "null",
        "[]",
        "{}",
        "\"\"",
        "\"r7\"",
        "\"r0\"",
        "\"r08\"",
        "NaN",
        R"({"name":1})",
        R"({"name":"int32","configuration":1})",
        "\"raw_bytes\"",
        R"({"name":"raw_bytes","configuration":{"length_bytes":0}})",
        R"({"name":"raw_bytes","configuration":{"length_bytes":-1}})",
        R"({"name":"fixed_length_utf32","configuration":{"length_bytes":6}})",
        R"({"name":"fixed_length_utf32"})",
        "\"null_terminated_bytes\"",
        R"({"name":"null_terminated_bytes","configuration":{"length_bytes":"3"}})",
        R"({"name":"numpy.datetime64","configuration":{"scale_factor":1}})",
        R"({"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":"1"}})"}) {
    EXPECT_EQ(RefusedType(json).code, ErrorCode::kDamaged) << json;
  }
}

TEST(DataType, WhatACoreTypeDoesNotHaveIsUnsupported) {
  for (const char* json :
       {R"({"name":"int32","configuration":{"endian":"big"}})",
        R"({"name":"int32","endian":"big"})", "\"r134217736\"", "\"r99999999999999999999999999\"",
        R"({"name":"raw_bytes","configuration":{"length_bytes":16777217}})"}) {
    EXPECT_EQ(RefusedType(json).code, ErrorCode::kUnsupported) << json;
  }
}

TEST(DataType, ExtensionTypesHaveTheirSizes) {
  const std::vector<std::tuple<const char*, DataKind, size_t, size_t>> types = {
      {"int2", DataKind::kNarrowInt, 1, 1},
      {"uint4", DataKind::kNarrowUint, 1, 1},
      {"bfloat16", DataKind::kNarrowFloat, 2, 2},
      {"float8_e4m3", DataKind::kNarrowFloat, 1, 1},
      {"float6_e3m2fn", DataKind::kNarrowFloat, 1, 1},
      {"complex_float16", DataKind::kNarrowComplex, 4, 2},
      {"complex_bfloat16", DataKind::kNarrowComplex, 4, 2},
      {"complex_float4_e2m1fn", DataKind::kNarrowComplex, 2, 1},
      {"string", DataKind::kString, 0, 1},
      {"bytes", DataKind::kBytes, 0, 1},
      {"variable_length_bytes", DataKind::kBytes, 0, 1},
      {"binary", DataKind::kBytes, 0, 1},
      {"float8", DataKind::kOther, 0, 1},
      {"complex_int8", DataKind::kOther, 0, 1},
      {"complex_", DataKind::kOther, 0, 1}};
  for (const auto& [name, kind, size, unit] : types) {
    for (const DataType& type : {Named(name), Type(fmt::format(R"({{"name":"{}"}})", name))}) {
      EXPECT_EQ(type.name, name);
      EXPECT_EQ(type.kind, kind) << name;
      EXPECT_EQ(type.item_size, size) << name;
      EXPECT_EQ(type.byte_order_unit(), unit) << name;
      EXPECT_FALSE(type.is_core()) << name;
    }
  }
}

TEST(DataType, TextOfAFixedLength) {
  const DataType utf32 =
      Type(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":16}})");
  EXPECT_EQ(utf32.kind, DataKind::kFixedLengthUtf32);
  EXPECT_EQ(utf32.item_size, 16U);
  EXPECT_EQ(utf32.byte_order_unit(), 4U);
  const DataType bytes =
      Type(R"({"name":"null_terminated_bytes","configuration":{"length_bytes":3}})");
  EXPECT_EQ(bytes.kind, DataKind::kNullTerminatedBytes);
  EXPECT_EQ(bytes.item_size, 3U);
  EXPECT_EQ(bytes.byte_order_unit(), 1U);
}

TEST(DataType, DatesHaveAUnitAndAScale) {
  const DataType type =
      Type(R"({"name":"numpy.datetime64","configuration":{"unit":"ms","scale_factor":10}})");
  EXPECT_EQ(type.kind, DataKind::kDatetime);
  EXPECT_EQ(type.item_size, 8U);
  EXPECT_EQ(type.byte_order_unit(), 8U);
  EXPECT_EQ(type.time_unit, "ms");
  EXPECT_EQ(type.time_scale, 10U);
  const auto date = [](std::string_view unit, int scale) {
    return Type(fmt::format(
        R"({{"name":"numpy.timedelta64","configuration":{{"unit":"{}","scale_factor":{}}}}})", unit,
        scale));
  };
  EXPECT_EQ(date("D", 1).kind, DataKind::kTimedelta);
  EXPECT_EQ(date("\u03bcs", 1).time_unit, "us");
  EXPECT_EQ(date("\u00b5s", 1).time_unit, "us");
  EXPECT_EQ(date("s", 0).time_scale, 1U);  // as in numpy
  EXPECT_EQ(date("generic", 7).time_scale, 1U);
  EXPECT_EQ(date("fortnight", 1).kind, DataKind::kOther);
}

constexpr std::string_view kPoint =
    R"({"name":"struct","configuration":{"fields":[{"name":"id","data_type":"uint8"},
        {"name":"at","data_type":{"name":"structured","configuration":{"fields":[
            ["x",{"name":"int16"}],["z","complex64"]]}}},
        {"name":"tag","data_type":{"name":"raw_bytes","configuration":{"length_bytes":2}}}]}})";

TEST(DataType, FieldsOfAStructLieOneAfterTheOther) {
  const DataType type = Type(kPoint);
  EXPECT_EQ(type.kind, DataKind::kStruct);
  EXPECT_EQ(type.item_size, 1U + (2 + 8) + 2);
  EXPECT_EQ(type.byte_order_unit(), 4U);
  ASSERT_EQ(type.fields.size(), 3U);
  EXPECT_EQ(type.fields[0].name, "id");
  EXPECT_EQ(type.fields[1].type.kind, DataKind::kStruct);
  ASSERT_EQ(type.fields[1].type.fields.size(), 2U);
  EXPECT_EQ(type.fields[1].type.fields[0].type.kind, DataKind::kInt);
  EXPECT_EQ(type.fields[2].type.name, "r16");
  EXPECT_EQ(
      Type(R"({"name":"struct","configuration":{"fields":[["a","uint8"]]}})").byte_order_unit(),
      1U);
}

TEST(DataType, StructWithoutProperFieldsIsDamaged) {
  for (const char* fields :
       {"[]", "1", "null", R"([["a"]])", R"([["","uint8"]])", R"([[1,"uint8"]])",
        R"([{"name":"a"}])", R"([["a","uint8"],["a","uint8"]])", R"([["a","r7"]])", "[NaN]"}) {
    const auto json = fmt::format(R"({{"name":"struct","configuration":{{"fields":{}}}}})", fields);
    EXPECT_EQ(RefusedType(json).code, ErrorCode::kDamaged) << json;
  }
  EXPECT_EQ(RefusedType("\"struct\"").code, ErrorCode::kDamaged);
}

std::string NestedStruct(int depth) {
  std::string type = "\"uint8\"";
  for (int i = 0; i < depth; ++i) {
    type = fmt::format(R"({{"name":"struct","configuration":{{"fields":[["a",{}]]}}}})", type);
  }
  return type;
}

// Chunks of these types can be passed through, but not decoded.
TEST(DataType, ExtensionTypesBeyondWhatIsKnownAreNamesOnly) {
  for (
      const std::string& json : std::vector<std::string>{
          R"({"name":"bfloat16","configuration":{"rounding":"up"}})",
          R"({"name":"string","encoding":"latin1"})",
          R"({"name":"numpy.datetime64","configuration":{"unit":"s","timezone":"UTC"}})",
          R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":2147483648}})",
          R"({"name":"fixed_length_utf32","configuration":{"length_bytes":0}})",
          R"({"name":"fixed_length_utf32","configuration":{"length_bytes":16777220}})",
          R"({"name":"struct","configuration":{"fields":[["a","string"]]}})",
          R"({"name":"struct","configuration":{"fields":[["a","unheard_of"]]}})",
          R"({"name":"struct","configuration":{"fields":[{"name":"a","data_type":"uint8","offset":4}]}})",
          R"({"name":"struct","configuration":{"fields":[["a","uint8"]],"aligned":true}})",
          fmt::format(
              R"({{"name":"struct","configuration":{{"fields":[["a","r{}"],["b","uint8"]]}}}})",
              8 * kMaxItemBytes),
          NestedStruct(kMaxStructDepth + 1)}) {
    const DataType type = Type(json);
    EXPECT_EQ(type.kind, DataKind::kOther) << json.substr(0, 200);
    EXPECT_EQ(type.item_size, 0U);
    EXPECT_TRUE(type.fields.empty());
    EXPECT_FALSE(type.document.is_null());
  }
  EXPECT_EQ(
      Type(fmt::format(
               R"({{"name":"struct","configuration":{{"fields":[["a","r{}"],["b","uint8"]]}}}})",
               8 * (kMaxItemBytes - 1)))
          .item_size,
      kMaxItemBytes);
  EXPECT_EQ(Type(NestedStruct(kMaxStructDepth)).item_size, 1U);
}

std::string Reversed(const DataType& type, size_t elements) {
  std::string bytes;
  for (size_t i = 0; i < elements * type.item_size; ++i) bytes += static_cast<char>('a' + i);
  ReverseByteOrder(std::as_writable_bytes(std::span(bytes)), type);
  return bytes;
}

TEST(ReverseByteOrder, ReversesEachPartThatHasAnOrder) {
  EXPECT_EQ(Reversed(Named("uint16"), 2), "badc");
  EXPECT_EQ(Reversed(Named("bfloat16"), 2), "badc");
  EXPECT_EQ(Reversed(Named("float8_e4m3"), 2), "ab");
  EXPECT_EQ(Reversed(Named("complex64"), 1), "dcbahgfe");
  EXPECT_EQ(Reversed(Named("complex_float16"), 1), "badc");
  EXPECT_EQ(Reversed(Named("r32"), 1), "abcd");
  EXPECT_EQ(
      Reversed(Type(R"({"name":"fixed_length_utf32","configuration":{"length_bytes":8}})"), 1),
      "dcbahgfe");
  EXPECT_EQ(
      Reversed(Type(R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}})"),
               1),
      "hgfedcba");
  EXPECT_EQ(Reversed(Type(kPoint), 2), "acbgfedkjihlmnpotsrqxwvuyz");
  EXPECT_EQ(
      Reversed(Type(R"({"name":"struct","configuration":{"fields":[["a","uint8"],["b","r16"]]}})"),
               2),
      "abcdef");
}

}  // namespace
}  // namespace zarrfs::data_type_test
