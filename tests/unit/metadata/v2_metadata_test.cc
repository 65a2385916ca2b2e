#include "zarrcore/metadata/v2_metadata.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "tests/unit/metadata/metadata_testing.h"
#include "zarrcore/metadata/base64.h"

namespace zarrfs::v2_metadata_test {
namespace {

constexpr std::string_view kArray = R"({
  "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "compressor": null,
  "fill_value": null, "order": "C", "filters": null})";

std::string ArrayWith(std::string_view change) { return Changed(kArray, change); }

std::optional<NamedText> Zattrs(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(NamedText{"a/.zattrs", text});
}

ArrayMetadata With(std::string_view change, std::string_view zattrs = "") {
  const std::string text = ArrayWith(change);
  auto array = ParseZarray({"a/.zarray", text}, Zattrs(zattrs));
  EXPECT_TRUE(array) << change << ": " << (array ? "" : array.error().message);
  return array ? *std::move(array) : ArrayMetadata{};
}

std::string RefusedText(ErrorCode code, std::string_view text, std::string_view zattrs = "") {
  const auto array = ParseZarray({"a/.zarray", text}, Zattrs(zattrs));
  EXPECT_FALSE(array) << text;
  if (array) return "";
  EXPECT_EQ(ToString(array.error().code), ToString(code)) << array.error().message;
  return array.error().message;
}

std::string Damaged(std::string_view change) {
  return RefusedText(ErrorCode::kDamaged, ArrayWith(change));
}
std::string Unsupported(std::string_view change) {
  return RefusedText(ErrorCode::kUnsupported, ArrayWith(change));
}

std::string Codecs(std::string_view change) { return With(change).document["codecs"].dump(); }

Json FillOf(std::string_view dtype, std::string_view fill) {
  return With(fmt::format(R"({{"dtype": {}, "fill_value": {}}})", dtype, fill))
      .document["fill_value"];
}

TEST(ParseZarray, IsTheV3DocumentThatMeansTheSame) {
  const ArrayMetadata array = With(R"({"fill_value": 7, "dimension_separator": "/"})",
                                   R"({"units": "m", "_ARRAY_DIMENSIONS": ["y", "x"], "n": NaN})");
  EXPECT_EQ(DumpJson(array.document), DumpJson(*ParseJson(R"({
    "zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
    "fill_value": 7, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {"units": "m", "n": NaN, "_FillValue": 7},
    "dimension_names": ["y", "x"]})",
                                                          "k")));
  EXPECT_EQ(array.shape, (std::vector<uint64_t>{4, 6}));
  EXPECT_EQ(array.chunk_shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(array.key_encoding, (ChunkKeyEncoding{ChunkKeyEncoding::Kind::kV2, '/'}));
  EXPECT_EQ(array.dimension_names->at(1), "x");
  EXPECT_FALSE(array.attributes.contains("_ARRAY_DIMENSIONS"));
}

TEST(ParseZarray, TheSeparatorIsAPointUnlessSaid) {
  EXPECT_EQ(With("{}").key_encoding.separator, '.');
  EXPECT_EQ(With(R"({"dimension_separator": null})").key_encoding.separator, '.');
  EXPECT_EQ(Damaged(R"({"dimension_separator": "_"})"),
            "a/.zarray: dimension_separator: expected \"/\" or \".\", found \"_\"");
}

TEST(ParseZarray, UnknownMembersAreIgnored) {
  EXPECT_EQ(With(R"({"_NCZARR_ARRAY": {}, "extra": 1})").rank(), 2U);
}

TEST(ParseZarray, FiltersAndFillValueMayBeAbsent) {
  EXPECT_EQ(With(R"({"filters": "-", "fill_value": "-"})").fill_value, FillBytes(4));
}

