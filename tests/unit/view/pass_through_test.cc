#include "zarrcore/view/pass_through.h"

#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"
#include "zarrcore/metadata/v2_metadata.h"
#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_view.h"
#include "zarrcore/view/v3_view.h"

namespace zarrfs::pass_through_test {
namespace {

const V2View kV2(ZarrPython2Profile());

// (The spacing is no writer's: only the stored bytes have it.)
constexpr std::string_view kZarray = R"({"zarr_format":2, "chunks":[2,3], "shape":[4,6],
 "dtype":"<i4", "fill_value":0, "order":"C","compressor":{"id":"zstd","level":1},  "filters":null})";

StoredDocuments V2Documents(std::string_view document, std::optional<std::string> zattrs) {
  StoredDocuments stored;
  stored.is_v2 = true;
  stored.document = document;
  stored.zattrs = std::move(zattrs);
  return stored;
}

ArrayMetadata V2Array(std::string_view zarray, std::optional<std::string> zattrs = std::nullopt) {
  std::optional<NamedText> attributes;
  if (zattrs) attributes = NamedText{"a/.zattrs", *zattrs};
  const NamedText document{"a/.zarray", zarray};
  auto array = ParseZarray(document, attributes);
  if (!array) array = ParseZarrayGrid(document, array.error());
  EXPECT_TRUE(array) << (array ? "" : array.error().message);
  if (!array) return {};
  array->stored = std::make_shared<const StoredDocuments>(V2Documents(zarray, std::move(zattrs)));
  return std::move(*array);
}

ArrayView Shown(const ArrayMetadata& metadata, const ViewContext& context = {}) {
  auto view = kV2.ShowArray(metadata, LayoutOf(metadata), context);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return view ? std::move(*view) : ArrayView{};
}

std::string With(std::string_view member, std::string_view value) {
  Json zarray = *ParseJson(kZarray, "");
  zarray[std::string(member)] = *ParseJson(value, "");
  return DumpJson(zarray);
}

TEST(PassThroughV2, DocumentsAreTheStoredBytes) {
  const ArrayView view = Shown(V2Array(kZarray, "{ \"caf\xc3\xa9\" : 1.50 }"));
  EXPECT_EQ(view.documents, (std::vector<Document>{{".zarray", std::string(kZarray)},
                                                   {".zattrs", "{ \"caf\xc3\xa9\" : 1.50 }"}}));
}

TEST(PassThroughV2, NoAttributesAreMadeUp) {
  EXPECT_EQ(Shown(V2Array(kZarray)).documents.size(), 1U);
}

TEST(PassThroughV2, ChunksAreTheStoredFilesUnderEveryFillPolicy) {
  ChunkEncoding stored;
  stored.as_stored = true;
  for (const FillPolicy fill : {FillPolicy::kAuto, FillPolicy::kKeep, FillPolicy::kMaterialize}) {
    ViewContext context;
    context.fill = fill;
    const ArrayView view = Shown(V2Array(kZarray), context);
    EXPECT_EQ(view.encoding, stored) << "not a zstd frame is patched";
    EXPECT_EQ(view.fill_chunk, nullptr);
    EXPECT_EQ(view.documents[0].bytes, kZarray);
  }
}

TEST(PassThroughV2, OnlyAForcedSeparatorChangesTheZarray) {
  ViewContext context;
  context.below_ome = true;
  EXPECT_EQ(Shown(V2Array(kZarray), context).naming.separator, '.');
  context.forced_separator = '.';
  EXPECT_EQ(Shown(V2Array(kZarray), context).documents[0].bytes, kZarray);
  context.forced_separator = '/';
  const ArrayView view = Shown(V2Array(kZarray), context);
  EXPECT_EQ(view.naming.separator, '/');
  Json changed = *ParseJson(kZarray, "");
  changed["dimension_separator"] = "/";
  EXPECT_EQ(*ParseJson(view.documents[0].bytes, ""), changed);

  const std::string nested = With("dimension_separator", "\"/\"");
  EXPECT_EQ(Shown(V2Array(nested)).naming.separator, '/');
  EXPECT_EQ(Shown(V2Array(nested), context).documents[0].bytes, nested);
}

