#include "zarrcore/view/v2_view.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"

namespace zarrfs::v2_view_test {
namespace {

constexpr std::string_view kGzip = R"({"name": "gzip", "configuration": {"level": 5}})";

const V2View kV2(ZarrPython2Profile());

Result<ArrayView> TryShow(const ArrayMetadata& metadata, const ViewContext& context = {}) {
  return kV2.ShowArray(metadata, LayoutOf(metadata), context);
}

ArrayView Shown(const ArrayMetadata& metadata, const ViewContext& context = {}) {
  auto view = TryShow(metadata, context);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return view ? std::move(*view) : ArrayView{};
}

std::string Text(const ArrayView& view, std::string_view name) {
  for (const Document& document : view.documents) {
    if (document.name == name) return document.bytes;
  }
  return "no such document";
}

Json Member(const ArrayMetadata& metadata, const char* member) {
  return (*ParseJson(Text(Shown(metadata), ".zarray"), ".zarray"))[member];
}

Json Compressor(std::string_view codec) {
  return Member(Array("[4]", "[2]", fmt::format("{}, {}", kBytesCodec, codec)), "compressor");
}

Json Parsed(std::string_view text) { return *ParseJson(text, "literal"); }

std::string Refused(const ArrayMetadata& metadata) {
  const auto view = TryShow(metadata);
  EXPECT_FALSE(view);
  if (view) return "shown";
  EXPECT_EQ(view.error().code, ErrorCode::kUnsupported);
  return view.error().message;
}

std::string RefusedChain(std::string_view codecs) { return Refused(Array("[4]", "[2]", codecs)); }

TEST(V2View, ASecondReadersFilesOfATypicalArray) {
  const ArrayView view = Shown(Array(
      "[100, 200]", "[50, 100]", Sharding("[10, 20]", fmt::format("{}, {}", kBytesCodec, kGzip)),
      R"({"data_type": "float32", "fill_value": "NaN", "dimension_names": ["lat", "lon"],
          "attributes": {"units": "K", "valid": [1, 2.5]}})"));
  EXPECT_EQ(Text(view, ".zarray"), R"({
  "zarr_format": 2,
  "shape": [
    100,
    200
  ],
  "chunks": [
    10,
    20
  ],
  "dtype": "<f4",
  "compressor": {
    "id": "gzip",
    "level": 5
  },
  "fill_value": "NaN",
  "order": "C",
  "filters": null,
  "dimension_separator": "."
}
)");
  EXPECT_EQ(Text(view, ".zattrs"), R"({
  "units": "K",
  "valid": [
    1,
    2.5
  ],
  "_ARRAY_DIMENSIONS": [
    "lat",
    "lon"
  ]
}
)");
  EXPECT_EQ(view.documents.size(), 2U);
  EXPECT_EQ(view.encoding.cut_front + view.encoding.cut_back, 0U);
  EXPECT_FALSE(view.naming.prefix_c);
}

TEST(V2View, AGroupIsZgroupAndItsAttributes) {
  GroupMetadata group;
  group.attributes = Parsed(R"({"title": "Z\u00fcrich"})");
  const auto documents = kV2.ShowGroup(group, {}).documents;
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0], (Document{".zgroup", "{\n  \"zarr_format\": 2\n}\n"}));
  EXPECT_EQ(documents[1], (Document{".zattrs", "{\n  \"title\": \"Z\\u00fcrich\"\n}\n"}));
}