TEST(ParseZarray, DamageIsNamed) {
  const struct {
    std::string_view change, message;
  } cases[] = {
      {R"({"zarr_format": "-"})", "zarr_format: expected 2, found none"},
      {R"({"shape": "-"})", "expected a member shape, found none"},
      {R"({"chunks": "-"})", "expected a member chunks, found none"},
      {R"({"dtype": "-"})", "expected a member dtype, found none"},
      {R"({"compressor": "-"})", "expected a member compressor, found none"},
      {R"({"order": "-"})", "expected a member order, found none"},
      {R"({"order": "K"})", "order: expected \"C\" or \"F\", found \"K\""},
      {R"({"chunks": [2]})",
       "expected shape and chunks as lists of equally many integers, found [4,6] and [2]"},
      {R"({"chunks": true})",
       "expected shape and chunks as lists of equally many integers, found [4,6] and true"},
      {R"({"shape": [4, -6]})", "shape: expected integers from 0 to 2^63-1, found -6"},
      {R"({"filters": {}})", "filters: expected a list or null, found {}"},
      {R"({"compressor": {"level": 1}})", "expected a codec with an id, found {\"level\":1}"},
      {R"({"compressor": "gzip"})", "expected a codec with an id, found \"gzip\""},
      {R"({"dtype": "<"})",
       "dtype: expected a string such as \"<f8\" or a list of fields, found \"<\""},
      {R"({"dtype": 7})", "dtype: expected a string such as \"<f8\" or a list of fields, found 7"},
      {R"({"dtype": "<M8[]"})",
       "dtype: expected a string such as \"<f8\" or a list of fields, found \"<M8[]\""},
      {R"({"dtype": []})",
       "dtype: expected a string such as \"<f8\" or a list of fields, found []"},
      {R"({"dtype": [["x"]]})",
       "dtype: expected a string such as \"<f8\" or a list of fields, found [\"x\"]"},
      {R"({"fill_value": 1.5})", "fill_value: expected an integer in range for int32, found 1.5"},
      {R"({"dtype": "|V2", "fill_value": "AAAA"})",
       "fill_value: expected a base64 string of at most 2 bytes, found \"AAAA\""},
      {R"({"filters": [{"id": "delta"}]})",
       "filter 'delta': expected a number such as \"<i4\" as dtype, found null"},
  };
  for (const auto& [change, message] : cases) {
    EXPECT_EQ(Damaged(change), fmt::format("a/.zarray: {}", message));
  }
  EXPECT_TRUE(RefusedText(ErrorCode::kDamaged, "{").starts_with("a/.zarray: not JSON"));
  EXPECT_EQ(RefusedText(ErrorCode::kDamaged, "[]"), "a/.zarray: expected an object, found []");
}

TEST(ParseZarray, AttributesThatCannotBeUsedAreLeftOutAndSaidToBe) {
  const auto array = ParseZarray({"a/.zarray", kArray}, Zattrs("1"));
  ASSERT_TRUE(array);
  EXPECT_EQ(array->notes,
            std::vector<std::string>{
                "a/.zattrs: expected an object, found 1; the attributes are left out"});
}

TEST(ParseZarray, TooManyFiltersAreUnsupported) {
  Json filters = Json::array();
  while (filters.size() <= kMaxCodecs) filters.push_back({{"id", "crc32"}});
  EXPECT_EQ(Unsupported(Json{{"filters", filters}}.dump()),
            "a/.zarray: codecs: expected at most 64 in a chain, found 66");
}

