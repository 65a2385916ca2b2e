#include "zarrcore/metadata/metadata.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/unit/metadata/metadata_testing.h"

namespace zarrfs::metadata_test {
namespace {

constexpr std::string_view kArray = R"({
  "zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
  "fill_value": 7, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
  "attributes": {"b": 1, "a": NaN}, "dimension_names": ["y", null]})";

std::string ArrayWith(std::string_view change) { return Changed(kArray, change); }

ArrayMetadata Parsed(std::string_view text) {
  auto node = ParseZarrJson(text, "a/zarr.json");
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  if (!node || !std::holds_alternative<ArrayMetadata>(*node)) {
    ADD_FAILURE() << "no array";
    return {};
  }
  return std::get<ArrayMetadata>(*node);
}

ArrayMetadata With(std::string_view change) { return Parsed(ArrayWith(change)); }

Error RefusedText(std::string_view text) {
  const auto node = ParseZarrJson(text, "a/zarr.json");
  EXPECT_FALSE(node) << text.substr(0, 1000);
  return node ? Error{ErrorCode::kNotFound, ""} : node.error();
}

Error Refused(std::string_view change) { return RefusedText(ArrayWith(change)); }

using Shape = std::vector<uint64_t>;

TEST(ArrayMetadata, EveryMemberIsRead) {
  const ArrayMetadata array = Parsed(kArray);
  EXPECT_EQ(array.shape, (Shape{4, 6}));
  EXPECT_EQ(array.rank(), 2U);
  EXPECT_EQ(array.data_type.name, "int32");
  EXPECT_EQ(array.chunk_shape, (Shape{2, 3}));
  EXPECT_EQ(array.key_encoding, (ChunkKeyEncoding{ChunkKeyEncoding::Kind::kDefault, '/'}));
  EXPECT_EQ(array.fill_value.size(), 4U);
  EXPECT_EQ(array.fill_value[0], std::byte{7});
  ASSERT_EQ(array.codecs.size(), 1U);
  EXPECT_EQ(array.codecs[0].name, "bytes");
  EXPECT_EQ(array.codecs[0].configuration["endian"], "little");
  EXPECT_EQ(array.attributes.begin().key(), "b");
  ASSERT_TRUE(array.dimension_names);
  EXPECT_EQ(*array.dimension_names, (std::vector<std::optional<std::string>>{"y", std::nullopt}));
  EXPECT_EQ(array.document, *ParseJson(kArray, "k"));
}

TEST(ArrayMetadata, ZeroDimensions) {
  const ArrayMetadata array = With(
      R"({"shape": [], "dimension_names": [],
          "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}}})");
  EXPECT_EQ(array.rank(), 0U);
  EXPECT_TRUE(array.chunk_shape.empty());
  EXPECT_TRUE(array.dimension_names->empty());
}

TEST(ArrayMetadata, AttributesAndDimensionNamesMayBeAbsentOrNull) {
  for (const char* value : {"\"-\"", "null"}) {
    const ArrayMetadata array =
        With(fmt::format(R"({{"attributes": {0}, "dimension_names": {0}}})", value));
    EXPECT_EQ(array.attributes, Json::object());
    EXPECT_FALSE(array.dimension_names);
  }
}

TEST(ArrayMetadata, WithoutCodecsChunksAreLittleEndianBytes) {
  for (const char* change : {R"({"codecs": "-"})", R"({"codecs": []})"}) {
    EXPECT_EQ(ToJson(With(change).codecs).dump(),
              R"([{"name":"bytes","configuration":{"endian":"little"}}])");
  }
}

TEST(ArrayMetadata, WithoutFillValueItIsZero) {
  for (const char* change : {R"({"fill_value": "-"})", R"({"fill_value": null})"}) {
    EXPECT_EQ(With(change).fill_value, FillBytes(4));
  }
}