TEST(V2View, FiltersOfNumcodecsAreHandedOn) {
  constexpr std::string_view kDelta =
      R"({"name": "numcodecs.delta", "configuration": {"dtype": "i2", "astype": "int32"}})";
  constexpr std::string_view kShuffle =
      R"({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}})";
  constexpr std::string_view kZstd = R"({"name": "zstd", "configuration": {"level": 3}})";
  const auto filtered = [&](std::string_view bytes, std::string_view filter) {
    return Array("[4]", "[2]", fmt::format("{}, {}, {}, {}", kDelta, bytes, filter, kZstd),
                 R"({"data_type": "int16"})");
  };
  const ArrayView view = Shown(filtered(kBytesCodec, kShuffle));
  EXPECT_EQ(Parsed(Text(view, ".zarray"))["filters"],
            Parsed(R"([{"id": "delta", "dtype": "<i2", "astype": "<i4"},
                       {"id": "shuffle", "elementsize": 4}])"));
  EXPECT_EQ(view.encoding.kind, ChunkEncoding::Kind::kPatchedZstd);
  EXPECT_EQ(view.encoding.size, 8U) << "of what zstd decodes to, which has larger elements";

  const auto is_decoded = [](const ArrayMetadata& metadata, const ViewContext& context = {}) {
    return Shown(metadata, context).encoding.kind == ChunkEncoding::Kind::kDecoded;
  };
  const std::string transpose = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  EXPECT_TRUE(is_decoded(Array("[4, 4]", "[2, 2]",
                               fmt::format("{}, {}, {}", kDelta, transpose, kBytesCodec),
                               R"({"data_type": "int16"})")))
      << "readers of v2 transpose before they filter";
  EXPECT_TRUE(is_decoded(filtered(kBytesCodec, fmt::format("{}, {}", kGzip, kShuffle))));
  EXPECT_TRUE(
      is_decoded(filtered(kBytesCodec, kShuffle), {.compressors = *ParseCompressors("zstd")}))
      << "a reader that lacks compressors is not trusted with filters";
}

TEST(V2View, ANameThatIsAMetadataFileIsNotShown) {
  for (const char* name : {".zarray", ".zattrs", ".zgroup", ".zmetadata"}) {
    EXPECT_FALSE(kV2.AllowsNodeName(name)) << name;
  }
  EXPECT_TRUE(kV2.AllowsNodeName("zarray"));
}

// --- Data types and fill values
// -----------------------------------------------------------------------

TEST(V2View, DataTypesHaveTheirByteOrderSpelledOut) {
  const struct {
    std::string_view type, little, big;
  } cases[] = {{"bool", "|b1", "|b1"},         {"int8", "|i1", "|i1"},
               {"uint8", "|u1", "|u1"},        {"int16", "<i2", ">i2"},
               {"uint64", "<u8", ">u8"},       {"float16", "<f2", ">f2"},
               {"float64", "<f8", ">f8"},      {"complex64", "<c8", ">c8"},
               {"complex128", "<c16", ">c16"}, {"r24", "|V3", "|V3"}};
  for (const auto& [type, little, big] : cases) {
    const std::string members = fmt::format(R"({{"data_type": "{}", "fill_value": null}})", type);
    EXPECT_EQ(Member(Array("[4]", "[2]", kBytesCodec, members), "dtype"), little);
    EXPECT_EQ(Member(Array("[4]", "[2]", R"({"name": "bytes", "configuration": {"endian": "big"}})",
                           members),
                     "dtype"),
              big);
  }
}

TEST(V2View, FillValuesAreThoseOfTheTypedValue) {
  const struct {
    std::string_view type, v3, v2;
  } cases[] = {{"bool", "true", "true"},
               {"int64", "-9223372036854775808", "-9223372036854775808"},
               {"uint64", "18446744073709551615", "18446744073709551615"},
               {"int16", "3.0", "3"},
               {"float32", "0.1", "0.1"},
               {"float64", "-0.0", "-0.0"},
               {"float64", R"("-Infinity")", R"("-Infinity")"},
               {"float32", R"("0x7fc00000")", R"("NaN")"},
               {"float32", R"("0x7fc00001")", R"("NaN")"},
               {"float32", R"("0x3f800000")", "1.0"},
               {"complex64", R"([1.5, "NaN"])", R"([1.5, "NaN"])"},
               {"complex64", R"(["0x7fc00001", 0.0])", R"(["NaN", 0.0])"},
               {"r8", "[255]", R"("/w==")"},
               {"r24", "[1, 2, 3]", R"("AQID")"},
               {"r32", "[0, 1, 2, 255]", R"("AAEC/w==")"}};
  for (const auto& [type, v3, v2] : cases) {
    const auto array = Array("[4]", "[2]", kBytesCodec,
                             fmt::format(R"({{"data_type": "{}", "fill_value": {}}})", type, v3));
    EXPECT_EQ(Member(array, "fill_value").dump(), Parsed(v2).dump()) << type << " " << v3;
  }
}

TEST(V2View, ExtensionTypesAreRefusedByName) {
  EXPECT_EQ(
      Refused(Array("[4]", "[2]", kBytesCodec, R"({"data_type": "string", "fill_value": ""})")),
      "data type 'string' is not supported by this view's readers");
}