TEST(ParseZarray, WhatV3CannotSayIsRefused) {
  const struct {
    std::string_view change, message;
  } cases[] = {
      {R"({"zarr_format": 3})", "zarr_format: expected 2, found 3"},
      {R"({"dtype": "<f16"})", "dtype \"<f16\" is not known"},
      {R"({"dtype": "|S0"})", "dtype \"|S0\" is not known"},
      {R"({"dtype": "|S99999999"})", "dtype \"|S99999999\" is not known"},
      {R"({"dtype": "<M8[fortnights]"})", "dtype \"<M8[fortnights]\" is not known"},
      {R"({"dtype": [["x", "<f4", [64, 65]]]})",
       "dtype: expected fields of at most 4096 elements, found [\"x\",\"<f4\",[64,65]]"},
      {R"({"dtype": [["x", [["y", "<f4", 65]], 64]]})",
       "dtype: expected fields of at most 4096 elements, found "
       "[\"x\",[[\"y\",\"<f4\",65]],64]"},
      {R"({"dtype": [["x", "|O"]]})", "dtype [\"x\",\"|O\"] is not known"},
      {R"({"dtype": "|O"})", "dtype \"|O\" without a filter that encodes objects"},
      {R"({"dtype": "|O", "filters": [{"id": "json2"}]})",
       "dtype \"|O\" with the codec 'json2' is not known"},
      {R"({"dtype": "|O", "compressor": {"id": "gzip"}})",
       "dtype \"|O\" with the codec 'gzip' is not known"},
      {R"({"compressor": {"id": "best"}})", "codec 'best' is not known"},
      {R"({"filters": [{"id": "vlen-utf8"}]})", "codec 'vlen-utf8' is not known"},
      {R"({"filters": [{"id": "shuffle"}, {"id": "delta", "dtype": "<i4"}]})",
       "the filter 'delta' after one that makes bytes is not known"},
      {R"({"filters": [{"id": "delta", "dtype": ">i4"}]})",
       "the filter 'delta' of \">i4\" on elements of another type is not known"},
      {R"({"filters": [{"id": "delta", "dtype": "<i4", "astype": "i3"}]})",
       "filter 'delta': expected a number such as \"<i4\" as astype, found \"i3\""},
      {R"({"filters": [{"id": "packbits"}]})",
       "the filter 'packbits' of \"|b1\" on elements of another type is not known"},
      {R"({"filters": [{"id": "bitround", "keepbits": 3}]})",
       "the filter 'bitround' of floats on elements of another type is not known"},
  };
  for (const auto& [change, message] : cases) {
    EXPECT_EQ(Unsupported(change), fmt::format("a/.zarray: {}", message));
  }
}

TEST(ParseZarray, DtypesAreTheV3TypesOfTheSameElements) {
  const struct {
    std::string_view dtype, data_type, endian;
  } cases[] = {
      {R"("|b1")", R"("bool")", ""},
      {R"("|u1")", R"("uint8")", ""},
      {R"("<u1")", R"("uint8")", ""},
      {R"("<i2")", R"("int16")", "little"},
      {R"("|i2")", R"("int16")", "little"},
      {R"(">u8")", R"("uint64")", "big"},
      {R"("<f2")", R"("float16")", "little"},
      {R"(">c16")", R"("complex128")", "big"},
      {R"("|S3")", R"({"name":"null_terminated_bytes","configuration":{"length_bytes":3}})", ""},
      {R"(">U3")", R"({"name":"fixed_length_utf32","configuration":{"length_bytes":12}})", "big"},
      {R"("|V5")", R"({"name":"raw_bytes","configuration":{"length_bytes":5}})", ""},
      {R"("<M8[ns]")",
       R"({"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}})", "little"},
      {R"(">m8[10us]")",
       R"({"name":"numpy.timedelta64","configuration":{"unit":"us","scale_factor":10}})", "big"},
      {R"("<M8")",
       R"({"name":"numpy.datetime64","configuration":{"unit":"generic","scale_factor":1}})",
       "little"},
      {R"([["a","|u1"],["b",[["c",">f4"],["d","|S2"]]]])",
       R"({"name":"structured","configuration":{"fields":[["a","uint8"],["b",{"name":"structured",)"
       R"("configuration":{"fields":[["c","float32"],["d",{"name":"null_terminated_bytes",)"
       R"("configuration":{"length_bytes":2}}]]}}]]}})",
       "big"},
  };
  for (const auto& [dtype, data_type, endian] : cases) {
    const ArrayMetadata array = With(fmt::format(R"({{"dtype": {}}})", dtype));
    EXPECT_EQ(array.document["data_type"].dump(), data_type);
    ASSERT_EQ(array.codecs.size(), 1U);
    EXPECT_EQ(array.codecs[0].configuration.value("endian", ""), endian) << dtype;
    FillBytes none(array.data_type.item_size);
    if (array.data_type.is_date()) none.back() = std::byte{0x80};  // NaT
    EXPECT_EQ(array.fill_value, none) << dtype;
  }
}