TEST(ArrayMetadata, IntegralFloatsAreIntegers) {
  const ArrayMetadata array = With(
      R"({"shape": [4.0, 6],
          "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4.0, 3e0]}}})");
  EXPECT_EQ(array.shape, (Shape{4, 6}));
  EXPECT_EQ(array.chunk_shape, (Shape{4, 3}));
}

TEST(ArrayMetadata, ChunkOfAnEmptyDimensionMayBeZero) {
  constexpr const char* kChange =
      R"({{"shape": [{}, 6],
           "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [0, 6]}}}}}})";
  EXPECT_EQ(With(fmt::format(fmt::runtime(kChange), 0)).chunk_shape, (Shape{1, 6}));
  EXPECT_EQ(Refused(fmt::format(fmt::runtime(kChange), 4)).code, ErrorCode::kDamaged);
}

TEST(ArrayMetadata, ChunkKeyEncodings) {
  using Kind = ChunkKeyEncoding::Kind;
  const std::vector<std::tuple<const char*, Kind, char>> spellings = {
      {R"("default")", Kind::kDefault, '/'},
      {R"("v2")", Kind::kV2, '.'},
      {R"({"name":"default"})", Kind::kDefault, '/'},
      {R"({"name":"default","configuration":null})", Kind::kDefault, '/'},
      {R"({"name":"default","configuration":{"separator":"."}})", Kind::kDefault, '.'},
      {R"({"name":"default","separator":"."})", Kind::kDefault, '.'},
      {R"({"name":"v2"})", Kind::kV2, '.'},
      {R"({"name":"v2","configuration":{"separator":"/"}})", Kind::kV2, '/'}};
  for (const auto& [json, kind, separator] : spellings) {
    EXPECT_EQ(With(fmt::format(R"({{"chunk_key_encoding": {}}})", json)).key_encoding,
              (ChunkKeyEncoding{kind, separator}))
        << json;
  }
}

TEST(ArrayMetadata, CodecsMayBeShortHandOrOldNames) {
  const ArrayMetadata array = With(
      R"({"codecs": [{"name":"endian","configuration":{"endian":"big"}}, "crc32c",
                     {"name":"example.foo","must_understand":false}]})");
  EXPECT_EQ(ToJson(array.codecs).dump(),
            R"([{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"},)"
            R"({"name":"example.foo"}])");
}

TEST(ArrayMetadata, UnknownTypeKeepsItsFillInTheDocument) {
  const ArrayMetadata array = With(R"({"data_type": "unheard_of", "fill_value": "x"})");
  EXPECT_FALSE(array.data_type.is_core());
  EXPECT_TRUE(array.fill_value.empty());
  EXPECT_EQ(array.document["fill_value"], "x");
}

TEST(ArrayMetadata, MembersThatSayNothingAreAccepted) {
  With(R"({"extensions": []})");
  With(R"({"storage_transformers": []})");
  const ArrayMetadata array = With(R"({"foo": {"must_understand": false, "x": 1}})");
  EXPECT_EQ(array.document["foo"]["x"], 1);
}

