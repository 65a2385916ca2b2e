#include "zarrcore/open/recent_answers.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/at_once.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/revalidating_cache.h"

namespace zarrfs::recent_answers_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Call = FakeStore::Call;

struct RecentAnswersTest : testing::Test {
  RecentAnswersTest() {
    server->Put("zarr.json", "the root");
    server->Put("a/zarr.json", "one");
    server->Put("a/c/0", "chunk");
  }

  std::string Text(const std::string& key) const {
    const auto whole = ReadWhole(*store, key, 1 << 20);
    return whole ? whole->bytes : whole.error().code == ErrorCode::kNotFound ? "absent" : "error";
  }
  void Sleep(milliseconds time) const { std::this_thread::sleep_for(time); }

  const std::shared_ptr<FakeStore> server = std::make_shared<FakeStore>();
  const std::shared_ptr<Store> store = RememberAnswers(server, /*is_listed=*/true);
};

TEST_F(RecentAnswersTest, WhoDoesNotSayWhatIsAcceptedGetsNewAnswers) {
  EXPECT_EQ(Text("a/zarr.json"), "one");
  server->Put("a/zarr.json", "two");
  EXPECT_EQ(Text("a/zarr.json"), "two");
  EXPECT_EQ(Text("a/.zattrs"), "absent");
  server->Put("a/.zattrs", "new");
  EXPECT_EQ(Text("a/.zattrs"), "new");
  EXPECT_EQ(server->count(Call::kRead), 4);
}

TEST_F(RecentAnswersTest, OneRequestAsksOnce) {
  const AcceptedAnswers accepted(Age{0}, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Text("a/zarr.json"), "one");
    EXPECT_EQ(store->Stat("a/zarr.json")->size(), 3);
    EXPECT_EQ(Text("a/.zattrs"), "absent");
    EXPECT_FALSE(store->Stat("a/.zattrs"));
    EXPECT_FALSE(store->Stat("a/c/1"));
    EXPECT_EQ(store->List("a")->size(), 2);
  }
  EXPECT_EQ(server->count(Call::kRead), 2);
  EXPECT_EQ(server->count(Call::kStat), 1);
  EXPECT_EQ(server->count(Call::kList), 1);
  AtOnce(8, 8, [&](size_t) { EXPECT_EQ(Text("a/zarr.json"), "one"); });
  EXPECT_EQ(server->count(Call::kRead), 2);
}

TEST_F(RecentAnswersTest, WhoAsksWhileAnotherThreadWaitsForTheAnswerTakesItIfItIsNewEnough) {
  server->Block(Call::kRead, "a/zarr.json");
  const auto ask = [&](Age max_age) {
    const AcceptedAnswers accepted(max_age, {});
    EXPECT_EQ(Text("a/zarr.json"), "one");
  };
  std::jthread first([&] { ask(Age{0}); });
  ASSERT_TRUE(server->WaitUntilBlocked());
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i) others.emplace_back([&] { ask(hours(1)); });
  std::jthread strict([&] { ask(Age{0}); });
  std::jthread lists([&] { EXPECT_EQ(store->List("a")->size(), 2); });
  Sleep(milliseconds(50));
  server->Release();
  first.join();
  others.clear();
  strict.join();
  EXPECT_EQ(server->count(Call::kRead), 2)
      << "for the first one, and for the one that accepts no age";
}

TEST_F(RecentAnswersTest, TheNextRequestOnlyTakesAnswersOfTheAgeThatItAccepts) {
  {
    const AcceptedAnswers accepted(Age{0}, {});
    EXPECT_EQ(Text("a/zarr.json"), "one");
    EXPECT_FALSE(store->Stat("a/c/1"));
    EXPECT_EQ(store->List("a")->size(), 2);
  }
  server->Put("a/zarr.json", "two");
  server->Put("a/c/1", "chunk");
  server->Put("a/more", "");
  {
    const AcceptedAnswers accepted(hours(1), {});
    EXPECT_EQ(Text("a/zarr.json"), "one");
    EXPECT_FALSE(store->Stat("a/c/1"));
    EXPECT_EQ(store->List("a")->size(), 2);
    const AcceptedAnswers narrower(Age{0});
    EXPECT_EQ(Text("a/zarr.json"), "two");
    EXPECT_TRUE(store->Stat("a/c/1"));
    EXPECT_EQ(store->List("a")->size(), 3);
  }
  server->Put("a/zarr.json", "three");
  Sleep(milliseconds(20));
  const AcceptedAnswers accepted(milliseconds(10), {});
  EXPECT_EQ(Text("a/zarr.json"), "three");
}

