// The view for jzarr, and the option for readers of other few compressors. What jzarr makes of it:
// tests/interop/test_generated.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/array/array_testing.h"
#include "zarrcore/view/v2_view.h"

namespace zarrfs::java_view_test {
namespace {

const V2View kJava(JavaProfile());
using Kind = ChunkEncoding::Kind;

ArrayMetadata Compressed(std::string_view codec, std::string_view more = "{}") {
  return Array("[4]", "[2]", fmt::format("{}, {}", kBytesCodec, codec), more);
}

ArrayView Shown(const View& view, const ArrayMetadata& metadata, const ViewContext& context = {}) {
  auto shown = view.ShowArray(metadata, LayoutOf(metadata), context);
  EXPECT_TRUE(shown) << (shown ? "" : shown.error().message);
  return shown ? std::move(*shown) : ArrayView{};
}

std::string Refused(const ArrayMetadata& metadata) {
  const auto shown = kJava.ShowArray(metadata, LayoutOf(metadata), {});
  return shown ? "shown" : shown.error().message;
}

Json Document(const ArrayView& view, size_t number) {
  return *ParseJson(view.documents.at(number).bytes, "document");
}

TEST(JavaView, ChunksOfCompressorsThatJzarrLacksAreDecoded) {
  for (const char* codec :
       {R"({"name": "zstd", "configuration": {"level": 3}})",
        R"({"name": "gzip", "configuration": {"level": 3}})", R"({"name": "numcodecs.lz4"})",
        R"({"name": "blosc", "configuration": {"cname": "snappy", "clevel": 1,
            "shuffle": "noshuffle", "blocksize": 0}})"}) {
    const ArrayView view = Shown(kJava, Compressed(codec));
    EXPECT_EQ(view.encoding.kind, Kind::kDecoded) << codec;
    EXPECT_TRUE(Document(view, 0)["compressor"].is_null()) << codec;
  }
}

TEST(JavaView, BloscAndZlibStayAsTheyAreStored) {
  const ArrayView blosc =
      Shown(kJava, Compressed(R"({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1,
                                  "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0}})"));
  EXPECT_NE(blosc.encoding.kind, Kind::kDecoded);
  EXPECT_EQ(Document(blosc, 0)["compressor"]["cname"], "zstd");
  const ArrayView zlib =
      Shown(kJava, Compressed(R"({"name": "numcodecs.zlib", "configuration": {"level": -1}})"));
  EXPECT_NE(zlib.encoding.kind, Kind::kDecoded);
  EXPECT_EQ(Document(zlib, 0)["compressor"], Json::parse(R"({"id": "zlib", "level": 1})"))
      << "jzarr refuses -1";
}

TEST(JavaView, WhatJzarrCannotHoldIsNotShown) {
  EXPECT_EQ(Refused(Array("[4]", "[2]", kBytesCodec, R"({"data_type": "uint64"})")),
            "data type 'uint64' is not supported by this view's readers");
  EXPECT_EQ(Refused(Array("[2147483648]", "[2]", kBytesCodec)),
            "more than 2147483647 elements along an axis or in a chunk");
  EXPECT_EQ(Refused(Array("[2147483647]", "[2]", kBytesCodec)), "shown");
}

TEST(JavaView, TheFillValueIsThatOfMissingChunksWhateverTheAttributeSays) {
  const ArrayView view =
      Shown(kJava, Array("[4]", "[2]", kBytesCodec,
                         R"({"data_type": "int16", "fill_value": 7, "dimension_names": ["x"],
                       "attributes": {"_FillValue": 5, "range": [NaN, {"max": -Infinity}]}})"));
  EXPECT_EQ(Document(view, 0)["fill_value"], 7);
  EXPECT_EQ(view.fill_chunk, nullptr);
  EXPECT_EQ(Document(view, 1)["_FillValue"], 5);
  EXPECT_EQ(Document(view, 1)["range"], Json::parse(R"(["NaN", {"max": "-Infinity"}])"))
      << "JSON knows no such numbers";
}

TEST(Compressors, AreNamesBetweenColons) {
  for (const char* names : {"none", "zlib", "zlib:blosc"}) {
    const auto set = ParseCompressors(names);
    ASSERT_TRUE(set) << names;
    EXPECT_EQ(CompressorNames(*set), names);
  }
  for (const char* names : {"", "zlib:", ":zlib", "zlib:none", "Zlib", "snappy"}) {
    EXPECT_FALSE(ParseCompressors(names)) << names;
  }
}

TEST(Compressors, ChunksWithOthersThanTheGivenOnesAreDecoded) {
  const V2View v2(ZarrPython2Profile());
  const ViewContext context{.compressors = *ParseCompressors("gzip")};
  const ArrayMetadata gzip = Compressed(R"({"name": "gzip", "configuration": {"level": 3}})");
  const ArrayMetadata zstd = Compressed(R"({"name": "zstd", "configuration": {"level": 3}})");
  EXPECT_NE(Shown(v2, gzip, context).encoding.kind, Kind::kDecoded);
  EXPECT_EQ(Shown(v2, zstd, context).encoding.kind, Kind::kDecoded);
  EXPECT_NE(Shown(v2, zstd).encoding.kind, Kind::kDecoded);
}

}  // namespace
}  // namespace zarrfs::java_view_test