TEST(ParseZarray, ObjectsAreWhatTheirFilterSays) {
  const ArrayMetadata text = With(
      R"({"dtype": "|O", "fill_value": "x", "filters": [{"id": "vlen-utf8"}],
          "compressor": {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": -1}})");
  EXPECT_EQ(text.data_type.kind, DataKind::kString);
  EXPECT_EQ(text.document["fill_value"], "x");
  EXPECT_EQ(text.document["codecs"].dump(),
            R"([{"name":"vlen-utf8"},{"name":"blosc","configuration":{"typesize":1,"cname":"zstd",)"
            R"("clevel":1,"shuffle":"bitshuffle","blocksize":0}}])");
  const ArrayMetadata bytes =
      With(R"({"dtype": "|O", "fill_value": 0, "filters": [{"id": "vlen-bytes"}]})");
  EXPECT_EQ(bytes.document["data_type"], "variable_length_bytes");
  EXPECT_EQ(bytes.document["fill_value"], "");
  EXPECT_EQ(bytes.document["codecs"].dump(), R"([{"name":"vlen-bytes"}])");
}

TEST(ParseZarray, FOrderIsATransposeOfAllAxes) {
  EXPECT_EQ(Codecs(R"({"order": "F", "dtype": "|u1"})"),
            R"([{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes"}])");
  EXPECT_EQ(Codecs(R"({"order": "F", "dtype": "|u1", "shape": [4], "chunks": [2]})"),
            R"([{"name":"bytes"}])");
  EXPECT_EQ(Codecs(R"({"order": "F", "dtype": "|u1", "shape": [], "chunks": []})"),
            R"([{"name":"bytes"}])");
}

TEST(ParseZarray, CompressorsKeepTheirConfiguration) {
  const struct {
    std::string_view compressor, codec;
  } cases[] = {
      {R"({"id": "gzip", "level": 9})", R"({"name":"gzip","configuration":{"level":9}})"},
      {R"({"id": "zstd", "level": -3})",
       R"({"name":"zstd","configuration":{"level":-3,"checksum":false}})"},
      {R"({"id": "zstd", "level": 1, "checksum": true})",
       R"({"name":"zstd","configuration":{"level":1,"checksum":true}})"},
      {R"({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0, "blocksize": 64})",
       R"({"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,)"
       R"("shuffle":"noshuffle","blocksize":64}})"},
      {R"({"id": "blosc"})",
       R"({"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,)"
       R"("shuffle":"shuffle","blocksize":0}})"},
      {R"({"id": "blosc", "shuffle": -1})",
       R"({"name":"blosc","configuration":{"typesize":4,"cname":"lz4","clevel":5,)"
       R"("shuffle":"shuffle","blocksize":0}})"},
      {R"({"id": "zlib", "level": 1})", R"({"name":"numcodecs.zlib","configuration":{"level":1}})"},
      {R"({"id": "crc32c"})", R"({"name":"numcodecs.crc32c","configuration":{}})"},
      {R"({"id": "lzma", "filters": null, "preset": 1})",
       R"({"name":"numcodecs.lzma","configuration":{"filters":null,"preset":1}})"},
  };
  for (const auto& [compressor, codec] : cases) {
    EXPECT_EQ(
        Codecs(fmt::format(R"({{"compressor": {}}})", compressor)),
        fmt::format(R"([{{"name":"bytes","configuration":{{"endian":"little"}}}},{}])", codec));
  }
}

TEST(ParseZarray, ItemsBeyondWhatBloscKnowsAreBytes) {
  EXPECT_EQ(With(R"({"dtype": "|S256", "compressor": {"id": "blosc"}})")
                .document["codecs"][1]["configuration"]["typesize"],
            1);
}

