#include "zarrcore/icechunk/virtual_chunks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/icechunk_writer.h"

namespace zarrfs::virtual_chunks_test {
namespace {

namespace fs = std::filesystem;

struct VirtualChunksTest : testing::Test {
  VirtualChunksTest() {
    std::string name = (fs::temp_directory_path() / "virtual_chunks.XXXXXX").string();
    folder = mkdtemp(name.data());
    fs::create_directory(folder / "nc");
    chmod(folder.c_str(), 0755);
    Write("nc/a.nc", "0123456789");
  }
  ~VirtualChunksTest() override { fs::remove_all(folder); }

  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(folder / name) << text;
  }
  // Reads the chunk of 4 bytes at offset 3. Returns its bytes or the error.
  [[nodiscard]] std::string Read(const std::string& name = "nc/a.nc",
                                 IcechunkReference reference = {}) const {
    reference.offset = 3;
    reference.length = 4;
    std::string out(100, '\0');
    const auto answer = Open().Read({"k", Location(name), reference}, ByteRange::At(1, 100),
                                    std::as_writable_bytes(std::span(out)));
    if (!answer) return std::string(ToString(answer.error().code)) + ": " + answer.error().message;
    return out.substr(0, answer->length);
  }
  [[nodiscard]] ObjectInfo Stat(const std::string& name = "nc/a.nc") const {
    IcechunkReference reference;
    reference.length = 4;
    return Open().Stat({"k", Location(name), reference}).value().value();
  }
  [[nodiscard]] std::string Location(const std::string& name) const {
    return "file://" + (folder / name).string();
  }
  [[nodiscard]] IcechunkVirtualChunks Open() const {
    return {{ParseVirtualPrefix(Location("nc/")).value()}, options};
  }

  fs::path folder;
  LocalStoreOptions options;
};

TEST_F(VirtualChunksTest, IsARangeOfTheFile) {
  EXPECT_EQ(Read(), "456");
  EXPECT_EQ(Stat().size(), 4u);
  EXPECT_TRUE(Stat().may_change_elsewhere);
}

TEST_F(VirtualChunksTest, WhatCannotBeReadIsNeverAbsent) {
  Write("nc/short.nc", "012345");
  fs::create_directory(folder / "nc/folder.nc");
  fs::create_symlink("/etc/passwd", folder / "nc/link.nc");
  fs::create_symlink("..", folder / "nc/above");
  Write("b.nc", "0123456789");
  for (const auto& [name, expected] : std::vector<std::pair<std::string, std::string>>{
           {"nc/none.nc", "the file is missing"},
           {"nc/a.nc/b", "the file is missing"},
           {"nc/short.nc", "the file ends early: it has 6 bytes"},
           {"nc/folder.nc", ""},
           {"nc/link.nc", ""},
           {"nc/above/b.nc", ""},
           {"b.nc", "outside virtual=; to allow it, add -o virtual=" + Location("")},
           {"nc/../b.nc", "not accepted as the address of a file"}}) {
    const std::string found = Read(name);
    EXPECT_FALSE(found.starts_with("not found")) << found;
    EXPECT_FALSE(found.starts_with("4")) << found;
    EXPECT_NE(found.find(expected), std::string::npos) << found;
  }
}

TEST_F(VirtualChunksTest, AFileOfAnotherTimeOrEtagIsAnError) {
  const std::array<timespec, 2> times = {{{1000, 0}, {1000, 999'000'000}}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / "nc/a.nc").c_str(), times.data(), 0), 0);
  IcechunkReference reference;
  for (const uint32_t modified : {1000U, 1001U, UINT32_MAX}) {
    reference.modified = modified;
    EXPECT_EQ(Read("nc/a.nc", reference), "456") << modified;
  }
  reference.modified = 999;
  EXPECT_NE(Read("nc/a.nc", reference).find("has changed since"), std::string::npos);

  reference.modified = 0;
  struct stat status = {};
  ASSERT_EQ(stat((folder / "nc/a.nc").c_str(), &status), 0);
  const std::string etag = fmt::format("{:x}-{:x}-a", status.st_ino, 1000'999'000);
  for (const std::string& same : {etag, "\"" + etag + "\""}) {
    reference.etag = same;
    EXPECT_EQ(Read("nc/a.nc", reference), "456");
  }
  for (const std::string& other : {etag + "0", "W/\"" + etag + "\"", std::string("\"")}) {
    reference.etag = other;
    EXPECT_NE(Read("nc/a.nc", reference).find("its ETag is"), std::string::npos) << other;
  }
}