// --- Codecs
// -------------------------------------------------------------------------------------------

TEST(V2View, CompressorsHaveNoMembersThatOldReadersDoNotKnow) {
  EXPECT_EQ(Member(Array("[4]", "[2]", kBytesCodec), "compressor"), nullptr);
  EXPECT_EQ(Compressor(R"({"name": "zstd", "configuration": {"level": 3, "checksum": true}})"),
            Parsed(R"({"id": "zstd", "level": 3})"));
  EXPECT_EQ(
      Compressor(R"({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 4,
                           "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}})"),
      Parsed(R"({"id": "blosc", "cname": "zstd", "clevel": 4, "shuffle": 2, "blocksize": 0})"));
  EXPECT_EQ(Compressor(R"({"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1,
                           "shuffle": "noshuffle", "blocksize": 0}})")["shuffle"],
            0);
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.blosc", "configuration": {"cname": "lz4", "clevel": 1,
                           "shuffle": 1, "blocksize": 0}})")["shuffle"],
            1);
  EXPECT_EQ(Compressor(R"({"name": "gzip"})"), Parsed(R"({"id": "gzip", "level": 5})"));
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.zlib", "configuration": {"level": 9}})"),
            Parsed(R"({"id": "zlib", "level": 9})"));
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.bz2"})"), Parsed(R"({"id": "bz2", "level": 1})"));
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.lz4"})"),
            Parsed(R"({"id": "lz4", "acceleration": 1})"));
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.lzma"})"), Parsed(R"({"id": "lzma"})"));
  EXPECT_EQ(
      Compressor(R"({"name": "numcodecs.lzma", "configuration": {"format": 1, "preset": 6}})"),
      Parsed(R"({"id": "lzma", "format": 1, "preset": 6})"));
}

TEST(V2View, ChecksumsAreCutOff) {
  const struct {
    std::string_view codecs;
    uint64_t front, back;
  } cases[] = {{R"({"name": "crc32c"})", 0, 4},
               {R"({"name": "gzip"}, {"name": "crc32c"})", 0, 4},
               {R"({"name": "numcodecs.fletcher32"})", 0, 4},
               {R"({"name": "numcodecs.jenkins_lookup3"})", 0, 4},
               {R"({"name": "numcodecs.crc32"})", 4, 0},
               {R"({"name": "numcodecs.crc32", "configuration": {"location": "end"}})", 0, 4},
               {R"({"name": "numcodecs.crc32c", "configuration": {"location": "start"}})", 4, 0},
               {R"({"name": "numcodecs.adler32"}, {"name": "crc32c"})", 4, 4}};
  for (const auto& [codecs, front, back] : cases) {
    const ArrayView view = Shown(Array("[4]", "[2]", fmt::format("{}, {}", kBytesCodec, codecs)));
    EXPECT_EQ(view.encoding.cut_front, front) << codecs;
    EXPECT_EQ(view.encoding.cut_back, back) << codecs;
    EXPECT_FALSE(Contains(Text(view, ".zarray"), "crc32"));
  }
}

TEST(V2View, ReversedAxesAreOrderF) {
  const auto order = [](std::string_view chunk, std::string_view transposes) {
    const auto array = Array("[8, 8, 8]", chunk, fmt::format("{}, {}", transposes, kBytesCodec));
    EXPECT_EQ(Member(array, "chunks"), Parsed(chunk)) << "along the array's axes";
    return Member(array, "order").get<std::string>();
  };
  const auto by = [](std::string_view axes) {
    return fmt::format(R"({{"name": "transpose", "configuration": {{"order": {}}}}})", axes);
  };
  EXPECT_EQ(order("[2, 3, 4]", by("[2, 1, 0]")), "F");
  EXPECT_EQ(order("[2, 3, 4]", by("\"F\"")), "F");
  EXPECT_EQ(order("[2, 3, 4]", by("[0, 1, 2]")), "C");
  EXPECT_EQ(order("[2, 3, 4]", by("[1, 2, 0]") + ", " + by("[1, 2, 0]") + ", " + by("[1, 2, 0]")),
            "C");
  EXPECT_EQ(order("[2, 3, 4]", by("[1, 2, 0]") + ", " + by("[1, 0, 2]")), "F");
  EXPECT_EQ(order("[2, 1, 4]", by("[1, 0, 2]")), "C") << "an axis of 1 may stand anywhere";
  EXPECT_EQ(order("[2, 1, 4]", by("[2, 0, 1]")), "F");
  const auto mixed =
      Array("[8, 8, 8]", "[2, 3, 4]", by("[1, 0, 2]") + ", " + std::string(kBytesCodec));
  EXPECT_EQ(Shown(mixed).encoding.kind, ChunkEncoding::Kind::kDecoded) << "neither C nor F";
  EXPECT_EQ(Member(mixed, "order"), "C");
}