TEST_F(RecentAnswersTest,
       AnAnswerOnAnOldDocumentIsAcceptedForLongerAndNeitherAnAbsenceNorAYoungOne) {
  const AnswerReuse reuse{.share_of_age = 0.1, .most = hours(1)};
  {
    const AcceptedAnswers accepted(Age{0}, {});
    EXPECT_EQ(Text("a/zarr.json"), "one");
    EXPECT_EQ(Text("a/.zattrs"), "absent");
  }
  Sleep(milliseconds(2));
  {
    const AcceptedAnswers accepted(Age{1}, reuse);
    EXPECT_EQ(Text("a/zarr.json"), "one");
    EXPECT_EQ(server->count(Call::kRead, "a/zarr.json"), 1);
    EXPECT_EQ(Text("a/.zattrs"), "absent");
    EXPECT_EQ(server->count(Call::kRead, "a/.zattrs"), 2);
  }
  // A document whose next version may look the same.
  server->SetTimestampGranularityNs(int64_t{1'000'000'000} * 3600 * 24 * 365 * 100);
  for (int i = 0; i < 2; ++i) {
    const AcceptedAnswers accepted(Age{1}, reuse);
    Sleep(milliseconds(2));
    EXPECT_EQ(Text("zarr.json"), "the root");
    EXPECT_EQ(Text("zarr.json"), "the root");
  }
  EXPECT_EQ(server->count(Call::kRead, "zarr.json"), 2);
}

TEST_F(RecentAnswersTest, OfAnOldAnswerOnlyTheVersionIsAskedForAndTheTextIsKept) {
  const auto request = [&] {
    const AcceptedAnswers accepted(Age{0}, {});
    const auto info = store->Stat("zarr.json");
    return info ? Text("zarr.json") : "none";
  };
  EXPECT_EQ(Text("zarr.json"), "the root");
  EXPECT_EQ(request(), "the root");
  EXPECT_EQ(server->bytes_read(), std::string("the root").size() + 1);
  server->Put("zarr.json", "another");
  EXPECT_EQ(request(), "another");
  server->Remove("zarr.json");
  EXPECT_EQ(request(), "none");
  EXPECT_EQ(Text("zarr.json"), "absent");
}

TEST_F(RecentAnswersTest, FailuresAreNotRemembered) {
  const AcceptedAnswers accepted(hours(1), {});
  server->FailAllWith("a", {ErrorCode::kIo, "cable pulled"});
  EXPECT_EQ(Text("a/zarr.json"), "error");
  EXPECT_EQ(store->Stat("a/c/1").error().code, ErrorCode::kIo);
  EXPECT_FALSE(store->List("a"));
  server->ClearFaults();
  EXPECT_EQ(Text("a/zarr.json"), "one");
  EXPECT_EQ(store->Stat("a/c/1").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->List("a")->size(), 2);
}

TEST_F(RecentAnswersTest, AListingThatBreaksOffOrIsNotReadToItsEndIsNotRemembered) {
  const AcceptedAnswers accepted(hours(1), {});
  server->EndListings("a", 1);
  EXPECT_FALSE(store->List("a"));
  server->ClearFaults();
  (void)(*store->OpenFolder("a"))->Next(1);
  EXPECT_EQ(store->List("a")->size(), 2);
  EXPECT_EQ(store->List("a")->size(), 2);
  EXPECT_EQ(server->count(Call::kList), 3);
}

TEST_F(RecentAnswersTest, LargeDocumentsAreReadAsTheyAre) {
  const std::string large(200'000, 'x');
  server->Put("a/zarr.json", large);
  const std::string huge((8u << 20) + 1, 'y');
  server->Put("b/zarr.json", huge);
  for (int i = 0; i < 2; ++i) {
    const AcceptedAnswers accepted(hours(1), {});
    EXPECT_EQ(Text("a/zarr.json"), large);
    const auto whole = ReadWhole(*store, "b/zarr.json", 16u << 20);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->bytes, huge);
  }
  EXPECT_EQ(server->count(Call::kRead, "a/zarr.json"), 1);
}

TEST_F(RecentAnswersTest, FoldersOfAStoreThatCannotBeListedHaveDocuments) {
  const auto unlisted = RememberAnswers(server, /*is_listed=*/false);
  const AcceptedAnswers accepted(Age{0}, {});
  EXPECT_TRUE(unlisted->Stat("a/c/0"));
  EXPECT_FALSE(unlisted->Stat("a/c"));
  EXPECT_FALSE(unlisted->Stat("none"));
  EXPECT_FALSE(unlisted->Stat("none"));
  EXPECT_EQ(server->count(Call::kRead, "none"), 4) << "the object and three documents";
}

/// A store whose listings report versions. With `other_etags`, these differ from the versions of
/// the objects.
class ListingStore final : public ForwardingStore {
 public:
  ListingStore(std::shared_ptr<FakeStore> store, bool other_etags)
      : ForwardingStore(store), store_(std::move(store)), other_etags_(other_etags) {}

  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    const int64_t asked_ns = SteadyNowNs();
    auto names = ForwardingStore::OpenFolder(folder).value()->Next(1000);
    for (ListEntry& entry : *names) {
      if (entry.is_folder) continue;
      const auto info = store_->Stat(JoinKey(folder, entry.name));
      entry.listed = std::make_shared<ListedObject>(
          ListedObject{std::make_shared<ThisObject>(*this, JoinKey(folder, entry.name),
                                                    other_etags_ ? WithOther(*info) : *info),
                       asked_ns});
    }
    store_->ResetCounts();
    return std::make_unique<ThisStream>(*names);
  }

 private:
  class ThisStream final : public FolderStream {
   public:
    explicit ThisStream(std::vector<ListEntry> names) : names_(std::move(names)) {}
    Result<std::vector<ListEntry>> Next(size_t) override { return std::exchange(names_, {}); }

   private:
    std::vector<ListEntry> names_;
  };
  class ThisObject final : public Object {
   public:
    ThisObject(const ListingStore& store, std::string key, ObjectInfo info)
        : store_(store.store_), key_(std::move(key)), info_(std::move(info)) {}
    const ObjectInfo& info() const override { return info_; }
    Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
      const auto answer = store_->Read(key_, ByteRange::At(offset, out.size()), out);
      if (!answer) return Fail(answer);
      if (answer->object->info().version != info_.version) {
        return Fail(ErrorCode::kStale, "replaced");
      }
      return {};
    }

   private:
    const std::shared_ptr<FakeStore> store_;
    const std::string key_;
    const ObjectInfo info_;
  };
  static ObjectInfo WithOther(ObjectInfo info) {
    info.version.etag = "another";
    return info;
  }

  const std::shared_ptr<FakeStore> store_;
  const bool other_etags_;
};

