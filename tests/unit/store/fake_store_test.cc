#include "tests/unit/support/fake_store.h"

#include <gtest/gtest.h>

#include <future>

namespace zarrfs::fake_store_test {
namespace {

using Call = FakeStore::Call;

std::string ReadAll(const Store& store, std::string_view key) {
  const Result<WholeObject> whole = ReadWhole(store, key, 1 << 20);
  return whole ? whole->bytes : std::string(ToString(whole.error().code));
}

Result<std::string> ReadOn(const Object& object, uint64_t offset, size_t length) {
  std::string bytes(length, '?');
  const Result<void> read = object.Read(offset, std::as_writable_bytes(std::span(bytes)));
  if (!read) return Fail(read);
  return bytes;
}

TEST(FakeStoreTest, FoldersExistAboveWhatWasPut) {
  FakeStore store;
  store.Put("a/c/0", "x");
  EXPECT_TRUE(store.Stat("a/c").value().is_folder);
  EXPECT_EQ(store.List("").value(), (std::vector<ListEntry>{{"a", true}}));
  EXPECT_EQ(store.List("a/c").value(), (std::vector<ListEntry>{{"0", false}}));
  EXPECT_EQ(store.List("a/c/0").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadAll(store, "a/c"), "not found");
}

TEST(FakeStoreTest, ReplacedObjectIsReadOnAndRewrittenOneIsStale) {
  FakeStore store;
  store.Put("k", "old");
  const auto old = ReadWhole(store, "k", 10).value().object;
  store.Put("k", "new!");
  EXPECT_EQ(ReadOn(*old, 0, 3).value(), "old");
  EXPECT_NE(store.Stat("k").value().version.inode, old->info().version.inode);

  const auto replaced = ReadWhole(store, "k", 10).value().object;
  store.RewriteInPlace("k", "now?");
  EXPECT_EQ(ReadOn(*replaced, 0, 4).error().code, ErrorCode::kStale);

  store.SetReplacedIsStale(true);
  EXPECT_EQ(ReadOn(*old, 0, 3).error().code, ErrorCode::kStale);
}

TEST(FakeStoreTest, ChangeOfAFolderGivesItAnotherVersionOfTheSameInode) {
  FakeStore store;
  store.Put("a/0", "x");
  const Version before = store.Stat("a").value().version;
  store.Put("a/1", "x");
  const Version after = store.Stat("a").value().version;
  EXPECT_EQ(before.inode, after.inode);
  EXPECT_NE(before, after);
  store.Remove("a/1");
  EXPECT_NE(store.Stat("a").value().version, after);
}

TEST(FakeStoreTest, FaultsHitTheirKindAndPrefixOnly) {
  FakeStore store;
  store.Put("bad/k", "0123");
  store.Put("good/k", "0123");
  store.FailWith(Call::kRead, "bad", {ErrorCode::kIo, "cable pulled"});
  EXPECT_EQ(ReadAll(store, "bad/k"), "input/output error");
  EXPECT_TRUE(store.Stat("bad/k"));
  EXPECT_EQ(ReadAll(store, "good/k"), "0123");
  store.ClearFaults();
  EXPECT_EQ(ReadAll(store, "bad/k"), "0123");
}

TEST(FakeStoreTest, ShortenedObjectAnnouncesItsSizeAndEndsEarly) {
  FakeStore store;
  store.Put("k", "0123456789");
  store.Shorten("k", 4);
  EXPECT_EQ(store.Stat("k").value().size(), 10U);
  EXPECT_EQ(ReadAll(store, "k"), "damaged");
  std::array<std::byte, 4> four;
  const auto answer = store.Read("k", ByteRange::At(0, 4), four).value();
  EXPECT_EQ(ReadOn(*answer.object, 2, 2).value(), "23");
  EXPECT_EQ(ReadOn(*answer.object, 2, 3).error().code, ErrorCode::kDamaged);
}

TEST(FakeStoreTest, AnswersWithOtherBytesOfTheSameSize) {
  FakeStore store;
  store.Put("k", "01234");
  store.AnswerWith("k", "ab");
  EXPECT_EQ(ReadAll(store, "k"), "ababa");
}

TEST(FakeStoreTest, BlockedCallAnswersAfterRelease) {
  FakeStore store;
  store.Put("k", "01234");
  store.Block(Call::kRead, "k");
  std::future<std::string> answer =
      std::async(std::launch::async, [&] { return ReadAll(store, "k"); });
  ASSERT_TRUE(store.WaitUntilBlocked());
  EXPECT_TRUE(store.Stat("k"));
  store.Release();
  EXPECT_EQ(answer.get(), "01234");
}

TEST(FakeStoreTest, CountsCallsByKindAndKey) {
  FakeStore store;
  store.Put("a/k", "01234");
  (void)store.Stat("a/k");
  (void)store.Stat("missing");
  (void)ReadAll(store, "a/k");
  EXPECT_EQ(store.count(Call::kStat), 2U);
  EXPECT_EQ(store.count(Call::kStat, "a/"), 1U);
  EXPECT_EQ(store.count(Call::kRead), 1U);
  EXPECT_EQ(store.count(Call::kList), 0U);
  EXPECT_EQ(store.bytes_read(), 5U);
  store.ResetCounts();
  EXPECT_EQ(store.total_count(), 0U);
}

}  // namespace
}  // namespace zarrfs::fake_store_test