TEST(V2View, ATransposeBeforeShardingIsOrderFToo) {
  const auto array = Array("[8, 12]", "[4, 6]",
                           R"({"name": "transpose", "configuration": {"order": [1, 0]}}, )" +
                               Sharding("[3, 2]", kBytesCodec));
  EXPECT_EQ(Member(array, "order"), "F");
  EXPECT_EQ(Member(array, "chunks"), Parsed("[2, 3]"));
}

TEST(V2View, WhatV2CannotSayIsRefusedWithTheReason) {
  const std::string bytes = std::string(kBytesCodec) + ", ";
  EXPECT_EQ(RefusedChain(bytes + R"({"name": "fancy"})"), "codec 'fancy' is not known");
  EXPECT_EQ(RefusedChain(R"({"name": "optional"}, )" + std::string(kBytesCodec)),
            "codec 'optional' is not known");
  EXPECT_EQ(RefusedChain(R"({"name": "transpose", "configuration": {"order": [0]}})"),
            "a chain of 1 codecs has no array -> bytes codec");
  EXPECT_EQ(RefusedChain(R"({"name": "bytes", "configuration": {"endian": "middle"}})"),
            "codec 'bytes': endian is \"middle\", expected \"little\" or \"big\"");
}

TEST(V2View, StringsAreObjectsWithTheFilterOfTheirCodec) {
  const auto array = Array("[4]", "[2]", R"({"name": "vlen-utf8"}, {"name": "zstd"})",
                           R"({"data_type": "string", "fill_value": "ü"})");
  EXPECT_EQ(Member(array, "dtype"), "|O");
  EXPECT_EQ(Member(array, "filters"), Parsed(R"([{"id": "vlen-utf8"}])"));
  EXPECT_EQ(Member(array, "fill_value"), "ü");
  EXPECT_EQ(Member(array, "compressor")["id"], "zstd");
}

TEST(V2View, WhatV2CannotSayIsDecodedWhereTheCodecsAreKnown) {
  const std::string big = R"({"name": "bytes", "configuration": {"endian": "big"}})";
  for (const std::string chain :
       {R"({"name": "gzip"}, {"name": "zstd"})", R"({"name": "crc32c"}, {"name": "gzip"})"}) {
    const auto array = Array("[4]", "[2]", big + ", " + chain, R"({"data_type": "int16"})");
    const ArrayView view = Shown(array);
    EXPECT_EQ(view.encoding.kind, ChunkEncoding::Kind::kDecoded) << chain;
    EXPECT_EQ(view.encoding.cut_front + view.encoding.cut_back, 0U);
    EXPECT_EQ(Member(array, "compressor"), nullptr);
    EXPECT_EQ(Member(array, "dtype"), "<i2") << "decoded is little-endian";
  }
  EXPECT_EQ(Shown(Array("[4]", "[2]", big + R"(, {"name": "gzip"})")).encoding.kind,
            ChunkEncoding::Kind::kPassThrough);
}

TEST(V2View, ChunksTooLargeToBeDecodedAreRefused) {
  const std::string_view chain =
      R"({"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip"}, {"name": "zstd"})";
  EXPECT_EQ(Refused(Array("[4294967296]", "[4294967296]", chain)),
            "chunks of 4294967296 bytes exceed the limit of 2147483648 for decoding");
}

TEST(GdalView, ChunksTooLargeOnceWidenedAreRefused) {
  const auto array = Array("[2000000000]", "[1000000000]", R"({"name": "bytes"})",
                           R"({"data_type": "float8_e5m2", "fill_value": 0})");
  const auto view = V2View(GdalProfile()).ShowArray(array, LayoutOf(array), {});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().message,
            "chunks of 4000000000 bytes exceed the limit of 2147483648 for decoding");
}

TEST(V2View, BitroundChangesNothingForAReader) {
  EXPECT_TRUE(TryShow(Array("[4]", "[2]", R"({"name": "bitround"}, )" + std::string(kBytesCodec))));
}