struct ListedAnswersTest : RecentAnswersTest {
  ListedAnswersTest() {
    for (int chunk = 0; chunk < 20; ++chunk) server->Put("a/c/" + std::to_string(chunk), "chunk");
  }
  /// Lists all chunks, and stats and opens each of them. Returns the number of requests after the
  /// listing.
  uint64_t Requests(const Store& of) const {
    EXPECT_EQ(of.List("a/c")->size(), 20);
    for (int chunk = 0; chunk < 20; ++chunk) {
      const std::string key = "a/c/" + std::to_string(chunk);
      EXPECT_EQ(of.Stat(key)->size(), 5);
      EXPECT_EQ(of.Read(key, ByteRange::At(0, 0), {})->object->info().size(), 5);
    }
    return server->total_count();
  }
};

TEST_F(ListedAnswersTest, WhatAListingSaysIsNotAskedOnceAVersionWasCompared) {
  const auto listed = RememberAnswers(std::make_shared<ListingStore>(server, false), true);
  {
    const AcceptedAnswers accepted(Age{0}, {});
    EXPECT_EQ(Requests(*listed), 1);
    EXPECT_EQ(Requests(*listed), 1);
  }
  server->ResetCounts();
  const AcceptedAnswers accepted(Age{0}, {});
  EXPECT_EQ(Requests(*listed), 0) << "nothing is compared again";
}

