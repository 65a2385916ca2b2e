#include "zarrcore/icechunk/icechunk_file.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>
#include <string>
#include <utility>

#include "tests/unit/support/icechunk_writer.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs::icechunk_file_test {
namespace {

constexpr auto kType = IcechunkFileType::kManifest;

std::string Compressed(const std::string& content, bool with_size = true) {
  ZSTD_CCtx* const encoder = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(encoder, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  frame.resize(ZSTD_compress2(encoder, frame.data(), frame.size(), content.data(), content.size()));
  ZSTD_freeCCtx(encoder);
  return IcechunkHeader(kType, 1, 1) + frame;
}

std::string Content(const std::string& stored) {
  const auto file = DecodeIcechunkFile("manifests/X", stored, kType);
  return file ? file->content
              : std::string(ToString(file.error().code)) + ": " + file.error().message;
}

TEST(IcechunkFileTest, ContentIsDecompressedWhetherItsSizeIsStatedOrNot) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i * i);
  EXPECT_EQ(Content(Compressed(content)), content);
  EXPECT_EQ(Content(Compressed(content, /*with_size=*/false)), content);
  EXPECT_EQ(Content(IcechunkHeader(kType) + content), content);
}

TEST(IcechunkFileTest, DamageIsFound) {
  const std::string stored = Compressed("some content that is not very long");
  EXPECT_EQ(Content("ICE"), "damaged: manifests/X: damaged: not an Icechunk file");
  EXPECT_EQ(Content(std::string(stored).replace(0, 1, "J")),
            "damaged: manifests/X: damaged: not an Icechunk file");
  EXPECT_EQ(Content(stored.substr(0, stored.size() - 3)),
            "damaged: manifests/X: damaged: ends early");
  EXPECT_EQ(Content(stored + "x"), "damaged: manifests/X: damaged: bytes follow its content");
  EXPECT_EQ(Content(stored.substr(0, kIcechunkHeader) + "no frame"),
            "damaged: manifests/X: damaged: not a zstd frame");
}

TEST(IcechunkFileTest, NewerVersionsAndOtherFilesAreRefused) {
  EXPECT_EQ(
      Content(IcechunkHeader(kType, 3)),
      "not supported: manifests/X: written for version 3 of Icechunk's specification, expected "
      "1 to 2");
  EXPECT_EQ(Content(IcechunkHeader(IcechunkFileType::kSnapshot)),
            "damaged: manifests/X: damaged: expected a manifest (type 2), found type 1");
  EXPECT_EQ(
      Content(IcechunkHeader(kType, 1, 2)),
      "not supported: manifests/X: compression 2 is not known, expected 0 (none) or 1 (zstd)");
}

TEST(IcechunkFileTest, WhatDoesNotFitTheBudgetIsNotDecompressed) {
  const uint64_t before = ProcessMemory().limit();
  ProcessMemory().SetLimit(8u << 20);
  const std::string content(size_t{64} << 20, 'x');
  for (const bool with_size : {true, false}) {
    const auto file = DecodeIcechunkFile("manifests/X", Compressed(content, with_size), kType);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kTooLarge) << file.error().message;
    EXPECT_NE(file.error().message.find("bytes of memory, the limit is 8388608"), std::string::npos)
        << file.error().message;
  }
  ProcessMemory().SetLimit(before);
  EXPECT_EQ(ProcessMemory().used(), 0u);
}

TEST(IcechunkFileTest, TheStoredBytesCountForTheBudgetOnce) {
  const uint64_t before = ProcessMemory().limit();
  ProcessMemory().SetLimit(32u << 20);
  std::string content(size_t{26} << 20, '\0');
  std::minstd_rand random(1);  // not compressible
  for (char& byte : content) byte = static_cast<char>(random());
  const auto decode = [](std::string stored) {
    auto reserved = ProcessMemory().Take(stored.size()).value();
    return DecodeIcechunkFile("manifests/X", std::move(stored), kType, std::move(reserved));
  };
  {
    const auto file = decode(IcechunkHeader(kType) + content);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->content, content);
    EXPECT_EQ(ProcessMemory().used(), kIcechunkHeader + content.size());
  }
  // It can never fit, so an exclusive request does not wait for memory.
  const MemoryBudget::Alone alone(ProcessMemory(), [] { return false; });
  for (const bool with_size : {true, false}) {
    const auto file = decode(Compressed(content, with_size));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kTooLarge) << file.error().message;
    EXPECT_EQ(ProcessMemory().used(), 0u);
  }
  ProcessMemory().SetLimit(before);
}

}  // namespace
}  // namespace zarrfs::icechunk_file_test