TEST(ArrayMetadata, UnknownThingsAreUnsupportedAndNamed) {
  const std::vector<std::pair<const char*, const char*>> refused = {
      {R"({"foo": 1})", "a/zarr.json: \"foo\": unknown member"},
      {R"({"foo": {"name": "x", "must_understand": true}})", "a/zarr.json: \"foo\""},
      {R"({"foo": {"name": "x"}})", "a/zarr.json: \"foo\""},
      {R"({"extensions": [{"name": "x"}]})", "a/zarr.json: \"extensions\""},
      {R"({"storage_transformers": [{"name": "x"}]})", "a/zarr.json: storage_transformers"},
      {R"({"chunk_grid": {"name": "hexagonal", "configuration": {}}})",
       "a/zarr.json: chunk grid 'hexagonal'"},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
           {"kind": "stored", "chunk_shapes": [4, 6]}}})",
       "a/zarr.json: chunk grid 'rectilinear': kind: expected \"inline\", found \"stored\""},
      {R"({"chunk_key_encoding": "fanout"})", "a/zarr.json: chunk key encoding 'fanout'"},
      {R"({"chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": "/x"}}})",
       "a/zarr.json: chunk_key_encoding: expected a suffix of 1 to 64 bytes"},
      {R"({"chunk_key_encoding": {"name": "suffix", "configuration": {"suffix": ".a",
          "base-encoding": {"name": "suffix", "configuration": {"suffix": ".b"}}}}})",
       "a/zarr.json: chunk_key_encoding: expected a suffix of 1 to 64 bytes"},
      {R"({"codecs": [{"name": "bytes", "endian": "big"}]})", "a/zarr.json: codecs: \"bytes\""},
      {R"({"zarr_format": 2})", "a/zarr.json: zarr_format: expected 3, found 2"},
      {R"({"zarr_format": "https://purl.org/zarr"})", "a/zarr.json: zarr_format"}};
  for (const auto& [change, message] : refused) {
    const Error error = Refused(change);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << change;
    EXPECT_TRUE(error.message.starts_with(message)) << error.message;
  }
}

// For every member: its absence if it is required ("-"), and every JSON type that it must not have.
TEST(ArrayMetadata, MembersOfTheWrongTypeAreDamaged) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> wrong = {
      {"zarr_format", {"\"-\"", "null", "true", "[]", "{}"}},
      {"node_type", {"\"-\"", "null", "1", "\"x\"", "[]", "{}"}},
      {"shape",
       {"\"-\"", "null", "4", "{}", "\"x\"", "[-1,6]", "[4.5,6]", "[\"4\",6]", "[null,6]",
        "[NaN,6]", "[[4],6]", "[9223372036854775808,6]", "[1e300,6]", "[4]", "[]"}},
      {"data_type", {"\"-\"", "null", "4", "[]", "{}", "\"r7\""}},
      {"chunk_grid",
       {"\"-\"", "null", "4", "[]", "{}", "\"regular\"", "{\"name\":1}", "{\"name\":\"regular\"}",
        "{\"name\":\"regular\",\"configuration\":[]}",
        "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":4}}",
        "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}}",
        "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2,-3]}}",
        "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2,[1,2]]}}",
        "{\"name\":\"rectilinear\"}",
        "{\"name\":\"rectilinear\",\"configuration\":{\"chunk_shapes\":[2,3]}}",
        "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\"}}",
        "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
        "\"chunk_shapes\":4}}",
        "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
        "\"chunk_shapes\":[4]}}",
        "{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\","
        "\"chunk_shapes\":[4,[2,3]]}}"}},
      {"chunk_key_encoding",
       {"\"-\"", "null", "4", "[]", "{}", "{\"name\":\"default\",\"configuration\":1}",
        "{\"name\":\"default\",\"configuration\":{\"separator\":\"-\"}}",
        "{\"name\":\"default\",\"configuration\":{\"separator\":1}}"}},
      {"fill_value", {"\"7\"", "true", "[]", "{}", "7.5", "2147483648"}},
      {"codecs",
       {"null", "4", "{}", "\"bytes\"", "[1]", "[null]", "[{}]", "[\"\"]", "[{\"name\":[]}]",
        "[{\"name\":\"bytes\",\"configuration\":\"x\"}]"}},
      {"dimension_names", {"4", "{}", "\"x\"", "[\"y\"]", "[1,2]", "[NaN,\"x\"]"}},
      {"storage_transformers", {"4", "{}", "\"x\""}}};
  for (const auto& [member, values] : wrong) {
    for (const char* value : values) {
      const Error error = Refused(fmt::format(R"({{"{}": {}}})", member, value));
      EXPECT_EQ(error.code, ErrorCode::kDamaged) << member << " " << value;
      EXPECT_TRUE(error.message.starts_with("a/zarr.json: ")) << error.message;
    }
  }
}

