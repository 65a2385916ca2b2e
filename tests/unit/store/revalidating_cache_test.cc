#include "zarrcore/store/revalidating_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs::revalidating_cache_test {
namespace {

using std::chrono::hours;
using Call = FakeStore::Call;
constexpr Age kNow{0};

/// The bytes of an object.
struct Text {
  std::string bytes;
  ObjectInfo info;
  mutable Freshness freshness;
};
using Cache = RevalidatingCache<std::string, Text>;

class TextLoader : public Cache::Loader {
 public:
  TextLoader(const Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  Validity Watch() override { return Validity::Watch(store_, FolderOf(key_)); }
  Result<Revalidation> Revalidate(const Cache::ValuePtr& known) override {
    if (always_loads) {
      known_ = known;
      return Revalidation::kUnknown;
    }
    const auto info = store_.Stat(key_);
    if (!info) return Fail(info);
    const bool is_current = info->version == known->info.version;
    return is_current ? Revalidation::kCurrent : Revalidation::kReplaced;
  }
  Result<Cache::Loaded> Load() override {
    if (loads++ < stale_loads) return Fail(ErrorCode::kStale, "replaced meanwhile");
    auto whole = ReadWhole(store_, key_, 100);
    if (!whole) return Fail(whole);
    if (known_ != nullptr && known_->bytes == whole->bytes) return Cache::Loaded{known_, 1};
    auto text = std::make_shared<Text>();
    text->bytes = whole->bytes;
    text->info = whole->object->info();
    return Cache::Loaded{std::move(text), 1};
  }
  Validity ValidityOf(const Text& text, Validity watched) override {
    return text.info.may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const Text& text) override { return zarrfs::IsRacy(store_, text.info); }
  std::optional<int64_t> ChangedNs(const Text& text) override {
    return changed_ns ? changed_ns : text.info.version.ctime_ns;
  }
  void OnForgotten(const Cache::ValuePtr& old) override { forgotten.push_back(old->bytes); }

  bool always_loads = false;
  std::optional<int64_t> changed_ns;
  int stale_loads = 0;
  int loads = 0;
  std::vector<std::string> forgotten;

 private:
  const Store& store_;
  const std::string key_;
  Cache::ValuePtr known_;
};

struct RevalidatingCacheTest : testing::Test {
  RevalidatingCacheTest() { store->Put("a/x", "one"); }

  std::string Get(Age max_age) { return Get(max_age, loader); }
  std::string Get(Age max_age, TextLoader& with) {
    const auto answer = cache.Get("x", max_age, with);
    validity = answer.validity;
    return answer.value ? (*answer.value)->bytes : std::string(ToString(answer.value.error().code));
  }

