#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::bytes_test {
namespace {

std::shared_ptr<const ArrayToBytesCodec> Make(std::string_view configuration,
                                              const ChunkSpec& spec) {
  auto made = MakeBytesCodec(CodecSpec{"bytes", Configuration(configuration)}, spec);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : nullptr;
}

TEST(BytesCodec, BigEndianItemsAreReversed) {
  const ChunkSpec spec{Type("uint32", DataKind::kUint, 4), {2}};
  const auto codec = Make(R"({"endian": "big"})", spec);
  EXPECT_EQ(codec->Decode(Hex("00000001 0a0b0c0d"), spec), Hex("01000000 0d0c0b0a"));
  EXPECT_EQ(codec->Encode(Hex("01000000 0d0c0b0a"), spec), Hex("00000001 0a0b0c0d"));
}

TEST(BytesCodec, LittleEndianItemsStayAsTheyAre) {
  const ChunkSpec spec{Type("int16", DataKind::kInt, 2), {1, 2}};
  EXPECT_EQ(Make(R"({"endian": "little"})", spec)->Decode(Hex("0102 0304"), spec),
            Hex("0102 0304"));
}

TEST(BytesCodec, HalvesOfAComplexItemAreReversedSeparately) {
  const ChunkSpec spec{Type("complex64", DataKind::kComplex, 8), {1}};
  EXPECT_EQ(Make(R"({"endian": "big"})", spec)->Decode(Hex("01020304 05060708"), spec),
            Hex("04030201 08070605"));
}

TEST(BytesCodec, OpaqueItemsHaveNoByteOrder) {
  const ChunkSpec spec{Type("r24", DataKind::kRaw, 3), {2}};
  EXPECT_EQ(Make(R"({"endian": "big"})", spec)->Decode(Hex("010203 040506"), spec),
            Hex("010203 040506"));
}

TEST(BytesCodec, MissingEndianIsReadAsLittle) {
  const ChunkSpec bytes{Type("uint8", DataKind::kUint, 1), {2}};
  EXPECT_EQ(Make("{}", bytes)->Decode(Hex("0102"), bytes), Hex("0102"));
  const ChunkSpec words{Type("uint16", DataKind::kUint, 2), {1}};
  EXPECT_EQ(Make("{}", words)->Decode(Hex("0102"), words), Hex("0102"));
}

TEST(BytesCodec, AnyOtherSizeIsDamage) {
  const ChunkSpec spec{Type("uint16", DataKind::kUint, 2), {2, 2}};
  for (const size_t size : {0, 1, 7, 9, 16}) {
    const auto decoded = Make(R"({"endian": "big"})", spec)->Decode(Bytes(size), spec);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
    EXPECT_EQ(MessageOf(decoded), fmt::format("codec 'bytes': expected 8 bytes, found {}", size));
  }
}

TEST(BytesCodec, FieldsOfAStructAreReversedOneByOne) {
  const ChunkSpec spec{
      *ParseDataType(Json::parse(R"({"name": "struct", "configuration": {"fields": [
                           {"name": "a", "data_type": "uint8"},
                           {"name": "b", "data_type": "int16"}]}})"),
                     "k"),
      {2}};
  const auto codec = Make(R"({"endian": "big"})", spec);
  EXPECT_EQ(codec->Decode(Hex("010203 040506"), spec), Hex("010302 040605"));
  EXPECT_EQ(codec->Encode(Hex("010302 040605"), spec), Hex("010203 040506"));
}

TEST(BytesCodec, FieldsOfDifferentByteOrdersAreReversedByTheirOwn) {
  const auto type = *ParseDataType(*ParseJson(R"({"name": "structured", "configuration": {"fields":
          [["a", "uint16"], ["b", "uint16"], ["c", "uint8"], ["d", "uint16"]]}})",
                                              ""),
                                   "");
  const ChunkSpec spec{type, {2}};
  const auto make = [&](std::string_view big) {
    return MakeMixedEndianCodec(CodecSpec{"", Configuration(fmt::format(R"({{"big": {}}})", big))},
                                spec);
  };
  const auto codec = make("[[0, 2], [4, 7]]");
  ASSERT_TRUE(codec);
  const Bytes stored = Hex("0001 0203 04 0506 1011 1213 14 1516");
  const Bytes elements = Hex("0100 0203 04 0605 1110 1213 14 1615");
  EXPECT_EQ((*codec)->Decode(stored, spec), elements);
  EXPECT_EQ((*codec)->Encode(elements, spec), stored);
  for (const auto* const wrong :
       {"1", "[[0]]", "[[2, 2]]", "[[0, 8]]", "[[2, 4], [0, 2]]", "[[-1, 2]]"}) {
    EXPECT_FALSE(make(wrong)) << wrong;
  }
}

TEST(BytesCodec, DataTypeOfNoKnownSizeIsNamed) {
  const ChunkSpec spec{Type("string", DataKind::kString, 0), {2}};
  const auto made = MakeBytesCodec(CodecSpec{"bytes"}, spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(made.error().message, "codec 'bytes': data type 'string' has no known size");
}

TEST(BytesCodec, UnknownEndianIsDamage) {
  const ChunkSpec spec{Type("uint16", DataKind::kUint, 2), {2}};
  for (const char* wrong : {R"({"endian": "middle"})", R"({"endian": 1})"}) {
    const auto made = MakeBytesCodec(CodecSpec{"bytes", Configuration(wrong)}, spec);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kDamaged);
  }
}

}  // namespace
}  // namespace zarrfs::bytes_test