// --- Readers that know less
// -------------------------------------------------------------------------------------------------

ArrayView ShownTo(const ReaderProfile& profile, const ArrayMetadata& metadata) {
  auto view = V2View(profile).ShowArray(metadata, LayoutOf(metadata), {});
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return view ? std::move(*view) : ArrayView{};
}

std::string RefusedBy(const ReaderProfile& profile, const ArrayMetadata& metadata) {
  const auto view = V2View(profile).ShowArray(metadata, LayoutOf(metadata), {});
  return view ? "shown" : view.error().message;
}

Json MemberFor(const ReaderProfile& profile, const ArrayMetadata& metadata, const char* member) {
  return (*ParseJson(Text(ShownTo(profile, metadata), ".zarray"), ".zarray"))[member];
}

TEST(GdalView, WhatGdalDecodesIsHandedOnAndTheRestDecoded) {
  for (const char* codec : {"gzip", "zstd", "blosc", "numcodecs.zlib", "numcodecs.lz4"}) {
    const auto array =
        Array("[4]", "[2]", fmt::format(R"({}, {{"name": "{}"}})", kBytesCodec, codec));
    EXPECT_EQ(ShownTo(GdalProfile(), array).encoding.kind, ChunkEncoding::Kind::kPassThrough)
        << codec;
  }
  const auto bz2 = Array("[4]", "[2]", std::string(kBytesCodec) + R"(, {"name": "numcodecs.bz2"})");
  EXPECT_EQ(Shown(bz2).encoding.kind, ChunkEncoding::Kind::kPassThrough);
  EXPECT_EQ(ShownTo(GdalProfile(), bz2).encoding.kind, ChunkEncoding::Kind::kDecoded);
  EXPECT_EQ(MemberFor(GdalProfile(), bz2, "compressor"), Json());
}

TEST(GdalView, DatesAreIntegersThatSayWhatTheyCount) {
  const auto array = Array("[4]", "[2]", R"({"name": "bytes", "configuration": {"endian": "big"}})",
                           R"({"data_type": {"name": "numpy.datetime64",
                               "configuration": {"unit": "s", "scale_factor": 1}}, "fill_value": 0})");
  EXPECT_EQ(MemberFor(GdalProfile(), array, "dtype"), ">i8");
  const Json attributes = *ParseJson(Text(ShownTo(GdalProfile(), array), ".zattrs"), ".zattrs");
  EXPECT_EQ(attributes["units"], "seconds since 1970-01-01");
}

TEST(GdalView, NumbersThatNumpyDoesNotHaveAreWidened) {
  const auto array =
      Array("[4]", "[2]", kBytesCodec, R"({"data_type": "bfloat16", "fill_value": 1.5})");
  const ArrayView view = ShownTo(GdalProfile(), array);
  EXPECT_EQ(MemberFor(GdalProfile(), array, "dtype"), "<f4");
  EXPECT_TRUE(view.encoding.is_wide);
  EXPECT_EQ(view.encoding.size, 8U);
  EXPECT_NE(view.fill_chunk, nullptr);
}

TEST(GdalView, WhatGdalCannotReadIsRefused) {
  EXPECT_EQ(RefusedBy(GdalProfile(), Array("[4]", "[2]", kBytesCodec,
                                           R"({"data_type": "r16", "fill_value": [0, 0]})")),
            "data type 'r16' is not supported by this view's readers");
  EXPECT_EQ(RefusedBy(GdalProfile(), Array("[4, 0]", "[2, 2]", kBytesCodec)), "empty dimension");
  EXPECT_EQ(RefusedBy(ZarrPython2Profile(), Array("[4, 0]", "[2, 2]", kBytesCodec)), "shown");
}