  const std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  Cache cache{store, 1000};
  TextLoader loader{*store, "a/x"};
  Validity validity;  // the validity of the last answer
};

TEST_F(RevalidatingCacheTest, FreshValueIsNotCheckedAndStaleOneIsCheckedButNotLoaded) {
  EXPECT_EQ(Get(hours(1)), "one");
  store->ResetCounts();
  EXPECT_EQ(Get(hours(1)), "one");
  EXPECT_EQ(Get(kAnyAge), "one");
  EXPECT_EQ(store->total_count(), 0U);
  const auto before = cache.Find("x");
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_EQ(store->total_count(), 1U);
  EXPECT_EQ(cache.Find("x"), before);
}

TEST_F(RevalidatingCacheTest, ReplacedValueIsForgottenAndLoadedAgain) {
  EXPECT_EQ(Get(kNow), "one");
  store->Put("a/x", "two");
  EXPECT_EQ(Get(hours(1)), "one");
  EXPECT_EQ(Get(kNow), "two");
  EXPECT_EQ(loader.forgotten, std::vector<std::string>{"one"});
  store->Remove("a/x");
  EXPECT_EQ(Get(kNow), "not found");
  EXPECT_EQ(loader.forgotten, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(Get(kAnyAge), "not found");
}

TEST_F(RevalidatingCacheTest, FailedCheckLeavesTheValueCached) {
  EXPECT_EQ(Get(kNow), "one");
  store->FailAllWith("a/x", {ErrorCode::kTimedOut, "no"});
  EXPECT_EQ(Get(kNow), "timed out");
  EXPECT_EQ(Get(kAnyAge), "one");
  EXPECT_TRUE(loader.forgotten.empty());
}

TEST_F(RevalidatingCacheTest, ValueThatOnlyLoadingTellsOfStaysUntilThenAndMayBeKept) {
  loader.always_loads = true;
  EXPECT_EQ(Get(kNow), "one");
  const auto first = cache.Find("x");
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_EQ(loader.loads, 2);
  EXPECT_EQ(cache.Find("x"), first) << "the same bytes: the same value";
  store->FailAllWith("a/x", {ErrorCode::kIo, "no"});
  EXPECT_EQ(Get(kNow), "input/output error");
  EXPECT_EQ(cache.Find("x"), first);
  store->ClearFaults();
  store->Put("a/x", "two");
  EXPECT_EQ(Get(kNow), "two");
  EXPECT_NE(cache.Find("x"), first);
}

TEST_F(RevalidatingCacheTest, GetCachedChecksAndNeverLoads) {
  EXPECT_EQ(*cache.GetCached("x", kNow, loader).value, nullptr);
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_EQ((*cache.GetCached("x", kNow, loader).value)->bytes, "one");
  store->Put("a/x", "two");
  EXPECT_EQ((*cache.GetCached("x", hours(1), loader).value)->bytes, "one");
  EXPECT_EQ(*cache.GetCached("x", kNow, loader).value, nullptr);
  EXPECT_EQ(loader.loads, 1);
}

TEST_F(RevalidatingCacheTest, RacyVersionIsUsedAndNotRemembered) {
  store->SetTimestampGranularityNs(3600'000'000'000);
  Version young;
  young.inode = 7;
  young.ctime_ns = RealNowNs();
  store->SetVersion("a/x", young);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(Get(kAnyAge), "one");
    EXPECT_EQ(loader.loads, i);
    EXPECT_EQ(cache.Find("x"), nullptr);
  }
  EXPECT_EQ(loader.forgotten.size(), 3U);
}

TEST_F(RevalidatingCacheTest, RacyVersionIsWaitedOutOnceWhereThatIsShort) {
  store->SetTimestampGranularityNs(20'000'000);
  Version young;
  young.inode = 7;
  young.ctime_ns = RealNowNs();
  store->SetVersion("a/x", young);
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_EQ(loader.loads, 2);
  EXPECT_NE(cache.Find("x"), nullptr);
  EXPECT_TRUE(loader.forgotten.empty());
}

TEST_F(RevalidatingCacheTest, ObjectReplacedWhileItIsLoadedIsLoadedAgain) {
  loader.stale_loads = 2;
  EXPECT_EQ(Get(kNow), "one");
  TextLoader restless(*store, "a/x");
  restless.stale_loads = 100;
  cache.Erase("x");
  EXPECT_EQ(Get(kNow, restless), "changed meanwhile");
  EXPECT_EQ(restless.loads, 3);
}

TEST_F(RevalidatingCacheTest, AnswerHoldsUntilTheStoreReportsAChange) {
  store->SetCountsChanges(true);
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_TRUE(validity.Holds(*store));
  store->ResetCounts();
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_EQ(store->total_count(), 0U) << "known to be true still";
  store->Put("b", "elsewhere");
  EXPECT_FALSE(validity.Holds(*store));
  EXPECT_EQ(Get(hours(1)), "one");
  EXPECT_EQ(store->total_count(), 1U) << "checked again, however young";
  EXPECT_TRUE(validity.Holds(*store));
  store->Remove("a/x");
  EXPECT_EQ(Get(kNow), "not found");
  EXPECT_TRUE(validity.Holds(*store)) << "of an absence, too";
}

TEST_F(RevalidatingCacheTest, NothingIsPromisedWithoutAWatch) {
  EXPECT_EQ(Get(kNow), "one");
  EXPECT_FALSE(validity.is_known());
  store->SetCountsChanges(true);
  cache.Erase("x");
  EXPECT_EQ(Get(kAnyAge), "one");
  EXPECT_FALSE(validity.is_known()) << "not asked for";
}

TEST_F(RevalidatingCacheTest, ThreadThatMayNotWaitGetsWhatIsFreshAndElseARefusal) {
  EXPECT_EQ(Get(kNow), "one");
  cache.Erase("x");
  store->Block(Call::kRead, "a/x");
  std::thread first([&] {
    TextLoader own(*store, "a/x");
    EXPECT_EQ(Get(hours(1), own), "one");
  });
  EXPECT_TRUE(store->WaitUntilBlocked());
  {
    const NoWaiting no_waiting;
    EXPECT_EQ(cache.Get("x", hours(1), loader).value.error().code, ErrorCode::kWouldBlock);
  }
  store->Release();
  first.join();
  const NoWaiting no_waiting;
  EXPECT_EQ(Get(hours(1)), "one");
}

TEST_F(RevalidatingCacheTest, LoadThatBeganBeforeTheQuestionIsCheckedForItsAge) {
  store->Block(Call::kRead, "a/x");
  std::vector<std::thread> threads;
  std::atomic<int> loads = 0;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      TextLoader own(*store, "a/x");
      const auto answer = cache.Get("x", kNow, own);
      EXPECT_TRUE(answer.value);
      loads += own.loads;
    });
    if (i == 0) {
      EXPECT_TRUE(store->WaitUntilBlocked());
    }
  }
  while (cache.statistics().misses < 2) std::this_thread::yield();
  store->Release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(store->count(Call::kStat), 1U);
}

