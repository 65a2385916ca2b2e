#include "zarrcore/view/v3_view.h"

#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"

namespace zarrfs {
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

TEST(V3View, ExtensionTypesAndRawBytesStayAsTheyAre) {
  const auto string = Array("[4]", "[2]", R"("vlen-utf8")",
                            R"({"data_type": {"name": "string"}, "fill_value": "x"})");
  EXPECT_EQ(Parsed(Rewritten(string))["data_type"], Parsed(R"({"name": "string"})"));
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
  EXPECT_EQ(view->form.cut_front + view->form.cut_back, 0U);
}

TEST(V3View, AGroupLosesOnlyItsConsolidatedMetadata) {
  const auto node = ParseZarrJson(R"({"zarr_format": 3, "node_type": "group",
      "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}},
      "other": {"must_understand": false}, "attributes": {"b": 1, "a": 2}})",
                                  "zarr.json");
  ASSERT_TRUE(node);
  const auto documents = V3View().ShowGroup(std::get<GroupMetadata>(*node));
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].name, "zarr.json");
  EXPECT_EQ(
      Parsed(documents[0].bytes).dump(),
      R"({"zarr_format":3,"node_type":"group","other":{"must_understand":false},"attributes":{"b":1,"a":2}})");
}

TEST(V3View, AnImplicitGroupGetsADocument) {
  EXPECT_EQ(Parsed(V3View().ShowGroup(GroupMetadata{})[0].bytes).dump(),
            R"({"zarr_format":3,"node_type":"group"})");
}

TEST(AllViews, HaveNumbersByName) {
  EXPECT_LE(AllViews().size(), kMaxViews);
  for (size_t i = 0; i < AllViews().size(); ++i) EXPECT_EQ(ViewNumber(AllViews()[i]->name()), i);
  EXPECT_FALSE(ViewNumber("v4"));
  EXPECT_FALSE(ViewNumber(""));
}

}  // namespace
}  // namespace zarrfs