TEST(NetcdfView, EverythingIsPlainElements) {
  const auto array =
      Array("[5, 3]", "[4, 8]",
            R"({"name": "transpose", "configuration": {"order": [1, 0]}},
         {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip"})",
            R"({"data_type": "float16", "fill_value": 0, "dimension_names": ["a/b", "x"],
          "attributes": {"ö": ["ä"]}})");
  const ArrayView view = ShownTo(NetcdfProfile(), array);
  EXPECT_EQ(view.encoding.kind, ChunkEncoding::Kind::kDecoded);
  EXPECT_EQ(view.encoding.extent, (std::vector<uint64_t>{4, 3})) << "nothing beyond the array";
  EXPECT_EQ(view.encoding.size, 4U * 3 * 4);
  EXPECT_EQ(view.fill_chunk, nullptr) << "it takes missing chunks for zeros";
  EXPECT_EQ(MemberFor(NetcdfProfile(), array, "dtype"), "<f4");
  EXPECT_EQ(MemberFor(NetcdfProfile(), array, "chunks"), Parsed("[4, 3]"));
  EXPECT_EQ(MemberFor(NetcdfProfile(), array, "order"), "C");
  const std::string attributes = Text(view, ".zattrs");
  EXPECT_NE(attributes.find("a_b"), std::string::npos);
  EXPECT_NE(attributes.find("ö"), std::string::npos) << "escapes are not read";
}

TEST(NetcdfView, DimensionsAreNamedAfterTheirLengths) {
  const auto array = Array("[5]", "[4]", kBytesCodec, R"({"dimension_names": ["x"]})");
  const auto show = [&](const ViewContext& context) {
    return *V2View(NetcdfProfile()).ShowArray(array, LayoutOf(array), context);
  };
  for (const ViewContext& context :
       {ViewContext{}, ViewContext{.below_ome = true}, ViewContext{.is_in_root = false}}) {
    const Json attributes = *ParseJson(Text(show(context), ".zattrs"), ".zattrs");
    EXPECT_EQ(attributes["_ARRAY_DIMENSIONS"], Parsed(R"(["x_5"])"));
  }
}

TEST(NetcdfView, DimensionsInTheRootGroupCanBeNamedOtherwise) {
  const auto array =
      Array("[5]", "[4]", kBytesCodec, R"({"dimension_names": ["a/b"], "attributes": {"k": 1}})");
  const auto show = [&](const ViewContext& context) {
    return *V2View(NetcdfProfile()).ShowArray(array, LayoutOf(array), context);
  };
  EXPECT_EQ(*ParseJson(V2View(NetcdfProfile()).ShareDimensions(show({}), {"y"}), ".zattrs"),
            Parsed(R"({"k": 1, "_ARRAY_DIMENSIONS": ["y"]})"));
  EXPECT_EQ(show({}).dimensions.names, std::vector<std::string>{"a_b"});
  EXPECT_EQ(show({.is_in_root = false}).attributes, Json());
  EXPECT_EQ(show({.below_ome = true}).attributes, Json());
}

TEST(NetcdfView, TypeOfTheFillValueIsGivenWhereItsTextDoesNotTell) {
  const auto types = [&](const char* type, const char* fill) {
    const auto array = Array("[4]", "[2]", kBytesCodec,
                             fmt::format(R"({{"data_type": "{}", "fill_value": 0,
                                              "attributes": {{"_FillValue": {}}}}})",
                                         type, fill));
    const Json attributes = *ParseJson(Text(ShownTo(NetcdfProfile(), array), ".zattrs"), ".zattrs");
    return attributes.value("_NCZARR_ATTR", Json());
  };
  const auto typed = [](const char* type) {
    return Parsed(fmt::format(R"({{"types": {{"_FillValue": "{}"}}}})", type));
  };
  EXPECT_EQ(types("float32", "NaN"), typed("<f4"));
  EXPECT_EQ(types("float32", "1.5"), typed("<f4"));
  EXPECT_EQ(types("int16", "-1"), typed("<i2"));
  EXPECT_EQ(types("uint8", "5"), typed("|u1"));
  EXPECT_EQ(types("float64", "NaN"), Json()) << "a double anyway";
  EXPECT_EQ(types("int16", "-999"), Json()) << "the smallest type that it fits";
  EXPECT_EQ(types("uint8", "255"), Json());
  EXPECT_EQ(types("int8", "-1"), Json());
}

TEST(NetcdfView, AScalarIsAVectorOfOne) {
  const auto array = Array("[]", "[]", kBytesCodec);
  EXPECT_EQ(MemberFor(NetcdfProfile(), array, "shape"), Parsed("[1]"));
  EXPECT_EQ(MemberFor(NetcdfProfile(), array, "chunks"), Parsed("[1]"));
  EXPECT_NE(Text(ShownTo(NetcdfProfile(), array), ".zattrs").find("scalar"), std::string::npos);
}