TEST(PassThroughV2, AScalarHasTheSameChunkUnderEverySeparator) {
  const std::string scalar = R"({"zarr_format": 2, "shape": [], "chunks": [], "dtype": "<f8",
    "compressor": null, "fill_value": null, "order": "C", "filters": null})";
  ViewContext context;
  context.forced_separator = '/';
  const ArrayView view = Shown(V2Array(scalar), context);
  EXPECT_EQ(view.documents[0].bytes, scalar);
  EXPECT_EQ(view.naming.Path({}), "0");
}

TEST(PassThroughV2, NoCodecFilterOrTypeHidesAnArray) {
  for (const std::string& zarray :
       {With("compressor", R"({"id": "foo"})"), With("dtype", R"("<f16")"),
        With("dtype", R"([["a", "<i4", [2, 2]]])"), With("dtype", R"({"new": "type"})"),
        With("filters", R"([{"id": "bitround", "keepbits": 3}])"),
        With("filters", R"([{"id": "sharding_indexed"}])"), With("fill_value", R"("no number")"),
        With("order", R"("A")")}) {
    const ArrayMetadata metadata = V2Array(zarray, "{}");
    const ArrayView view = Shown(metadata);
    ASSERT_EQ(view.documents.size(), 2U) << zarray;
    EXPECT_EQ(view.documents[0].bytes, zarray);
    EXPECT_EQ(LayoutOf(metadata).inner_grid.size(), 4U);
    if (!metadata.grid_only) continue;
    for (const View* const other : AllViews()) {
      if (other->name() == "v2") continue;
      const auto refused = other->ShowArray(metadata, LayoutOf(metadata), {});
      ASSERT_FALSE(refused) << zarray;
      EXPECT_EQ(refused.error().message, metadata.grid_only->message);
    }
  }
  EXPECT_TRUE(V2Array(With("compressor", R"({"id": "foo"})")).grid_only);
}

TEST(PassThroughV2, AnArrayWithoutAGridIsRefused) {
  const Error reason{ErrorCode::kUnsupported, "codec"};
  for (const std::string& zarray :
       {With("shape", "[4]"), With("chunks", "null"), With("chunks", "[0, 3]"),
        With("dimension_separator", "\"-\""), std::string("{"), std::string("[]")}) {
    EXPECT_FALSE(ParseZarrayGrid({"a/.zarray", zarray}, reason)) << zarray;
  }
}

TEST(PassThroughV2, AGroupHasItsOwnDocuments) {
  GroupMetadata group;
  EXPECT_EQ(kV2.ShowGroup(group, {}).documents.size(), 2U) << "of another source they are made";
  EXPECT_EQ(kV2.ConsolidatedName(group), ".zmetadata");
  StoredDocuments stored = V2Documents("{ \"zarr_format\": 2}", std::nullopt);
  group.stored = std::make_shared<const StoredDocuments>(stored);
  EXPECT_EQ(kV2.ShowGroup(group, {}).documents,
            (std::vector<Document>{{".zgroup", "{ \"zarr_format\": 2}"}}));
  EXPECT_EQ(kV2.ConsolidatedName(group), "") << "the source has none";
  stored.has_zmetadata = true;
  group.stored = std::make_shared<const StoredDocuments>(stored);
  EXPECT_EQ(kV2.ConsolidatedName(group), ".zmetadata");
  EXPECT_EQ(V2View(GdalProfile()).ShowGroup(group, {}).documents.size(), 2U)
      << "made for readers that know less";
}

TEST(InsideJson, IsTheTextWhereTheEncodingAllows) {
  EXPECT_EQ(InsideJson("{\"a\" :1.50}\r\n\n", JsonEncoding::kAscii), "{\"a\" :1.50}");
  EXPECT_EQ(InsideJson("\xef\xbb\xbf{}", JsonEncoding::kAscii), "{}");
  EXPECT_EQ(InsideJson("[\"\xc3\xa9\"]", JsonEncoding::kUtf8), "[\"\xc3\xa9\"]");
  EXPECT_EQ(InsideJson("[\"\xc3\xa9\"]", JsonEncoding::kAscii), "[\n  \"\\u00e9\"\n]");
}

TEST(InsideJson, TextThatIsNotJsonIsAStringThatNoReaderCanParse) {
  EXPECT_EQ(InsideJson("{\"a\"", JsonEncoding::kAscii), R"("{\"a\"")");
}

// --- Zarr v3

constexpr std::string_view kZarrJson = R"({"shape": [4], "zarr_format": 3,"node_type": "array",
  "data_type": "float32", "chunk_grid": {"configuration": {"chunk_shape": [2]}, "name": "regular"},
  "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
             {"name": "crc32c", "configuration": {}}], "attributes": {"n": NaN}})";

