#include "zarrcore/view/v3_view.h"

#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"

namespace zarrfs::v3_view_test {
namespace {

std::string Rewritten(const ArrayMetadata& metadata, const ViewContext& context = {}) {
  const auto view = V3View().ShowArray(metadata, LayoutOf(metadata), context);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  if (!view || view->documents.size() != 1) return "";
  EXPECT_EQ(view->documents[0].name, "zarr.json");
  return view->documents[0].bytes;
}

Json Parsed(std::string_view text) { return *ParseJson(text, "literal"); }

TEST(V3View, AShardedArrayIsRewrittenUnsharded) {
  const ArrayMetadata metadata = ParsedArray(R"({
    "node_type": "array", "zarr_format": 3, "fill_value": 7, "data_type": "int16",
    "note": {"must_understand": false, "by": "me"},
    "shape": [6], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
      "codecs": [{"name": "bytes", "configuration": {"endian": "big"}},
                 {"name": "zstd", "configuration": {"level": 3, "checksum": false}}],
      "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}],
    "attributes": {"z": NaN, "a": {"deep": [1, 2.0]}}, "dimension_names": [null],
    "storage_transformers": []})");
  EXPECT_EQ(Rewritten(metadata), R"({
  "node_type": "array",
  "zarr_format": 3,
  "fill_value": 7,
  "data_type": "int16",
  "note": {
    "must_understand": false,
    "by": "me"
  },
  "shape": [
    6
  ],
  "chunk_grid": {
    "name": "regular",
    "configuration": {
      "chunk_shape": [
        2
      ]
    }
  },
  "chunk_key_encoding": {
    "name": "default",
    "configuration": {
      "separator": "/"
    }
  },
  "codecs": [
    {
      "name": "bytes",
      "configuration": {
        "endian": "big"
      }
    },
    {
      "name": "zstd",
      "configuration": {
        "level": 3,
        "checksum": false
      }
    }
  ],
  "attributes": {
    "z": NaN,
    "a": {
      "deep": [
        1,
        2.0
      ]
    }
  },
  "dimension_names": [
    null
  ],
  "storage_transformers": []
}
)");
}

TEST(V3View, TheRewrittenArrayReadsBackAsTheInnerOne) {
  const auto metadata =
      Array("[64, 64]", "[32, 32]", Sharding("[16, 16]", Sharding("[8, 4]", kBytesCodec)));
  const ArrayMetadata again = ParsedArray(Rewritten(metadata));
  const ArrayLayout before = LayoutOf(metadata);
  const ArrayLayout after = LayoutOf(again);
  EXPECT_FALSE(after.is_sharded());
  EXPECT_EQ(after.inner_chunk_shape, before.inner_chunk_shape);
  EXPECT_EQ(after.inner_grid.counts(), before.inner_grid.counts());
  EXPECT_EQ(again.codecs, before.inner_codecs);
}

TEST(V3View, AnOuterTransposeComesBeforeTheInnerCodecs) {
  const auto metadata =
      Array("[4, 6, 8]", "[4, 6, 8]",
            R"({"name": "transpose", "configuration": {"order": [2, 0, 1]}}, )" +
                Sharding("[2, 2, 3]", std::string(kBytesCodec) +
                                          R"(, {"name": "gzip", "configuration": {"level": 1}})"));
  const Json json = Parsed(Rewritten(metadata));
  EXPECT_EQ(json["chunk_grid"]["configuration"]["chunk_shape"], Parsed("[2, 3, 2]"));
  EXPECT_EQ(json["codecs"].size(), 3U);
  EXPECT_EQ(json["codecs"][0],
            Parsed(R"({"name": "transpose", "configuration": {"order": [2, 0, 1]}})"));
  EXPECT_EQ(json["codecs"][1]["name"], "bytes");
  EXPECT_EQ(json["codecs"][2]["name"], "gzip");
}

TEST(V3View, DraftSpellingsBecomeTodaysOnes) {
  const ArrayMetadata metadata = ParsedArray(R"({
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": {"name": "float32"},
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2.0]}},
    "chunk_key_encoding": "default", "fill_value": "0x7fc00000", "extensions": []})");
  const Json json = Parsed(Rewritten(metadata));
  EXPECT_EQ(json["data_type"], "float32");
  EXPECT_EQ(json["fill_value"], "NaN");
  EXPECT_EQ(json["codecs"],
            Parsed(R"([{"name": "bytes", "configuration": {"endian": "little"}}])"));
  EXPECT_EQ(json["chunk_key_encoding"],
            Parsed(R"({"name": "default", "configuration": {"separator": "/"}})"));
  EXPECT_EQ(json["chunk_grid"]["configuration"]["chunk_shape"].dump(), "[2]");
  EXPECT_FALSE(json.contains("extensions"));
}