TEST(NetcdfView, WhatNetcdfHasNoTypeForIsRefused) {
  for (const char* type : {"complex64", "r16", "string", "bytes"}) {
    const auto array = Array(
        "[4]", "[2]", type == std::string("string") ? R"({"name": "vlen-utf8"})" : kBytesCodec,
        fmt::format(R"({{"data_type": "{}", "fill_value": null}})", type));
    EXPECT_EQ(RefusedBy(NetcdfProfile(), array),
              fmt::format("data type '{}' is not supported by this view's readers", type));
  }
}

TEST(V2View, ChunksWhoseCodecCannotMakeOneOfTheFillValueAreDecoded) {
  const std::string named = R"({"dimension_names": ["x"], "fill_value": 7})";
  const auto array = Array(
      "[4]", "[2]",
      R"({"name": "bytes"}, {"name": "numcodecs.lzma", "configuration": {"format": 3, "filters": [{"id": 33}]}})",
      named);
  const ArrayView view = Shown(array);
  EXPECT_EQ(view.encoding.kind, ChunkEncoding::Kind::kDecoded);
  EXPECT_NE(view.fill_chunk, nullptr);
  const auto huge =
      Array("[4]", "[10000000000]", std::string(kBytesCodec) + R"(, {"name": "gzip"})", named);
  EXPECT_EQ(Shown(huge).encoding.kind, ChunkEncoding::Kind::kPassThrough)
      << "nor can they be decoded";
  EXPECT_EQ(Shown(huge).fill_chunk, nullptr);
  EXPECT_EQ(Shown(huge).notes.size(), 1U);
  EXPECT_EQ(Member(huge, "fill_value"), 7);
}

TEST(V2View, MembersOfAConfigurationAreNotTakenForTheCodec) {
  EXPECT_EQ(Compressor(R"({"name": "numcodecs.lzma", "configuration": {"id": 5}})")["id"], "lzma");
}

TEST(V2View, ZstdChunksAreMadeSuchThatOldDecodersTakeThem) {
  const auto array = Array("[4]", "[2]", std::string(kBytesCodec) + R"(, {"name": "zstd"})");
  EXPECT_EQ(Shown(array).encoding.kind, ChunkEncoding::Kind::kPatchedZstd);
  EXPECT_EQ(Shown(array).encoding.size, 2U);
}

// --- Names
// --------------------------------------------------------------------------------------------

Json Dimensions(std::string_view shape, std::string_view members) {
  const ArrayView view = Shown(Array(shape, shape, kBytesCodec, members));
  return Parsed(Text(view, ".zattrs"))["_ARRAY_DIMENSIONS"];
}

TEST(V2View, EveryDimensionHasAName) {
  EXPECT_EQ(Dimensions("[4, 5]", "{}"), Parsed(R"(["dim_0_4", "dim_1_5"])"));
  EXPECT_EQ(Dimensions("[4, 5]", R"({"dimension_names": [null, "x"]})"),
            Parsed(R"(["dim_0_4", "x"])"));
  EXPECT_EQ(Dimensions("[4, 5]", R"({"dimension_names": ["", "x"]})"),
            Parsed(R"(["dim_0_4", "x"])"));
  EXPECT_EQ(Dimensions("[]", "{}"), Parsed("[]"));
}

TEST(V2View, OneNameHasOneLength) {
  EXPECT_EQ(Dimensions("[4, 4]", R"({"dimension_names": ["x", "x"]})"), Parsed(R"(["x", "x"])"));
  EXPECT_EQ(Dimensions("[4, 5]", R"({"dimension_names": ["x", "x"]})"),
            Parsed(R"(["x", "x_1_5"])"));
  EXPECT_EQ(Dimensions("[7, 4, 5]", R"({"dimension_names": ["x_2_5", "x", "x"]})"),
            Parsed(R"(["x_2_5", "x", "x_2_5_2_5"])"));
}

TEST(V2View, TheAttributeNamesDimensionsThatNothingElseNames) {
  EXPECT_EQ(Dimensions("[4, 5]", R"({"attributes": {"_ARRAY_DIMENSIONS": ["a", "b"]}})"),
            Parsed(R"(["a", "b"])"));
  EXPECT_EQ(Dimensions("[4, 5]", R"({"attributes": {"_ARRAY_DIMENSIONS": ["a", null]}})"),
            Parsed(R"(["a", "dim_1_5"])"));
  for (const char* wrong : {R"(["a"])", R"([null, 1])", R"("a")", R"([["a"], NaN])"}) {
    EXPECT_EQ(Dimensions("[4, 5]",
                         fmt::format(R"({{"attributes": {{"_ARRAY_DIMENSIONS": {}}}}})", wrong)),
              Parsed(R"(["dim_0_4", "dim_1_5"])"))
        << wrong;
  }
}