TEST_F(VirtualChunksTest, HasNoMoreRightsThanItsFileAndTheFoldersAbove) {
  options.reader = getuid() + 1;  // a user without access to the folders above
  const auto mode = [&](mode_t prefix, mode_t above, mode_t file) {
    chmod((folder / "nc/a.nc").c_str(), file);
    chmod((folder / "nc").c_str(), prefix);
    chmod(folder.c_str(), above);
    return Stat().mode;
  };
  EXPECT_EQ(mode(0755, 0755, 0644), 0644U);
  EXPECT_EQ(mode(0755, 0755, 0640), 0640U);
  EXPECT_EQ(mode(0700, 0755, 0644), 0600U);
  EXPECT_EQ(mode(0755, 0700, 0644), 0600U);
  EXPECT_EQ(mode(0750, 0755, 0644), 0640U);
  options.others_read = false;
  EXPECT_EQ(mode(0700, 0700, 0644), 0644U);
}

TEST_F(VirtualChunksTest, AFolderThatAppearsLaterIsRead) {
  const IcechunkVirtualChunks chunks({ParseVirtualPrefix(Location("later/")).value()}, options);
  IcechunkReference reference;
  reference.length = 2;
  EXPECT_FALSE(chunks.Stat({"k", Location("later/x"), reference}));
  fs::create_directory(folder / "later");
  Write("later/x", "xx");
  EXPECT_TRUE(chunks.Stat({"k", Location("later/x"), reference}));
}

TEST(VirtualPrefixesTest, AreWithoutRepetitionAndNotTooMany) {
  std::vector<VirtualPrefix> prefixes;
  EXPECT_TRUE(AddVirtualPrefix("file:///a/", prefixes));
  EXPECT_TRUE(AddVirtualPrefix("FILE://localhost/%61/", prefixes));
  EXPECT_EQ(prefixes.size(), 1u);
  EXPECT_TRUE(AddVirtualPrefix("https://host/a/", prefixes));
  EXPECT_TRUE(AddVirtualPrefix("HTTPS://Host:443/%61/", prefixes));
  EXPECT_EQ(prefixes.size(), 2u);
  EXPECT_FALSE(AddVirtualPrefix("gs://bucket/", prefixes));
  for (size_t i = 2; i < kMaxVirtualPrefixes; ++i) {
    EXPECT_TRUE(AddVirtualPrefix(fmt::format("s3://bucket/{}/", i), prefixes));
  }
  EXPECT_FALSE(AddVirtualPrefix("file:///b/", prefixes));
  EXPECT_TRUE(AddVirtualPrefix("file:///a/", prefixes));
}

// Chunks in two objects of a bucket and one of a web server.
struct VirtualObjectsTest : testing::Test {
  VirtualObjectsTest() {
    for (const auto& store : {bucket, host}) {
      store->SetAnswersFast(false);
      store->SetReplacedIsStale(true);
    }
    bucket->Put("run/x.nc", "0123456789");
    Set("run/x.nc", "\"tag\"", 1000);
    host->Put("x.nc", "abcdefghij");
  }
  void Set(const std::string& key, const std::string& etag, int64_t seconds) const {
    const int64_t ns = seconds * 1'000'000'000;
    bucket->SetVersion(key, {.mtime_ns = ns, .ctime_ns = ns, .etag = etag});
  }
  [[nodiscard]] std::string Read(const std::string& location,
                                 IcechunkReference reference = {}) const {
    reference.offset = 3;
    reference.length = 4;
    std::string out(100, '\0');
    const auto answer = chunks.Read({"k", location, reference}, ByteRange::At(1, 100),
                                    std::as_writable_bytes(std::span(out)));
    if (!answer) return std::string(ToString(answer.error().code)) + ": " + answer.error().message;
    return out.substr(0, answer->length);
  }
  [[nodiscard]] ObjectInfo Stat(const std::string& location, uint64_t offset = 0) const {
    IcechunkReference reference;
    reference.offset = offset;
    reference.length = 4;
    return chunks.Stat({"k", location, reference}).value().value();
  }

  const std::string x = "s3://bucket/a/run/x.nc";
  const std::shared_ptr<FakeStore> bucket = std::make_shared<FakeStore>();
  const std::shared_ptr<FakeStore> host = std::make_shared<FakeStore>();
  const IcechunkVirtualChunks chunks{Prefixes(), {}, {bucket, host}, std::chrono::hours(1)};

 private:
  static std::vector<VirtualPrefix> Prefixes() {
    std::vector<VirtualPrefix> parsed;
    for (const char* const prefix : {"s3://bucket/a/", "file:///nowhere/", "https://host/"}) {
      EXPECT_TRUE(AddVirtualPrefix(prefix, parsed));
    }
    return parsed;
  }
};