TEST(V3View, AMissingByteOrderIsWrittenOut) {
  const auto multi = Array("[4]", "[2]", R"("bytes")", R"({"data_type": "int32"})");
  EXPECT_EQ(Parsed(Rewritten(multi))["codecs"],
            Parsed(R"([{"name": "bytes", "configuration": {"endian": "little"}}])"));
  const auto single = Array("[4]", "[2]", R"("bytes")");
  EXPECT_EQ(Parsed(Rewritten(single))["codecs"], Parsed(R"([{"name": "bytes"}])"));
}

struct Spelling {
  std::string_view given, emitted;
};

TEST(V3View, CodecsHaveTodaysSpelling) {
  const Spelling cases[] = {
      {R"({"name": "transpose", "configuration": {"order": "F"}}, "bytes")",
       R"([{"name": "transpose", "configuration": {"order": [1, 0]}},
           {"name": "bytes", "configuration": {"endian": "little"}}])"},
      {R"({"name": "transpose", "configuration": {"order": "C"}}, "bytes")",
       R"([{"name": "transpose", "configuration": {"order": [0, 1]}},
           {"name": "bytes", "configuration": {"endian": "little"}}])"},
      {R"({"name": "endian", "configuration": {"endian": "big"}})",
       R"([{"name": "bytes", "configuration": {"endian": "big"}}])"},
      {R"({"name": "bytes", "configuration": {"endian": null}})",
       R"([{"name": "bytes", "configuration": {"endian": "little"}}])"},
      {R"({"name": "bytes", "must_understand": true}, "gzip", "crc32c")",
       R"([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "gzip", "configuration": {"level": 5}}, {"name": "crc32c"}])"},
      {R"("bytes", {"name": "gzip", "configuration": {"level": 3.0, "id": "gzip"}})",
       R"([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "gzip", "configuration": {"level": 3}}])"},
      {R"("bytes", {"name": "zstd", "configuration": {"level": 30}})",
       R"([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "zstd", "configuration": {"level": 0, "checksum": false}}])"},
      {R"("bytes", "blosc")",
       R"([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "blosc", "configuration": {"typesize": 2, "cname": "lz4", "clevel": 5,
                                               "shuffle": "noshuffle", "blocksize": 0}}])"},
      {R"("bytes", {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "shuffle": 2,
                                                       "typesize": 0, "blocksize": 256}})",
       R"([{"name": "bytes", "configuration": {"endian": "little"}},
           {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1,
                          "shuffle": "bitshuffle", "typesize": 2, "blocksize": 256}}])"},
      {R"({"name": "odd", "configuration": {"level": 3.0}})",
       R"([{"name": "odd", "configuration": {"level": 3.0}}])"},
      {"", R"([{"name": "bytes", "configuration": {"endian": "little"}}])"}};
  for (const auto& [given, emitted] : cases) {
    for (const std::string& codecs : {std::string(given), Sharding("[2, 2]", given)}) {
      if (codecs.empty()) continue;
      const auto array = Array("[4, 4]", "[2, 4]", codecs, R"({"data_type": "int16"})");
      EXPECT_EQ(Parsed(Rewritten(array))["codecs"], Parsed(emitted)) << codecs;
    }
  }
}

TEST(V3View, TypesAndFillValuesHaveTodaysSpelling) {
  const struct {
    std::string_view members, data_type, fill_value;
  } cases[] = {
      {R"({"data_type": {"name": "int32", "configuration": {}}, "fill_value": 3.0})", R"("int32")",
       "3"},
      {R"({"data_type": "complex_float32", "fill_value": 1})", R"("complex64")", "[1.0, 0.0]"},
      {R"({"data_type": "float32", "fill_value": "+Infinity"})", R"("float32")", R"("Infinity")"},
      {R"({"data_type": "float32", "fill_value": NaN})", R"("float32")", R"("NaN")"},
      {R"({"data_type": "float32", "fill_value": "0b00111111100000000000000000000000"})",
       R"("float32")", "1.0"},
      {R"({"data_type": "bool", "fill_value": 1})", R"("bool")", "true"},
      {R"({"data_type": "uint8", "fill_value": null})", R"("uint8")", "0"},
      {R"({"data_type": {"name": "bfloat16"}, "fill_value": "0x3f80"})", R"("bfloat16")", "1.0"},
      {R"({"data_type": {"name": "r16"}, "fill_value": [1, 2]})", R"("r16")", "[1, 2]"},
      {R"({"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s"}},
           "fill_value": 5.0})",
       R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}})", "5"},
      {R"({"data_type": {"name": "odd"}, "fill_value": "?"})", R"("odd")", R"("?")"},
      {R"({"data_type": {"name": "odd", "more": 1}, "fill_value": "?"})",
       R"({"name": "odd", "more": 1})", R"("?")"}};
  for (const auto& [members, data_type, fill_value] : cases) {
    const Json json = Parsed(Rewritten(Array("[4]", "[2]", kBytesCodec, members)));
    EXPECT_EQ(json["data_type"], Parsed(data_type)) << members;
    EXPECT_EQ(json["fill_value"].dump(), Parsed(fill_value).dump()) << members;
  }
}

