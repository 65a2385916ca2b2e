#include "zarrcore/codec/registry.h"

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::registry_test {
namespace {

TEST(Registry, FormatsOfTheCoreAreKnownByTheirNumcodecsNamesToo) {
  const Bytes content = Pattern(300);
  const Bytes gzip = *Codec("gzip")->Encode(content);
  EXPECT_EQ(Codec("numcodecs.gzip", R"({"level": 1})")->Decode(gzip, 300), content);
  const Bytes zstd = *Codec("zstd")->Encode(content);
  EXPECT_EQ(Codec("numcodecs.zstd", R"({"level": 1})")->Decode(zstd, 300), content);
  const Bytes blosc = *Codec("blosc")->Encode(content);
  for (const char* shuffle : {"-1", "0", "1", "2"}) {
    const auto codec = Codec(
        "numcodecs.blosc",
        fmt::format(R"({{"cname": "lz4", "clevel": 5, "shuffle": {}, "blocksize": 0}})", shuffle));
    EXPECT_EQ(codec->Decode(blosc, 300), content);
    EXPECT_EQ(codec->Decode(*codec->Encode(content), 300), content);
  }
}

TEST(Registry, PcodecIsKnownOrItsLibraryIsNamed) {
  const ChunkSpec chunk = {Type("float32", DataKind::kFloat, 4), {10}};
  for (const char* const name : {"pcodec", "numcodecs.pcodec"}) {
    const auto made = Pipeline::Make(std::vector{CodecSpec{name}}, chunk);
    ASSERT_EQ(made.has_value(), DecodesPcodec());
    if (made) continue;
    EXPECT_EQ(made.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(
        made.error().message,
        fmt::format("codec '{}' needs the library pcodec, which this program was built without",
                    name));
  }
}

}  // namespace
}  // namespace zarrfs::registry_test