TEST(ParseZarray, FiltersOfElementsComeBeforeTheBytesAndOfBytesAfterThem) {
  EXPECT_EQ(Codecs(R"({"order": "F", "compressor": {"id": "zlib", "level": 1}, "filters": [
              {"id": "delta", "dtype": "<i4", "astype": ">i2"}, {"id": "shuffle"},
              {"id": "crc32"}]})"),
            R"([{"name":"transpose","configuration":{"order":[1,0]}},)"
            R"({"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":">i2"}},)"
            R"({"name":"bytes","configuration":{"endian":"big"}},)"
            R"({"name":"numcodecs.shuffle","configuration":{"elementsize":4}},)"
            R"({"name":"numcodecs.crc32","configuration":{}},)"
            R"({"name":"numcodecs.zlib","configuration":{"level":1}}])");
}

TEST(ParseZarray, FiltersTellTheByteOrderOfWhatTheyLeave) {
  EXPECT_EQ(Codecs(R"({"dtype": ">i4", "filters": [{"id": "delta", "dtype": ">i4"}]})"),
            R"([{"name":"numcodecs.delta","configuration":{"dtype":">i4"}},)"
            R"({"name":"bytes","configuration":{"endian":"big"}}])");
  EXPECT_EQ(Codecs(R"({"dtype": "|b1", "filters": [{"id": "packbits"}]})"),
            R"([{"name":"numcodecs.packbits","configuration":{}},{"name":"bytes"}])");
  EXPECT_EQ(Codecs(R"({"dtype": ">f4", "filters": [
              {"id": "bitround", "keepbits": 3},
              {"id": "fixedscaleoffset", "scale": 10, "offset": 1, "dtype": ">f4", "astype": "|u1"},
              {"id": "astype", "decode_dtype": "|u1", "encode_dtype": "<u2"}]})"),
            R"([{"name":"numcodecs.bitround","configuration":{"keepbits":3}},)"
            R"({"name":"numcodecs.fixedscaleoffset","configuration":)"
            R"({"scale":10,"offset":1,"dtype":">f4","astype":"|u1"}},)"
            R"({"name":"numcodecs.astype","configuration":)"
            R"({"decode_dtype":"|u1","encode_dtype":"<u2"}},)"
            R"({"name":"bytes","configuration":{"endian":"little"}}])");
}

TEST(ParseZarray, FieldsMayHaveDifferentByteOrders) {
  EXPECT_EQ(Codecs(R"({"dtype": [["a", ">i4"], ["b", "<i2"], ["c", [["d", "|u1"], ["e", ">f4"]], 2],
                                ["f", ">u2", [3]]]})"),
            R"([{"name":"zarrfs.mixed_endian","configuration":)"
            R"({"big":[[0,4],[6,16],[16,22]]}}])");
  EXPECT_EQ(Codecs(R"({"dtype": [["a", ">i4"], ["b", [["c", "<i2"], ["d", ">i2"]], 2]]})"),
            R"([{"name":"zarrfs.mixed_endian","configuration":{"big":[[0,4],[6,8],[10,12]]}}])");
  EXPECT_EQ(Codecs(R"({"dtype": [["a", ">i4"], ["b", ">i2"]]})"),
            R"([{"name":"bytes","configuration":{"endian":"big"}}])");
  EXPECT_EQ(FillOf(R"([["a", ">i2"], ["b", "<i2"]])", R"("AAECAA==")"), "AQACAA==");
}

TEST(ParseZarray, CompressorsOfNumbersStandInPlaceOfTheBytes) {
  EXPECT_EQ(Codecs(R"({"compressor": {"id": "pcodec", "level": 8}})"),
            R"([{"name":"numcodecs.pcodec","configuration":{"level":8}}])");
}