// zarr-extensions, "Rectilinear chunk grid".
TEST(ArrayMetadata, ChunksThatDifferHaveTheirLengths) {
  const auto grid = [](std::string_view chunk_shapes) {
    return fmt::format(R"({{"chunk_grid": {{"name": "rectilinear", "configuration":
                           {{"kind": "inline", "chunk_shapes": {}}}}}}})",
                       chunk_shapes);
  };
  const ArrayMetadata array = With(grid("[[1, 3], 5]"));
  EXPECT_EQ(array.chunk_shape, (Shape{3, 5})) << "the greatest";
  ASSERT_EQ(array.chunk_edges.size(), 2U);
  EXPECT_EQ(array.chunk_edges[0], (std::vector<EdgeRun>{{0, 1}, {1, 3}}));
  EXPECT_EQ(array.chunk_edges[1], (std::vector<EdgeRun>{{0, 5}}));
  const ArrayMetadata regular = With(grid("[[[2, 2]], [3, 3, 9]]"));
  EXPECT_EQ(regular.chunk_shape, (Shape{2, 3}));
  EXPECT_TRUE(regular.chunk_edges.empty());
}

TEST(ArrayMetadata, ManyElementsAreFineUntilTheirCountOverflows) {
  EXPECT_EQ(With(R"({"shape": [1000000000, 1000000000]})").shape[0], 1000000000U);
  EXPECT_EQ(With(R"({"shape": [9223372036854775807, 0]})").shape[1], 0U);
  const Error error = Refused(R"({"shape": [9223372036854775807, 3]})");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_NE(error.message.find("9223372036854775807 x 3"), std::string::npos) << error.message;
}

TEST(ArrayMetadata, ChunksOfTooManyBytesAreUnsupported) {
  for (const char* chunk_shape :
       {"[2305843009213693952, 1]", "[4294967296, 4294967296]", "[9223372036854775807, 1]"}) {
    EXPECT_EQ(Refused(fmt::format(R"({{"chunk_grid": {{"name": "regular", "configuration":
                                  {{"chunk_shape": {}}}}}}})",
                                  chunk_shape))
                  .code,
              ErrorCode::kUnsupported)
        << chunk_shape;
  }
}

TEST(ArrayMetadata, TooManyDimensionsAreUnsupported) {
  const Json ones = std::vector<int>(kMaxRank + 1, 1);
  EXPECT_EQ(Refused(fmt::format(R"({{"shape": {}}})", ones.dump())).code, ErrorCode::kUnsupported);
}

TEST(ArrayMetadata, TooManyCodecsInAChainAreUnsupported) {
  const auto with = [](size_t count) {
    Json codecs = Json::array({"bytes"});
    while (codecs.size() < count) codecs.push_back("crc32c");
    return Json{{"codecs", codecs}}.dump();
  };
  EXPECT_EQ(With(with(kMaxCodecs)).codecs.size(), kMaxCodecs);
  const Error error = Refused(with(kMaxCodecs + 1));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "a/zarr.json: codecs: expected at most 64 in a chain, found 65");
}

TEST(GroupMetadata, AttributesAreKeptAndThatThereAreConsolidatedMetadata) {
  const auto node = ParseZarrJson(
      R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {}},
          "consolidated_metadata": [1]})",
      "zarr.json");
  ASSERT_TRUE(node);
  const auto& group = std::get<GroupMetadata>(*node);
  EXPECT_EQ(group.attributes.dump(), R"({"ome":{}})");
  EXPECT_EQ(group.consolidated_metadata, Json::value_t::array);
  EXPECT_FALSE(group.document.contains("consolidated_metadata"));
  EXPECT_EQ(group.document["node_type"], "group");
}

TEST(GroupMetadata, SmallestGroup) {
  const auto node = ParseZarrJson(R"({"zarr_format": 3, "node_type": "group"})", "zarr.json");
  ASSERT_TRUE(node);
  EXPECT_EQ(std::get<GroupMetadata>(*node).attributes, Json::object());
  EXPECT_EQ(std::get<GroupMetadata>(*node).consolidated_metadata, Json::value_t::null);
}