TEST_F(VirtualObjectsTest, EachPrefixHasTheStoreOfItsOwn) {
  EXPECT_EQ(Read(x), "456");
  EXPECT_EQ(Read("https://host/x.nc"), "efg");
  EXPECT_NE(Read("s3://bucket/b/x.nc").find("add -o virtual=s3://bucket/b/"), std::string::npos);
  EXPECT_NE(Read("http://host/x.nc").find("add -o virtual=http://host/"), std::string::npos);
  EXPECT_FALSE(chunks.AnswersFast());
  EXPECT_TRUE(IcechunkVirtualChunks({}, {}).AnswersFast());
}

TEST_F(VirtualObjectsTest, AnObjectIsAskedForItsVersionOnceForAllItsChunks) {
  for (uint64_t offset = 0; offset < 6; ++offset) EXPECT_EQ(Stat(x, offset).size(), 4U);
  EXPECT_EQ(bucket->count(FakeStore::Call::kRead), 1U);
  EXPECT_EQ(Read(x), "456");
  EXPECT_EQ(bucket->count(FakeStore::Call::kRead), 1U);
}

TEST_F(VirtualObjectsTest, AChunkHasTheVersionOfItsObjectAndItsPlace) {
  const ObjectInfo one = Stat(x);
  EXPECT_TRUE(one.may_change_elsewhere);
  EXPECT_EQ(one.version.mtime_ns, 1000 * 1'000'000'000LL);
  EXPECT_NE(one.version, Stat(x, 1).version);
  // Some servers make ETags of the time and the size.
  bucket->Put("run/y.nc", "9876543210");
  Set("run/y.nc", "\"tag\"", 1000);
  EXPECT_NE(one.version, Stat("s3://bucket/a/run/y.nc").version);
}

TEST_F(VirtualObjectsTest, WhatCannotBeReadIsNeverAbsent) {
  bucket->Put("short.nc", "012345");
  EXPECT_NE(Read("s3://bucket/a/short.nc").find("ends early: it has 6 bytes"), std::string::npos);
  EXPECT_NE(Read("s3://bucket/a/none.nc").find("the file is missing"), std::string::npos);
  EXPECT_EQ(Read(x), "456");
  bucket->Remove("run/x.nc");
  EXPECT_TRUE(Read(x).starts_with(ToString(ErrorCode::kStale)));  // the version that was known
  EXPECT_NE(Read(x).find("the file is missing"), std::string::npos);
}

TEST_F(VirtualObjectsTest, AnObjectOfAnotherTimeOrEtagIsAnError) {
  IcechunkReference reference;
  for (const uint32_t modified : {1000U, 1001U}) {
    reference.modified = modified;
    EXPECT_EQ(Read(x, reference), "456");
  }
  reference.modified = 999;
  EXPECT_NE(Read(x, reference).find("has changed since"), std::string::npos);
  reference.modified = 0;
  for (const char* const etag : {"tag", "\"tag\""}) {
    reference.etag = etag;
    EXPECT_EQ(Read(x, reference), "456");
  }
  for (const char* const etag : {"tagg", "W/\"tag\""}) {
    reference.etag = etag;
    EXPECT_NE(Read(x, reference).find("replaced: its ETag is tag"), std::string::npos);
  }
  Set("run/x.nc", "", 0);
  reference = {};
  reference.modified = 1000;
  EXPECT_NE(Read(x, reference).find("server sends none"), std::string::npos);
}

TEST_F(VirtualObjectsTest, AReferenceThatTheKnownVersionDoesNotFitAsksAgain) {
  EXPECT_EQ(Read(x), "456");
  bucket->Put("run/x.nc", "abcdefghij");
  Set("run/x.nc", "\"new\"", 2000);
  IcechunkReference reference;
  reference.etag = "new";
  EXPECT_EQ(Read(x, reference), "efg");
}

// The location of the one reference of a manifest.
Result<std::string> LocationIn(const WrittenReference& reference, std::string_view dictionary) {
  constexpr uint8_t kId = 2;
  auto file = DecodeIcechunkFile("m", IcechunkWriter::Manifest(kId, {{1, {reference}}}, dictionary),
                                 IcechunkFileType::kManifest);
  const auto manifest = IcechunkManifest::Parse(*std::move(file), IcechunkIdOf(kId)).value();
  return manifest->LocationOf(manifest->At(0));
}

std::string Compressed(std::string_view text, std::string_view dictionary) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  out.resize(ZSTD_compress_usingDict(context, out.data(), out.size(), text.data(), text.size(),
                                     dictionary.data(), dictionary.size(), 3));
  ZSTD_freeCCtx(context);
  return out;
}