ArrayMetadata V3Array(std::string_view text) {
  ArrayMetadata metadata = ParsedArray(text);
  StoredDocuments stored;
  stored.document = text;
  metadata.stored = std::make_shared<const StoredDocuments>(stored);
  return metadata;
}

std::string ZarrJson(const ArrayMetadata& metadata, const ViewContext& context = {}) {
  const auto view = V3View().ShowArray(metadata, LayoutOf(metadata), context);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return view ? view->documents[0].bytes : "";
}

std::string V3With(std::string_view member, std::string_view value) {
  Json json = *ParseJson(kZarrJson, "");
  json[std::string(member)] = *ParseJson(value, "");
  return DumpJson(json);
}

TEST(PassThroughV3, ADocumentInTodaysSpellingIsTheStoredBytes) {
  for (const std::string& text :
       {std::string(kZarrJson), V3With("fill_value", "1.25"), V3With("fill_value", "\"NaN\""),
        V3With("fill_value", "\"0x7fc00000\""), V3With("fill_value", "\"-Infinity\""),
        V3With("chunk_key_encoding", R"({"name": "v2"})"), V3With("dimension_names", R"([null])"),
        V3With("storage_transformers", "[]"), V3With("extra", R"({"must_understand": false})")}) {
    EXPECT_EQ(ZarrJson(V3Array(text)), text);
  }
}

TEST(PassThroughV3, ALegacySpellingIsRewritten) {
  for (const std::string& text :
       {V3With("data_type", R"({"name": "float32"})"), V3With("fill_value", "\"+Infinity\""),
        V3With("fill_value", "NaN"), V3With("fill_value", "\"0b00000000000000000000000000000001\""),
        V3With("chunk_key_encoding", R"({"name": "default", "separator": "/"})"),
        V3With("chunk_key_encoding", "\"default\""), V3With("dimension_names", "null"),
        V3With("attributes", "null"), V3With("extensions", "[]"), V3With("codecs", "[]"),
        V3With("codecs", R"([{"name": "bytes"}])"),
        V3With("codecs", R"([{"name": "endian", "configuration": {"endian": "little"}}])"),
        V3With("codecs", R"(["bytes"])"),
        V3With("chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [2.0]}})")}) {
    EXPECT_NE(ZarrJson(V3Array(text)), text);
  }
}

TEST(PassThroughV3, AForcedSeparatorRewritesTheDocument) {
  ViewContext context;
  context.forced_separator = '.';
  const Json json = *ParseJson(ZarrJson(V3Array(kZarrJson), context), "");
  EXPECT_EQ(json["chunk_key_encoding"]["configuration"]["separator"], ".");
  context.forced_separator = '/';
  EXPECT_EQ(ZarrJson(V3Array(kZarrJson), context), kZarrJson);
}

TEST(PassThroughV3, AShardedArrayIsRewritten) {
  const std::string text = ArrayText("[4]", "[4]", Sharding("[2]", kBytesCodec));
  EXPECT_NE(ZarrJson(V3Array(text)), text);
}

TEST(PassThroughV3, AGroupWithoutConsolidatedMetadataIsTheStoredBytes) {
  const auto shown = [](std::string_view text) {
    auto group = std::get<GroupMetadata>(*ParseZarrJson(text, ""));
    StoredDocuments stored;
    stored.document = text;
    group.stored = std::make_shared<const StoredDocuments>(stored);
    return V3View().ShowGroup(group, {}).documents[0].bytes;
  };
  constexpr std::string_view kPlain = R"({"zarr_format":3,"node_type":"group"})";
  EXPECT_EQ(shown(kPlain), kPlain);
  constexpr std::string_view kNull =
      R"({"consolidated_metadata":null,"zarr_format":3,"node_type":"group"})";
  EXPECT_EQ(shown(kNull), kNull);
  EXPECT_FALSE(ParseJson(shown(R"({"zarr_format": 3, "node_type": "group",
      "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {}}})"),
                         "")
                   ->contains("consolidated_metadata"));
}

}  // namespace
}  // namespace zarrfs::pass_through_test