TEST(GroupMetadata, UnknownMembersFollowTheSameRule) {
  EXPECT_TRUE(ParseZarrJson(
      R"({"zarr_format": 3, "node_type": "group", "foo": {"must_understand": false}})", "k"));
  EXPECT_EQ(RefusedText(R"({"zarr_format": 3, "node_type": "group", "foo": {}})").code,
            ErrorCode::kUnsupported);
}

TEST(ZarrJson, AttributesThatAreNoObjectAreLeftOutAndSaidToBe) {
  for (const char* wrong : {"4", "[]", "\"x\"", "NaN"}) {
    const ArrayMetadata array = With(fmt::format(R"({{"attributes": {}}})", wrong));
    EXPECT_EQ(array.attributes, Json::object()) << wrong;
    EXPECT_EQ(array.document["attributes"], Json::object()) << "nor are they handed on";
    ASSERT_EQ(array.notes.size(), 1U);
    EXPECT_EQ(
        array.notes[0],
        fmt::format("a/zarr.json: attributes are left out: expected an object, found {}", wrong));
  }
  const auto node =
      ParseZarrJson(R"({"zarr_format": 3, "node_type": "group", "attributes": 1})", "zarr.json");
  ASSERT_TRUE(node);
  EXPECT_EQ(std::get<GroupMetadata>(*node).notes.size(), 1U);
}

TEST(ZarrJson, WhatIsBrokenInAttributesIsReplacedAndSaidToBe) {
  std::string deep;
  for (int i = 0; i < kMaxJsonDepth; ++i) deep += "[";
  deep += std::string(deep.size(), ']');
  const auto node =
      ParseZarrJson(fmt::format(R"({{"zarr_format": 3, "node_type": "group", "attributes":
          {{"emoji": "a\ud83d", "big": 1e999, "deep": {}, "n": 12345678901234567890123}}}})",
                                deep),
                    "zarr.json");
  ASSERT_TRUE(node);
  const auto& group = std::get<GroupMetadata>(*node);
  EXPECT_EQ(group.attributes["emoji"], "a\ufffd");
  EXPECT_EQ(NonFinite(group.attributes["big"]), std::numeric_limits<double>::infinity());
  EXPECT_NE(DumpJson(group.attributes).find("\"n\": 12345678901234567890123\n"), std::string::npos);
  EXPECT_EQ(group.notes, (std::vector<std::string>{
                             "zarr.json: values nested deeper than 256 levels are left out",
                             "zarr.json: 1e999 is read as Infinity",
                             "zarr.json: half a surrogate pair is read as U+FFFD"}));
}

TEST(ZarrJson, WhatIsNoObjectIsDamaged) {
  for (const char* text : {"", "[]", "null", "3", "\"x\"", "NaN", "{", "{}"}) {
    EXPECT_EQ(RefusedText(text).code, ErrorCode::kDamaged) << text;
  }
}

TEST(ZarrJson, HostileTextIsRefused) {
  EXPECT_EQ(RefusedText(std::string(1 << 20, '[')).code, ErrorCode::kTooLarge);
  EXPECT_EQ(RefusedText(std::string(kMaxMetadataBytes + 1, ' ')).code, ErrorCode::kTooLarge);
  EXPECT_EQ(RefusedText(std::string(1 << 20, '"')).code, ErrorCode::kDamaged);
  const std::string ones = std::string(1000000, '1');
  EXPECT_EQ(RefusedText("{\"zarr_format\": " + ones + "}").code, ErrorCode::kDamaged);
  std::string deep = "{\"zarr_format\": 3, \"node_type\": \"array\", \"attributes\": ";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_EQ(RefusedText(deep).code, ErrorCode::kTooLarge);
  const Error error = Refused(fmt::format(R"({{"{0}": "{0}"}})", std::string(1 << 20, 'x')));
  EXPECT_LT(error.message.size(), 400U);
}

}  // namespace
}  // namespace zarrfs::metadata_test