TEST_F(ListedAnswersTest, VersionsThatAreNotThoseOfTheObjectsAreNotUsed) {
  const auto listed = RememberAnswers(std::make_shared<ListingStore>(server, true), true);
  const AcceptedAnswers accepted(Age{0}, {});
  EXPECT_EQ(Requests(*listed), 2 + 20 + 20);
}

TEST_F(ListedAnswersTest, AnObjectThatWasReplacedIsAskedForAgain) {
  const auto listed = RememberAnswers(std::make_shared<ListingStore>(server, false), true);
  const AcceptedAnswers accepted(hours(1), {});
  (void)Requests(*listed);
  server->Put("a/c/7", "longer chunk");
  const auto before = listed->Read("a/c/7", ByteRange::At(0, 0), {});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->object->info().size(), 5);
  std::array<std::byte, 5> bytes{};
  EXPECT_EQ(before->object->Read(0, bytes).error().code, ErrorCode::kStale);
  EXPECT_EQ(listed->Read("a/c/7", ByteRange::At(0, 0), {})->object->info().size(), 12);
  EXPECT_EQ(listed->Stat("a/c/7")->size(), 12);
}

TEST_F(ListedAnswersTest, WhereManyListedObjectsWereReplacedListedVersionsAreUsedNoMore) {
  const auto listed = RememberAnswers(std::make_shared<ListingStore>(server, false), true);
  const AcceptedAnswers accepted(hours(1), {});
  (void)Requests(*listed);
  std::array<std::byte, 1> byte{};
  for (int chunk = 0; chunk < 8; ++chunk) {
    const std::string key = "a/c/" + std::to_string(chunk);
    server->Put(key, "other");
    EXPECT_FALSE(listed->Read(key, ByteRange::At(0, 0), {})->object->Read(0, byte));
  }
  server->Put("a/c/9", "longer chunk");
  EXPECT_EQ(listed->Stat("a/c/9")->size(), 12);
}

TEST_F(ListedAnswersTest, ALayerWithRulesOfItsOwnGetsNewAnswers) {
  const auto listed = RememberAnswers(std::make_shared<ListingStore>(server, false), true);
  const auto newest = WithNewAnswers(listed);
  const AcceptedAnswers accepted(hours(1), {});
  (void)Requests(*newest);
  server->Put("a/c/7", "longer chunk");
  EXPECT_EQ(listed->Stat("a/c/7")->size(), 5);
  EXPECT_EQ(newest->Stat("a/c/7")->size(), 12);
}

/// A value made from a document.
struct Made {
  std::string text;
  mutable Freshness freshness;
};
using Cache = RevalidatingCache<std::string, Made>;
class MadeLoader : public Cache::Loader {
 public:
  explicit MadeLoader(const Store& store) : store_(store) {}
  Result<Revalidation> Revalidate(const Cache::ValuePtr&) override {
    return Revalidation::kReplaced;
  }
  Result<Cache::Loaded> Load() override {
    auto whole = ReadWhole(store_, "a/zarr.json", 100);
    if (!whole) return Fail(whole);
    auto made = std::make_shared<Made>();
    made->text = whole->bytes;
    return Cache::Loaded{std::move(made), 1};
  }

 private:
  const Store& store_;
};

TEST_F(RecentAnswersTest, WhatIsMadeOfARememberedAnswerIsAsOldAsThatAnswer) {
  MadeLoader loader(*store);
  Cache cache(store, 100);
  {
    const AcceptedAnswers accepted(Age{0}, {});
    EXPECT_EQ(Text("a/zarr.json"), "one");
  }
  server->Put("a/zarr.json", "two");
  Sleep(milliseconds(60));
  {
    const AcceptedAnswers accepted(hours(1), {});
    EXPECT_EQ((*cache.Get("", hours(1), loader).value)->text, "one");
  }
  const AcceptedAnswers accepted(milliseconds(50), {});
  EXPECT_EQ((*cache.Get("", milliseconds(50), loader).value)->text, "two");
}

TEST_F(RecentAnswersTest, ACallerThatAcceptsNoAgeGetsANewAnswerInAnyRequest) {
  MadeLoader loader(*store);
  Cache cache(store, 100);
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_EQ((*cache.Get("", Age{0}, loader).value)->text, "one");
  server->Put("a/zarr.json", "two");
  EXPECT_EQ((*cache.Get("", Age{0}, loader).value)->text, "two");
}

}  // namespace
}  // namespace zarrfs::recent_answers_test