TEST(V3View, OtherMembersHaveTodaysSpelling) {
  const Json json = Parsed(Rewritten(ParsedArray(R"({
    "zarr_format": 3.0, "node_type": "array", "shape": [4.0], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2.0]}},
    "chunk_key_encoding": {"name": "v2", "separator": "/"}, "codecs": [], "attributes": null,
    "dimension_names": null, "storage_transformers": null, "extensions": []})")));
  EXPECT_EQ(json, Parsed(R"({
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "fill_value": 0})"));
  const auto group = ParseZarrJson(
      R"({"zarr_format": 3.0, "node_type": "group", "attributes": null, "extensions": []})", "g");
  EXPECT_EQ(
      Parsed(V3View().ShowGroup(std::get<GroupMetadata>(*group), {}).documents[0].bytes).dump(),
      R"({"zarr_format":3,"node_type":"group"})");
}

TEST(V3View, ExtensionTypesAndRawBytesStayAsTheyAre) {
  const auto string = Array("[4]", "[2]", R"("vlen-utf8")",
                            R"({"data_type": {"name": "string"}, "fill_value": "x"})");
  EXPECT_EQ(Parsed(Rewritten(string))["data_type"], "string");
  EXPECT_EQ(Parsed(Rewritten(string))["fill_value"], "x");
  const auto raw =
      Array("[4]", "[2]", kBytesCodec,
            R"({"data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 2}},
                             "fill_value": "AAA="})");
  EXPECT_EQ(Parsed(Rewritten(raw))["data_type"]["name"], "raw_bytes");
  EXPECT_EQ(Parsed(Rewritten(raw))["fill_value"], "AAA=");
}

TEST(V3View, ChunksKeepTheirNamesUnlessASeparatorIsForced) {
  const auto metadata =
      Array("[4]", "[2]", kBytesCodec, R"({"chunk_key_encoding": {"name": "v2"}})");
  const auto kept = V3View().ShowArray(metadata, LayoutOf(metadata), {.below_ome = true});
  EXPECT_EQ(kept->naming, (ChunkNaming{false, '.'}));
  const auto forced = V3View().ShowArray(metadata, LayoutOf(metadata), {.forced_separator = '/'});
  EXPECT_EQ(forced->naming, (ChunkNaming{false, '/'}));
  EXPECT_EQ(Parsed(Rewritten(metadata, {.forced_separator = '/'}))["chunk_key_encoding"],
            Parsed(R"({"name": "v2", "configuration": {"separator": "/"}})"));
  const auto standard = Array("[4]", "[2]", kBytesCodec);
  EXPECT_EQ(V3View().ShowArray(standard, LayoutOf(standard), {})->naming, (ChunkNaming{true, '/'}));
}

TEST(V3View, NothingIsCut) {
  const auto metadata = Array("[4]", "[2]", std::string(kBytesCodec) + R"(, {"name": "crc32c"})");
  const auto view = V3View().ShowArray(metadata, LayoutOf(metadata), {});
  EXPECT_EQ(view->encoding.cut_front + view->encoding.cut_back, 0U);
}

TEST(V3View, AGroupLosesOnlyItsConsolidatedMetadata) {
  const auto node = ParseZarrJson(R"({"zarr_format": 3, "node_type": "group",
      "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}},
      "other": {"must_understand": false}, "attributes": {"b": 1, "a": 2}})",
                                  "zarr.json");
  ASSERT_TRUE(node);
  const auto documents = V3View().ShowGroup(std::get<GroupMetadata>(*node), {}).documents;
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].name, "zarr.json");
  EXPECT_EQ(
      Parsed(documents[0].bytes).dump(),
      R"({"zarr_format":3,"node_type":"group","other":{"must_understand":false},"attributes":{"b":1,"a":2}})");
}

TEST(V3View, AnImplicitGroupGetsADocument) {
  EXPECT_EQ(Parsed(V3View().ShowGroup(GroupMetadata{}, {}).documents[0].bytes).dump(),
            R"({"zarr_format":3,"node_type":"group"})");
}

TEST(AllViews, HaveNumbersByName) {
  EXPECT_LE(AllViews().size(), kMaxViews);
  for (size_t i = 0; i < AllViews().size(); ++i) EXPECT_EQ(ViewNumber(AllViews()[i]->name()), i);
  EXPECT_FALSE(ViewNumber("v4"));
  EXPECT_FALSE(ViewNumber(""));
}

}  // namespace
}  // namespace zarrfs::v3_view_test