TEST(V2View, DimensionNamesBeatALeftOverAttribute) {
  const auto named = [](std::string_view names) {
    return fmt::format(
        R"({{"dimension_names": {}, "attributes": {{"_ARRAY_DIMENSIONS": ["old", "b"]}}}})", names);
  };
  EXPECT_EQ(Dimensions("[4, 5]", named(R"(["y", "x"])")), Parsed(R"(["y", "x"])"));
  EXPECT_EQ(Dimensions("[4, 5]", named(R"(["y", null])")), Parsed(R"(["y", "b"])"));
  EXPECT_EQ(Dimensions("[4, 5]", named("null")), Parsed(R"(["old", "b"])"));
  EXPECT_EQ(Dimensions("[4, 5]", named(R"(["", "x"])")), Parsed(R"(["dim_0_4", "x"])"))
      << "an empty name is one that no v2 reader takes, not an absent one";
}

TEST(V2View, OnlyAbsentDimensionNamesKeepXarrayFromOpeningTheArrayInV3) {
  const auto fill = [](std::string_view names) {
    return Member(Array("[4, 5]", "[2, 5]", kBytesCodec, names), "fill_value");
  };
  EXPECT_EQ(fill(R"({"dimension_names": ["y", "x"]})"), nullptr);
  EXPECT_EQ(fill(R"({"dimension_names": ["y", null]})"), nullptr);
  EXPECT_EQ(fill(R"({"dimension_names": [null, null]})"), nullptr);
  EXPECT_EQ(fill(R"({"dimension_names": null})"), 0);
  EXPECT_EQ(fill("{}"), 0);
  EXPECT_EQ(fill(R"({"attributes": {"_ARRAY_DIMENSIONS": ["y", "x"]}})"), 0)
      << "which xarray does not read in v3";
}

TEST(V2View, DocumentsArePureAscii) {
  const ArrayView view =
      Shown(Array("[4]", "[2]", kBytesCodec,
                  R"({"dimension_names": ["länge"], "attributes": {"größe": "𝄞", "nan": NaN}})"));
  const std::string text = Text(view, ".zattrs");
  EXPECT_TRUE(
      std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_TRUE(Contains(text, R"("gr\u00f6\u00dfe": "\ud834\udd1e")")) << text;
  EXPECT_TRUE(Contains(text, R"("l\u00e4nge")"));
  EXPECT_TRUE(Contains(text, "\"nan\": NaN"));
}

TEST(V2View, TheSeparatorIsTheSourcesTheUsersOrADot) {
  const auto separator = [](std::string_view encoding, const ViewContext& context) {
    const ArrayView view = Shown(Array("[4, 4]", "[2, 2]", kBytesCodec,
                                       fmt::format(R"({{"chunk_key_encoding": {}}})", encoding)),
                                 context);
    EXPECT_EQ(Parsed(Text(view, ".zarray"))["dimension_separator"],
              std::string(1, view.naming.separator));
    return view.naming.separator;
  };
  const std::string_view standard = R"({"name": "default"})";
  const std::string_view v2_slash = R"({"name": "v2", "configuration": {"separator": "/"}})";
  const std::string_view v2_dot = R"({"name": "v2"})";
  EXPECT_EQ(separator(standard, {}), '.');
  EXPECT_EQ(separator(standard, {.below_ome = true}), '/');
  EXPECT_EQ(separator(v2_slash, {}), '/');
  EXPECT_EQ(separator(v2_dot, {}), '.');
  EXPECT_EQ(separator(v2_dot, {.below_ome = true}), '.');
  EXPECT_EQ(separator(v2_slash, {.forced_separator = '.'}), '.');
  EXPECT_EQ(separator(standard, {.forced_separator = '/', .below_ome = false}), '/');
  EXPECT_EQ(separator(standard, {.forced_separator = '.', .below_ome = true}), '.');
}

}  // namespace
}  // namespace zarrfs::v2_view_test