TEST_F(RevalidatingCacheTest, VersionsUnderOneKeyReplaceEachOther) {
  int loads = 0;
  const auto text = [&](const std::string& bytes) {
    return *cache.GetVersion(
        "v", [&](const Text& known) { return known.bytes == bytes; },
        [&]() -> Result<Cache::Loaded> {
          ++loads;
          auto made = std::make_shared<Text>();
          made->bytes = bytes;
          return Cache::Loaded{std::move(made), 1};
        });
  };
  EXPECT_EQ(text("1"), text("1"));
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(text("2")->bytes, "2");
  EXPECT_EQ(text("1")->bytes, "1");
  EXPECT_EQ(loads, 3);
}

// An object that changed long ago is revalidated less often than callers ask for, except if
// `max_age` is 0.
TEST_F(RevalidatingCacheTest, PatienceLetsWhatChangedLongAgoGoUncheckedButForWhoWantsItNow) {
  Cache patient(store, 1000, 1, {.share_of_age = 0.05, .most = hours(1)});
  constexpr Age kAlmostNow{1};
  const auto asks = [&](Age max_age) {
    store->ResetCounts();
    EXPECT_TRUE(patient.Get("x", max_age, loader).value);
    return store->total_count() > 0;
  };
  EXPECT_TRUE(asks(kAlmostNow)) << "loaded";
  EXPECT_FALSE(asks(kAlmostNow)) << "last changed in 2020";
  EXPECT_TRUE(asks(kNow));
  loader.changed_ns = RealNowNs();
  EXPECT_TRUE(asks(kNow)) << "checked, and found to have changed this moment";
  EXPECT_TRUE(asks(kAlmostNow));
}

TEST(Validity, OfTwoAnswersIsWhatBothShare) {
  EXPECT_EQ(Validity(7) & Validity(7), Validity(7));
  EXPECT_FALSE((Validity(7) & Validity(8)).is_known());
  EXPECT_FALSE((Validity(7) & Validity()).is_known());
  EXPECT_FALSE((Validity() & Validity()).is_known());
}

}  // namespace
}  // namespace zarrfs::revalidating_cache_test
