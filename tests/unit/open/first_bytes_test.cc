#include "zarrcore/open/first_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/answer_age.h"
#include "zarrcore/open/recent_answers.h"

namespace zarrfs::first_bytes_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Call = FakeStore::Call;

struct FirstBytesTest : testing::Test {
  std::shared_ptr<const Object> Open(const std::string& key) const {
    return store->Read(key, ByteRange::At(0, 0), {}).value().object;
  }
  static std::string Text(const Object& object) {
    std::string text(object.info().size(), '?');
    const auto read = object.Read(0, std::as_writable_bytes(std::span(text)));
    return read ? text : read.error().code == ErrorCode::kStale ? "stale" : "error";
  }
  uint64_t Requests() const {
    return server->count(Call::kRead) + server->count(Call::kObjectRead);
  }

  const std::shared_ptr<FakeStore> server = std::make_shared<FakeStore>();
  const std::shared_ptr<Store> store = RememberAnswers(server, /*is_listed=*/true);
};

TEST_F(FirstBytesTest, OpeningAndReadingASmallObjectIsOneRequest) {
  server->Put("c/0", "a chunk");
  const AcceptedAnswers accepted(hours(1), {});
  const auto object = Open("c/0");
  EXPECT_EQ(Text(*object), "a chunk");
  EXPECT_EQ(Requests(), 1);
  EXPECT_EQ(Text(*object), "a chunk");
  EXPECT_EQ(Requests(), 2) << "they are kept for one reader";
}

TEST_F(FirstBytesTest, ReadingInPiecesIsNoFurtherRequest) {
  server->Put("c/0", "a chunk");
  const AcceptedAnswers accepted(hours(1), {});
  const auto object = Open("c/0");
  std::string text(7, '?');
  const auto bytes = std::as_writable_bytes(std::span(text));
  ASSERT_TRUE(object->Read(0, bytes.first(3)));
  ASSERT_TRUE(object->Read(3, bytes.subspan(3)));
  EXPECT_EQ(text, "a chunk");
  EXPECT_EQ(Requests(), 1);
}

TEST_F(FirstBytesTest, WhatFollowsTheFirstBytesOfALargeObjectIsRequested) {
  const std::string large = std::string(FirstBytes::kMaxBytes, 'a') + "the rest";
  server->Put("c/0", large);
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_EQ(Text(*Open("c/0")), large);
  EXPECT_EQ(Requests(), 2);
}

TEST_F(FirstBytesTest, AReaderThatAcceptsNoSuchAgeAsksAgain) {
  server->Put("c/0", "a chunk");
  std::shared_ptr<const Object> object;
  {
    const AcceptedAnswers accepted(hours(1), {});
    object = Open("c/0");
  }
  server->RewriteInPlace("c/0", "another");
  std::this_thread::sleep_for(milliseconds(20));
  {
    const AcceptedAnswers accepted(milliseconds(10), {});
    EXPECT_EQ(Text(*object), "stale");
  }
  EXPECT_EQ(Text(*object), "stale") << "readers that do not say what they accept";
}

TEST_F(FirstBytesTest, BytesOfAnotherVersionAreNotUsed) {
  server->Put("c/0", "a chunk");
  const AcceptedAnswers accepted(hours(1), {});
  const auto before = Open("c/0");
  server->RewriteInPlace("c/0", "another");
  {
    const AcceptedAnswers newest(Age{0});
    EXPECT_EQ(store->Stat("c/0")->size(), 7);
    EXPECT_EQ(Text(*Open("c/0")), "another");
  }
  EXPECT_EQ(Text(*before), "stale");
}

TEST_F(FirstBytesTest, AProgramThatReadsNothingSoonGetsNoBytes) {
  const AcceptedAnswers accepted(hours(1), {});
  const std::string large(FirstBytes::kMaxBytes, 'a');
  constexpr int kUnread = FirstBytes::kAllBytes / FirstBytes::kMaxBytes;
  std::shared_ptr<const Object> last;
  for (int chunk = 0; chunk < kUnread + 8; ++chunk) {
    server->Put("c/" + std::to_string(chunk), large);
    last = Open("c/" + std::to_string(chunk));
  }
  const uint64_t before = Requests();
  EXPECT_EQ(Text(*last), large);
  EXPECT_EQ(Requests(), before + 1) << "it was opened without its bytes";
  // Reading that object has earned the credit for the next one.
  server->Put("c/next", large);
  EXPECT_EQ(Text(*Open("c/next")), large);
  EXPECT_EQ(Requests(), before + 2);
}

TEST_F(FirstBytesTest, WithACacheBelowOpeningRequestsNoBytes) {
  const auto without = RememberAnswers(server, true, /*keeps_first_bytes=*/false);
  server->Put("c/0", "a chunk");
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_EQ(Text(*without->Read("c/0", ByteRange::At(0, 0), {}).value().object), "a chunk");
  EXPECT_EQ(Requests(), 2);
}

TEST_F(FirstBytesTest, AMissingObjectCostsNoCredit) {
  const AcceptedAnswers accepted(hours(1), {});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(store->Read("c/" + std::to_string(i), ByteRange::At(0, 0), {}));
  }
  server->Put("there", "a chunk");
  server->ResetCounts();
  EXPECT_EQ(Text(*Open("there")), "a chunk");
  EXPECT_EQ(Requests(), 1);
}

}  // namespace
}  // namespace zarrfs::first_bytes_test
