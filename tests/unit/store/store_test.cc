#include "zarrcore/store/store.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs::store_test {
namespace {

using Call = FakeStore::Call;

TEST(VersionTest, FingerprintDependsOnEachFieldAndItsPlace) {
  std::vector<Version> versions(17);
  versions[1].device = 1;
  versions[2].inode = 1;
  versions[3].size = 1;
  versions[4].mtime_ns = 1;
  versions[5].ctime_ns = 1;
  versions[6].etag = "1";
  versions[7].etag = std::string("1\0", 2);
  versions[8].etag = "12345678";
  versions[9].etag = "123456781";
  versions[10].device = 2;
  versions[11].inode = 2;
  versions[12].size = 2;
  versions[13].mtime_ns = -1;
  versions[14].ctime_ns = -1;
  versions[15] = {1, 2, 3, 4, 5, ""};
  versions[16] = {2, 1, 3, 4, 5, ""};
  std::set<uint64_t> fingerprints;
  for (const Version& version : versions) {
    fingerprints.insert(version.Fingerprint());
    EXPECT_NE(version.Fingerprint(), 0U);
    EXPECT_EQ(Version(version).Fingerprint(), version.Fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), versions.size());
}

TEST(VersionTest, FingerprintsOfNeighbouringInodesAndTimesDiffer) {
  std::set<uint64_t> fingerprints;
  for (uint64_t inode = 0; inode < 100; ++inode) {
    for (int64_t time = 0; time < 100; ++time) {
      fingerprints.insert(Version{1, inode, 4096, time, time, ""}.Fingerprint());
    }
  }
  EXPECT_EQ(fingerprints.size(), 10000U);
}

TEST(KeyTest, JoinsFolderAndName) {
  EXPECT_EQ(JoinKey("", "a"), "a");
  EXPECT_EQ(JoinKey("a/b", "zarr.json"), "a/b/zarr.json");
}

TEST(KeyTest, OnlyPlainPathsAreKeys) {
  for (const std::string_view key : {"", "a", "a/b", ".zarray", "a/..b", "...", "a/.b"}) {
    EXPECT_TRUE(IsValidKey(key)) << key;
  }
  for (const std::string_view key :
       {std::string_view("/"), std::string_view("/a"), std::string_view("a/"),
        std::string_view("a//b"), std::string_view("."), std::string_view(".."),
        std::string_view("a/../b"), std::string_view("a/."), std::string_view("a\0b", 3)}) {
    EXPECT_FALSE(IsValidKey(key)) << key;
  }
}

TEST(ReadWholeTest, ReadsASmallObjectWithOneRequest) {
  FakeStore store;
  store.Put("zarr.json", "{}");
  const Result<WholeObject> whole = ReadWhole(store, "zarr.json", 1000);
  EXPECT_EQ(whole.value().bytes, "{}");
  EXPECT_EQ(whole->object->info().size(), 2U);
  EXPECT_EQ(store.total_count(), 1U);
}

TEST(ReadWholeTest, ReadsALongObjectInTwo) {
  FakeStore store;
  std::string bytes(200'000, 'x');
  bytes[65'535] = 'a';
  bytes[65'536] = 'b';
  store.Put("zarr.json", bytes);
  EXPECT_EQ(ReadWhole(store, "zarr.json", 200'000).value().bytes, bytes);
  EXPECT_EQ(store.count(Call::kRead), 1U);
  EXPECT_EQ(store.count(Call::kObjectRead), 1U);
}

TEST(ReadWholeTest, ReadsAnEmptyObject) {
  FakeStore store;
  store.Put("zarr.json", "");
  EXPECT_EQ(ReadWhole(store, "zarr.json", 1000).value().bytes, "");
  EXPECT_EQ(ReadWhole(store, "zarr.json", 0).value().bytes, "");
}

TEST(ReadWholeTest, ObjectBeyondTheLimitIsTooLarge) {
  FakeStore store;
  store.Put("zarr.json", "0123456789");
  EXPECT_EQ(ReadWhole(store, "zarr.json", 10).value().bytes, "0123456789");
  const Error error = ReadWhole(store, "zarr.json", 9).error();
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(error.message, "zarr.json: expected at most 9 bytes, found 10");
  EXPECT_EQ(store.count(Call::kObjectRead), 0U);
}

TEST(ReadWholeTest, MissingObjectIsNotFound) {
  const FakeStore store;
  EXPECT_EQ(ReadWhole(store, "zarr.json", 9).error().code, ErrorCode::kNotFound);
}

TEST(ReadWholeTest, ObjectThatChangesAllTheTimeIsStale) {
  FakeStore store;
  store.Put("zarr.json", std::string(100'000, 'x'));
  store.FailWith(Call::kObjectRead, "zarr.json", {ErrorCode::kStale, "changed"});
  EXPECT_EQ(ReadWhole(store, "zarr.json", 1'000'000).error().code, ErrorCode::kStale);
  EXPECT_EQ(store.count(Call::kRead), 3U);
}

TEST(GateTest, FastStoreIsStillFast) {
  const auto fake = std::make_shared<FakeStore>();
  fake->SetAnswersFast(true);
  EXPECT_TRUE(Gate(fake)->AnswersFast());
  fake->SetAnswersFast(false);
  EXPECT_FALSE(Gate(fake)->AnswersFast());
}

TEST(GateTest, StoreIsNotAskedForWhatNobodyWaitsForAnyMore) {
  const auto fake = std::make_shared<FakeStore>();
  fake->Put("k", "0123");
  const std::shared_ptr<const Store> store = Gate(fake);
  bool is_abandoned = false;
  const AbandonedIf scope([&] { return is_abandoned; });
  EXPECT_TRUE(store->Stat("k"));
  is_abandoned = true;
  fake->ResetCounts();
  EXPECT_EQ(store->Stat("k").error().code, ErrorCode::kWouldBlock);
  EXPECT_EQ(fake->total_count(), 0U);
}

TEST(GateTest, StoreIsNotAskedByAThreadThatMayNotWait) {
  const auto fake = std::make_shared<FakeStore>();
  fake->Put("k", "0123");
  fake->SetAnswersFast(false);
  const std::shared_ptr<const Store> store = Gate(fake);
  const auto object = ReadWhole(*store, "k", 10).value().object;
  const auto folder = store->OpenFolder("").value();
  fake->ResetCounts();
  std::array<std::byte, 4> four;
  {
    const NoWaiting no_waiting;
    EXPECT_EQ(store->Stat("k").error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(store->List("").error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(folder->Next(1).error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(store->Read("k", ByteRange::At(0, 4), four).error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(object->Read(0, four).error().code, ErrorCode::kWouldBlock);
    EXPECT_EQ(fake->total_count(), 0U);
  }
  EXPECT_TRUE(store->Stat("k"));
  EXPECT_TRUE(object->Read(0, four));
  EXPECT_EQ(folder->Next(1)->size(), 1U);
}

}  // namespace
}  // namespace zarrfs::store_test
