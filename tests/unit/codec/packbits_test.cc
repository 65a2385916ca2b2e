#include "tests/unit/codec/array_codec_testing.h"

namespace zarrfs::packbits_test {
namespace {

// A codec for chunks with one axis of `count` elements.
struct Packed {
  Packed(std::string_view configuration, const std::string& type, uint64_t count)
      : spec{TypeNamed(type), {count}},
        codec(std::get<ArrayToBytesFactory>(*FindCodec("packbits"))(
            CodecSpec{"packbits", Configuration(configuration)}, spec)) {}

  [[nodiscard]] Result<Bytes> Decode(std::string_view hex) const {
    return (*codec)->Decode(Hex(hex), spec);
  }
  [[nodiscard]] Result<Bytes> Encode(std::string_view hex) const {
    return (*codec)->Encode(Hex(hex), spec);
  }

  ChunkSpec spec;
  Result<std::shared_ptr<const ArrayToBytesCodec>> codec;
};

constexpr std::string_view kBools = "01 00 00 01 01 01 01 01 00 01 01";

TEST(PackbitsCodec, FirstElementIsTheLeastSignificantBit) {
  const Packed packed("{}", "bool", 11);
  EXPECT_EQ(packed.Decode("f906"), Hex(kBools));
  EXPECT_EQ(packed.Encode(kBools), Hex("f906"));
  EXPECT_EQ((*packed.codec)->EncodedSize(packed.spec), 2u);
}

TEST(PackbitsCodec, PaddingIsStatedBeforeOrBehind) {
  const Packed before(R"({"padding_encoding": "first_byte"})", "bool", 11);
  EXPECT_EQ(before.Decode("05f906"), Hex(kBools));
  EXPECT_EQ(before.Encode(kBools), Hex("05f906"));
  const Packed behind(R"({"padding_encoding": "last_byte"})", "bool", 11);
  EXPECT_EQ(behind.Decode("f90605"), Hex(kBools));
  EXPECT_EQ(behind.Encode(kBools), Hex("f90605"));
  EXPECT_EQ(MessageOf(behind.Decode("f90604")),
            "codec 'packbits': expected 5 padding bits, found 4");
}

TEST(PackbitsCodec, ChosenBitsComeBackWhereTheyWere) {
  // Bits 1 to 3 of 0x0a, 0x1f, 0x04 are 5, 7, 2.
  const Packed packed(R"({"first_bit": 1, "last_bit": 3})", "uint8", 3);
  EXPECT_EQ(packed.Encode("0a 1f 04"), Hex("bd00"));
  EXPECT_EQ(packed.Decode("bd00"), Hex("0a 0e 04"));
}

TEST(PackbitsCodec, SignedIntegersAreFilledUpByTheirSign) {
  const Packed packed(R"({"first_bit": null, "last_bit": 9})", "int16", 4);  // ten bits
  const std::string_view elements = "ffff 0001 00fe ff01";                   // -1, 256, -512, 511
  EXPECT_EQ(packed.Encode(elements), Hex("ff03 04e0 7f"));
  EXPECT_EQ(packed.Decode("ff03 04e0 7f"), Hex(elements));
}

TEST(PackbitsCodec, WholeElementsAreTheirLittleEndianBytes) {
  EXPECT_EQ(Packed("{}", "int16", 2).Decode("0102 ff80"), Hex("0102 ff80"));
  EXPECT_EQ(Packed("{}", "uint64", 1).Encode("0102030405060708"), Hex("0102030405060708"));
  EXPECT_EQ(Packed("{}", "complex64", 1).Decode("0102030405060708"), Hex("0102030405060708"));
}

TEST(PackbitsCodec, PartsOfAComplexNumberArePackedOneByOne) {
  const Packed packed(R"({"first_bit": 16})", "complex64", 1);
  EXPECT_EQ(packed.Encode("11223344 55667788"), Hex("3344 7788"));
  EXPECT_EQ(packed.Decode("3344 7788"), Hex("00003344 00007788"));
}

TEST(PackbitsCodec, NarrowTypesTakeTheBitsOfTheirName) {
  EXPECT_EQ(Packed("{}", "int4", 3).Decode("f801"), Hex("f8 ff 01"));
  EXPECT_EQ(Packed("{}", "uint2", 4).Decode("e4"), Hex("00 01 02 03"));
  EXPECT_EQ(Packed("{}", "float6_e2m3fn", 4).Decode("ffefff"), Hex("3f 3f 3e 3f"));
  EXPECT_EQ(Packed("{}", "int4", 3).Encode("f8 ff 01"), Hex("f801"));
}

TEST(PackbitsCodec, OtherSizesAreDamage) {
  const Packed packed("{}", "bool", 11);
  for (const char* wrong : {"", "f9", "f90600"}) {
    const auto decoded = packed.Decode(wrong);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(packed.Encode("00").error().code, ErrorCode::kInvalidArgument);
}

// zarrs omits the padding byte if elements keep all their bits.
TEST(PackbitsCodec, BitsThatAreWholeElementsMayComeWithoutThePaddingByte) {
  for (const char* where : {"first", "last"}) {
    const Packed packed(fmt::format(R"({{"padding_encoding": "{}_byte"}})", where), "int16", 2);
    EXPECT_EQ(packed.Decode("01020304"), Hex("01020304")) << where;
    EXPECT_EQ(packed.Decode("010203").error().code, ErrorCode::kDamaged) << where;
    const bool first = std::string_view(where) == "first";
    EXPECT_EQ(packed.Encode("01020304"), Hex(first ? "00 01020304" : "01020304 00"));
    EXPECT_EQ(packed.Decode(first ? "00 01020304" : "01020304 00"), Hex("01020304"));
  }
  const Packed part(R"({"padding_encoding": "first_byte", "last_bit": 7})", "int16", 2);
  EXPECT_EQ(part.Decode("0102").error().code, ErrorCode::kDamaged);
}

TEST(PackbitsCodec, WrongConfigurationIsRefused) {
  for (const char* wrong : {R"({"padding_encoding": "middle"})", R"({"last_bit": 8})",
                            R"({"first_bit": 3, "last_bit": 2})", R"({"first_bit": -1})"}) {
    const Packed packed(wrong, "uint8", 3);
    ASSERT_FALSE(packed.codec) << wrong;
    EXPECT_EQ(packed.codec.error().code, ErrorCode::kDamaged);
  }
  EXPECT_EQ(Packed("{}", "r16", 3).codec.error().message,
            "codec 'packbits': data type 'r16' is not known");
}

// numcodecs.PackBits().encode(a), where a is np.array([1,0,0,1,1,1,1,1,0,1,1], bool) or
// np.ones(8, bool)
TEST(NumcodecsPackbitsCodec, ReadsWhatNumcodecsWrote) {
  const auto make = [](uint64_t count) {
    return std::get<ArrayToArrayFactory>(*FindCodec("numcodecs.packbits"))(
        CodecSpec{"numcodecs.packbits"}, {TypeNamed("bool"), {count}});
  };
  const ChunkSpec eleven = {TypeNamed("bool"), {11}};
  const auto codec = *make(11);
  EXPECT_EQ(codec->Decode(Hex("059f60"), eleven), Hex(kBools));
  EXPECT_EQ(codec->Encode(Hex(kBools), eleven), Hex("059f60"));
  EXPECT_EQ(codec->EncodedSpec(eleven).shape, std::vector<uint64_t>{3});
  EXPECT_EQ(codec->EncodedSpec(eleven).data_type.name, "uint8");
  EXPECT_EQ((*make(8))->Decode(Hex("00ff"), {TypeNamed("bool"), {8}}), Bytes(8, std::byte{1}));
  for (const char* wrong : {"049f60", "ff9f60", "059f", "059f6000", ""}) {
    const auto decoded = codec->Decode(Hex(wrong), eleven);
    ASSERT_FALSE(decoded) << wrong;
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

TEST(NumcodecsPackbitsCodec, OnlyBooleansArePacked) {
  EXPECT_EQ(OneAxisCodec("numcodecs.packbits", "{}", "uint8").error().code,
            ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace zarrfs::packbits_test