TEST(LocationTest, IsDecompressedWithTheDictionaryOfItsManifest) {
  const std::string dictionary = "file:///data/nc/some/long/folder/ocean_0000.nc";
  const std::string location = "file:///data/nc/some/long/folder/ocean_0001.nc";
  WrittenReference reference{{0}, 0, 1, 2};
  reference.compressed_location = Compressed(location, dictionary);
  EXPECT_LT(reference.compressed_location.size(), location.size());
  EXPECT_EQ(LocationIn(reference, dictionary).value(), location);
  EXPECT_NE(LocationIn(reference, "another dictionary").value_or(""), location);
  reference.compressed_location = "no zstd";
  EXPECT_FALSE(LocationIn(reference, dictionary));
  reference.compressed_location = Compressed(std::string(1U << 20, 'x'), "");
  EXPECT_EQ(LocationIn(reference, "").error().code, ErrorCode::kDamaged);
}

TEST(ManifestTest, HasEachReferenceAsItWasWritten) {
  constexpr uint8_t kId = 2;
  constexpr uint64_t kLong = 1ULL << 31;
  const auto at = [](const std::string& location, uint64_t offset, uint64_t length) {
    WrittenReference reference{{}, 0, offset, length};
    reference.location = location;
    return reference;
  };
  std::vector<WrittenReference> written = {at("a", 0, 1),
                                           at("a", 7, 2),
                                           at("b", kLong, kLong - 1),
                                           at("b", 1, kLong - 2),
                                           at("b", kLong * kLong - 1, kLong),
                                           at("a", 5, 0),
                                           at("a", 6, 3),
                                           at("a", 8, 4),
                                           {{}, 3, 0, kLong - 2},
                                           {{}, 3, 0, kLong - 1},
                                           {{}, 4, 9, 10},
                                           {{}, 0, 0, 0, "inline"},
                                           at("a", 11, 12)};
  written[6].etag = "e";
  written[7].etag = "e";
  written[7].modified = 5;
  for (uint32_t i = 0; i < written.size(); ++i) written[i].index = {i};
  auto file = DecodeIcechunkFile("m", IcechunkWriter::Manifest(kId, {{1, written}}, ""),
                                 IcechunkFileType::kManifest);
  const auto manifest = IcechunkManifest::Parse(*std::move(file), IcechunkIdOf(kId)).value();
  ASSERT_EQ(manifest->size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    const IcechunkReference found = manifest->At(i);
    const bool is_inline = !written[i].inlined.empty();
    EXPECT_EQ(found.kind, is_inline                      ? IcechunkReference::Kind::kInline
                          : !written[i].location.empty() ? IcechunkReference::Kind::kVirtual
                                                         : IcechunkReference::Kind::kNative)
        << i;
    EXPECT_EQ(found.bytes, is_inline ? written[i].inlined : written[i].location) << i;
    EXPECT_EQ(found.offset, written[i].offset) << i;
    EXPECT_EQ(found.length, is_inline ? written[i].inlined.size() : written[i].length) << i;
    EXPECT_EQ(found.etag, written[i].etag) << i;
    EXPECT_EQ(found.modified, written[i].modified) << i;
    if (written[i].chunk != 0) {
      EXPECT_EQ(found.chunk, IcechunkIdOf(written[i].chunk)) << i;
    }
  }
}

TEST(ManifestTest, VirtualChunksOfOneFileTakeItsAddressOnce) {
  constexpr uint8_t kId = 2;
  constexpr uint32_t kCount = 10'000;
  std::vector<WrittenReference> written(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    written[i] = {{i}, 0, i, 100};
    written[i].location = "s3://bucket/data/of-some-length/file" + std::to_string(i / 10) + ".nc";
    written[i].etag = "\"d41d8cd98f00b204e9800998ecf8427e\"";
  }
  auto file = DecodeIcechunkFile("m", IcechunkWriter::Manifest(kId, {{1, written}}, ""),
                                 IcechunkFileType::kManifest);
  const auto manifest = IcechunkManifest::Parse(*std::move(file), IcechunkIdOf(kId)).value();
  EXPECT_LT(manifest->bytes_in_memory(), 32 * kCount);
}

TEST(ManifestTest, NativeChunksTakeAnIdALengthAndCoordinates) {
  constexpr uint8_t kId = 2;
  constexpr uint32_t kCount = 10'000;
  std::vector<WrittenReference> written(kCount);
  for (uint32_t i = 0; i < kCount; ++i) written[i] = {{i, 0}, 3, 0, 100};
  auto file = DecodeIcechunkFile("m", IcechunkWriter::Manifest(kId, {{1, written}}, ""),
                                 IcechunkFileType::kManifest);
  const auto manifest = IcechunkManifest::Parse(*std::move(file), IcechunkIdOf(kId)).value();
  EXPECT_LT(manifest->bytes_in_memory(), 24 * kCount + 1000);
}

}  // namespace
}  // namespace zarrfs::virtual_chunks_test