TEST(ParseZarray, FillValuesAreThoseOfV3) {
  EXPECT_EQ(FillOf(R"("|b1")", "1"), true);
  EXPECT_EQ(FillOf(R"("|b1")", "null"), false);
  EXPECT_EQ(FillOf(R"(">f4")", R"("-Infinity")"), "-Infinity");
  EXPECT_EQ(FillOf(R"("<f8")", "NaN"), "NaN");
  EXPECT_EQ(FillOf(R"("<f8")", "null"), 0.0);
  EXPECT_EQ(FillOf(R"("<u8")", "18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(FillOf(R"("<c8")", R"([1, "NaN"])").dump(), R"([1.0,"NaN"])");
  EXPECT_EQ(FillOf(R"("<M8[s]")", R"("NaT")"), INT64_MIN);
  EXPECT_EQ(FillOf(R"("<U2")", "0"), "0");
  EXPECT_EQ(FillOf(R"("<U2")", "-12"), "-1") << "cut, as numpy does";
  EXPECT_EQ(FillOf(R"("<M8[s]")", "null"), std::numeric_limits<int64_t>::min()) << "NaT";
  EXPECT_EQ(FillOf(R"("<m8[s]")", "0"), 0);
  EXPECT_EQ(FillOf(R"("<U2")", R"("abc")"), "ab");
  EXPECT_EQ(FillOf(R"("|S3")", R"("YWI=")"), "YWI=");
  EXPECT_EQ(FillOf(R"("|S3")", "0"), "MA==");
  EXPECT_EQ(With(R"({"dtype": "|O", "fill_value": 0, "filters": [{"id": "vlen-utf8"}]})")
                .document["fill_value"],
            "0");
  EXPECT_EQ(FillOf(R"("|V3")", R"("AQI=")"), "AQIA");
  EXPECT_EQ(FillOf(R"("|V3")", "0"), "AAAA");
}

TEST(ParseZarray, AFillValueOfNullIsZeroBytesThatNobodyMeant) {
  EXPECT_TRUE(With(R"({"fill_value": null})").undefined_fill);
  EXPECT_TRUE(With(R"({"fill_value": "-"})").undefined_fill);
  EXPECT_EQ(With(R"({"fill_value": null})").fill_value, FillBytes(4));
  EXPECT_FALSE(With(R"({"fill_value": 0})").undefined_fill);
}

TEST(ParseZarray, TheFillOfAStructureIsInItsByteOrder) {
  const std::string fill = EncodeBase64(std::vector{std::byte{1}, std::byte{2}, std::byte{3}});
  const std::string reversed = EncodeBase64(std::vector{std::byte{1}, std::byte{3}, std::byte{2}});
  EXPECT_EQ(FillOf(R"([["a", "|u1"], ["b", "<i2"]])", '"' + fill + '"'), fill);
  EXPECT_EQ(FillOf(R"([["a", "|u1"], ["b", ">i2"]])", '"' + fill + '"'), reversed);
}

TEST(ParseZarray, AFillValueMasksInV3Too) {
  const auto attribute = [](std::string_view change, std::string_view zattrs = "") {
    return With(change, zattrs).attributes.value("_FillValue", Json());
  };
  EXPECT_EQ(attribute(R"({"fill_value": 7})"), 7);
  EXPECT_EQ(attribute(R"({"fill_value": 0})"), 0);
  EXPECT_EQ(attribute(R"({"fill_value": null})"), nullptr);
  EXPECT_EQ(attribute(R"({"fill_value": 7})", R"({"_FillValue": 8})"), 8);
  EXPECT_EQ(attribute(R"({"dtype": "|b1", "fill_value": 1})"), true);
  // xarray's FillValueCoder: base64 of a little-endian float64, for floats of every size.
  EXPECT_EQ(attribute(R"({"dtype": ">f4", "fill_value": 1.5})"), "AAAAAAAA+D8=");
  EXPECT_EQ(attribute(R"({"dtype": "<f2", "fill_value": "NaN"})"), "AAAAAAAA+H8=");
  EXPECT_EQ(attribute(R"({"dtype": "<f8", "fill_value": 1.5})"), "AAAAAAAA+D8=");
  EXPECT_EQ(attribute(R"({"dtype": "<c8", "fill_value": [1.5, 0]})"),
            Json::array({"AAAAAAAA+D8=", "AAAAAAAAAAA="}));
  // xarray refuses a group in which an array of any other type has the attribute.
  for (const auto* change :
       {R"({"dtype": "|S3", "fill_value": "YWI="})", R"({"dtype": "<U3", "fill_value": "a"})",
        R"({"dtype": "<M8[s]", "fill_value": 1})", R"({"dtype": "|V2", "fill_value": "AAA="})",
        R"({"dtype": [["a", "|u1"]], "fill_value": "AA=="})"}) {
    EXPECT_EQ(attribute(change), nullptr) << change;
  }
}

TEST(ParseZarray, TheAddedAttributeIsTheFillValueAgain) {
  for (const auto* change :
       {R"({"dtype": "<f4", "fill_value": 0.1})", R"({"dtype": "<f2", "fill_value": "-Infinity"})",
        R"({"dtype": "<c16", "fill_value": [0.1, "NaN"]})", R"({"fill_value": -1})",
        R"({"dtype": "|b1", "fill_value": true})"}) {
    const ArrayMetadata array = With(change);
    EXPECT_EQ(DecodeFillAttribute(array.attributes["_FillValue"], array.data_type),
              array.fill_value)
        << change;
  }
}

TEST(ParseZarray, DimensionsThatAreNoNamesStayAnAttribute) {
  for (const std::string_view dimensions : {R"(["y"])", R"(["y", null])", R"("yx")", "NaN"}) {
    const ArrayMetadata array =
        With("{}", fmt::format(R"({{"_ARRAY_DIMENSIONS": {}}})", dimensions));
    EXPECT_FALSE(array.dimension_names) << dimensions;
    EXPECT_TRUE(array.attributes.contains("_ARRAY_DIMENSIONS")) << dimensions;
  }
}

// numpy and zarr-python read these spellings.
TEST(ParseZarray, OtherSpellingsOfTypesAndOrders) {
  const auto type = [](std::string_view dtype) {
    const ArrayMetadata array = With(fmt::format(R"({{"dtype": {}}})", dtype));
    return fmt::format("{} {} {}", array.data_type.document.dump(), array.data_type.item_size,
                       array.codecs[0].configuration.value("endian", ""));
  };
  EXPECT_EQ(type(R"("i4")"), R"("int32" 4 little)");
  EXPECT_EQ(type(R"("=i4")"), R"("int32" 4 little)");
  EXPECT_EQ(type(R"("u1")"), R"("uint8" 1 )");
  EXPECT_EQ(type(R"("|S70000")"),
            R"({"name":"null_terminated_bytes","configuration":{"length_bytes":70000}} 70000 )");
  EXPECT_EQ(
      type(R"([["", "<i2"], ["x", "<f4"], ["", "|u1"]])"),
      R"({"name":"structured","configuration":{"fields":[["f0","int16"],["x","float32"],["f2","uint8"]]}} 7 little)");
  const std::string two_floats =
      R"({"name":"structured","configuration":{"fields":[["0","float32"],["1","float32"]]}})";
  EXPECT_EQ(type(R"([["x", ">f4", [2]], ["y", "|i1", []]])"),
            R"({"name":"structured","configuration":{"fields":[["x",)" + two_floats +
                R"(],["y","int8"]]}} 9 big)");
  EXPECT_EQ(type(R"([["x", [["z", "<f4", 2]], [1, 1]]])"),
            R"({"name":"structured","configuration":{"fields":[["x",)"
            R"({"name":"structured","configuration":{"fields":[["0",)"
            R"({"name":"structured","configuration":{"fields":[["z",)" +
                two_floats + R"(]]}}]]}}]]}} 8 little)");
  EXPECT_EQ(Codecs(R"({"order": "A"})"), Codecs(R"({"order": "C"})"));
  EXPECT_EQ(Codecs(R"({"order": "f"})"), Codecs(R"({"order": "F"})"));
}

// n5-zarr writes all fill values as strings.
TEST(ParseZarray, FillValuesThatAreTextAreReadAsNumbers) {
  const struct {
    std::string_view dtype, text, number;
  } cases[] = {{"<i4", "0", "0"},
               {"<i4", "-7", "-7"},
               {"|u1", "255.0", "255"},
               {"<f4", "0.0", "0.0"},
               {"<f8", "1e300", "1e300"},
               {"<f4", "nan", "NaN"},
               {"<f4", "NaN", "NaN"},
               {"<f8", "inf", "Infinity"},
               {"<f8", "-inf", "-Infinity"},
               {"|b1", "true", "true"},
               {"|b1", "0", "false"},
               {"<u8", "18446744073709551615", "18446744073709551615"}};
  for (const auto& [dtype, text, number] : cases) {
    const auto fill = [&dtype = dtype](std::string_view value) {
      return With(fmt::format(R"({{"dtype": "{}", "fill_value": {}}})", dtype, value)).fill_value;
    };
    EXPECT_EQ(fill(fmt::format("\"{}\"", text)), fill(number)) << dtype << " " << text;
  }
  for (const char* wrong : {R"("")", R"("zero")", R"("0x")", R"("300")", R"("1.5")", R"("nan")"}) {
    EXPECT_TRUE(Damaged(fmt::format(R"({{"dtype": "|u1", "fill_value": {}}})", wrong))
                    .starts_with("a/.zarray: fill_value: expected an integer"))
        << wrong;
  }
}

TEST(ParseZarray, AFillValueOfBytesMayHaveTheirZeros) {
  const auto fill = [](std::string_view text) {
    return With(fmt::format(R"({{"dtype": "|S4", "fill_value": "{}"}})", text)).fill_value;
  };
  EXPECT_EQ(fill("YWIAAA=="), fill("YWI="));
  EXPECT_EQ(fill("AAAAAA=="), FillBytes(4));
}

TEST(ParseZgroup, IsAGroupWithTheAttributes) {
  const auto group = ParseZgroup({".zgroup", R"({"zarr_format": 2})"},
                                 NamedText{".zattrs", R"({"title": "x", "n": -Infinity})"});
  ASSERT_TRUE(group);
  EXPECT_EQ(group->attributes["title"], "x");
  EXPECT_EQ(DumpJson(group->document),
            "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {\n"
            "    \"title\": \"x\",\n    \"n\": -Infinity\n  }\n}\n");
  EXPECT_EQ(group->consolidated_metadata, Json::value_t::null);
  const auto bare = ParseZgroup({".zgroup", R"({"zarr_format": 2})"}, std::nullopt);
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->attributes, Json::object());
}

TEST(ParseZgroup, DamageIsNamed) {
  const auto message = [](std::string_view zgroup, std::string_view zattrs) {
    const auto group = ParseZgroup({"g/.zgroup", zgroup}, NamedText{"g/.zattrs", zattrs});
    EXPECT_FALSE(group);
    return group ? "" : group.error().message;
  };
  EXPECT_EQ(message("{}", "{}"), "g/.zgroup: zarr_format: expected 2, found none");
  EXPECT_EQ(message(R"({"zarr_format": 1})", "{}"), "g/.zgroup: zarr_format: expected 2, found 1");
}

TEST(ParseZgroup, AttributesThatCannotBeUsedAreLeftOutAndSaidToBe) {
  for (const auto& [zattrs, reason] : {std::pair("", "g/.zattrs: not JSON"),
                                       {"{\"a\": [1", "g/.zattrs: not JSON"},
                                       {"[]", "g/.zattrs: expected an object, found []"}}) {
    const auto group =
        ParseZgroup({"g/.zgroup", R"({"zarr_format": 2})"}, NamedText{"g/.zattrs", zattrs});
    ASSERT_TRUE(group) << zattrs;
    EXPECT_EQ(group->attributes, Json::object());
    ASSERT_EQ(group->notes.size(), 1U);
    EXPECT_TRUE(group->notes[0].starts_with(reason)) << group->notes[0];
    EXPECT_TRUE(group->notes[0].ends_with("; the attributes are left out")) << group->notes[0];
  }
}

}  // namespace
}  // namespace zarrfs::v2_metadata_test
