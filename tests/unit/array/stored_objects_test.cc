#include "zarrcore/array/stored_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/support/fake_store.h"

namespace zarrfs::stored_objects_test {
namespace {

using Numbers = std::vector<uint64_t>;

// An array "a".
struct Fixture {
  explicit Fixture(char separator, const Numbers& shape = {3, 4})
      : naming{true, separator}, grid(*ChunkGrid::Make(shape, Numbers(shape.size(), 1))) {}

  void Put(const Numbers& at) { store.Put("a/" + naming.Path(at), "x"); }

  /// The next objects of the cursor, in its order, at most `limit`.
  Numbers Walk(StoredObjectsCursor& cursor, size_t limit = SIZE_MAX) {
    Numbers found;
    error.clear();
    for (; found.size() < limit; cursor.Pass()) {
      const auto object = cursor.Get();
      if (!object) error = ToString(object.error().code);
      if (!object || !*object) break;
      found.push_back(ToNumber(**object));
    }
    return found;
  }
  Numbers Walk(const Numbers& fixed = {}) {
    StoredObjectsCursor cursor(objects, fixed);
    return Walk(cursor);
  }

  /// The objects that a walk visits.
  Numbers Visit(const Numbers& fixed = {}, size_t limit = SIZE_MAX) {
    Numbers found;
    const auto walked = objects.Walk(fixed,
                                     [&](OuterIndex outer) {
                                       found.push_back(ToNumber(outer));
                                       return found.size() < limit;
                                     },
                                     {.on_folder = [&](const std::string& entered) {
                                       folders.push_back(entered);
                                       return true;
                                     }});
    error = walked ? "" : ToString(walked.error().code);
    return found;
  }

  FakeStore store;
  const std::string folder = "a";
  const ChunkNaming naming;
  const ChunkGrid grid;
  const StoredObjects objects{store, folder, naming, grid};
  std::vector<std::string> folders;  // the folders that a walk entered
  std::string error;
};

// More names than a cursor holds. The store does not list them in numerical order.
struct LargeFixture : Fixture {
  static constexpr uint64_t kCount = 2 * FolderWindow::kNames + 1000;
  LargeFixture() : Fixture('.', {kCount}) {
    for (uint64_t i = 0; i < kCount; ++i) Put({i});
  }
};

TEST(StoredObjects, AreThoseWithTheNameOfAChunk) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator);
    for (const Numbers& at : {Numbers{0, 1}, Numbers{2, 0}, Numbers{2, 3}, Numbers{3, 0}}) {
      fixture.Put(at);
    }
    fixture.store.Put("a/zarr.json", "{}");
    EXPECT_EQ(fixture.Walk(), (Numbers{1, 8, 11}));
    EXPECT_EQ(fixture.Walk({2}), (Numbers{8, 11}));
    EXPECT_EQ(fixture.Walk({2, 3}), Numbers{11});
    EXPECT_EQ(fixture.Walk({2, 2}), Numbers{});
    for (const Numbers& fixed : {Numbers{}, Numbers{2}, Numbers{2, 3}, Numbers{2, 2}}) {
      Numbers visited = fixture.Visit(fixed);
      std::ranges::sort(visited);
      EXPECT_EQ(visited, fixture.Walk(fixed));
    }
  }
}

TEST(StoredObjects, ComeInRowMajorOrderWhateverTheOrderOfTheStore) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator, {12, 12});
    for (uint64_t i = 0; i < 12; ++i) {
      for (uint64_t j = 0; j < 12; ++j) fixture.Put({i, j});
    }
    const Numbers found = fixture.Walk();
    EXPECT_EQ(found.size(), 144U);
    EXPECT_TRUE(std::ranges::is_sorted(found));
  }
}

TEST(StoredObjects, AreListedOnlyAsFarAsTheyAreWanted) {
  Fixture nested('/', {100, 100});
  for (uint64_t i = 0; i < 100; ++i) {
    for (uint64_t j = 0; j < 10; ++j) nested.Put({i, j});
  }
  StoredObjectsCursor cursor(nested.objects, {});
  EXPECT_EQ(nested.Walk(cursor, 3), (Numbers{0, 1, 2}));
  EXPECT_EQ(nested.store.names_listed(), 110U);

  LargeFixture flat;
  StoredObjectsCursor large(flat.objects, {});
  EXPECT_EQ(flat.Walk(large, 1).size(), 1U);
  EXPECT_EQ(flat.store.names_listed(), FolderWindow::kNames);
}

TEST(StoredObjects, OfALargeFolderComeOnceEach) {
  LargeFixture fixture;
  for (Numbers found : {fixture.Walk(), fixture.Visit()}) {
    std::ranges::sort(found);
    EXPECT_EQ(found.size(), LargeFixture::kCount);
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
  }
}

TEST(StoredObjects, AVisitReadsOnlyAFewNamesBeforeTheFirst) {
  LargeFixture fixture;
  EXPECT_EQ(fixture.Visit({}, 1).size(), 1U);
  EXPECT_LT(fixture.store.names_listed(), 1000U);
}

TEST(StoredObjects, EveryFolderIsAnnouncedBeforeItIsListed) {
  Fixture fixture('/');
  fixture.Put({0, 1});
  (void)fixture.Visit();
  EXPECT_EQ(fixture.folders, (std::vector<std::string>{"a/c", "a/c/0"}));
  fixture.folders.clear();
  (void)fixture.Visit({0, 1});
  EXPECT_EQ(fixture.folders, std::vector<std::string>{"a/c/0"});
}

TEST(StoredObjects, NeitherLeaveOutNorRepeatWhatStaysWhileOthersComeAndGo) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator, {FolderWindow::kNames, 4});
    for (uint64_t i = 0; i < 40; ++i) fixture.Put({i, i % 4});
    StoredObjectsCursor cursor(fixture.objects, {});
    Numbers found = fixture.Walk(cursor, 10);
    for (const uint64_t i : {2, 30}) {
      fixture.store.Remove("a/" + fixture.naming.Path(Numbers{i, i % 4}));
    }
    fixture.Put({5, 0});
    fixture.Put({100, 0});
    std::ranges::copy(fixture.Walk(cursor), std::back_inserter(found));
    for (uint64_t i = 0; i < 40; ++i) {
      if (i == 2 || i == 30) continue;
      EXPECT_EQ(std::ranges::count(found, 4 * i + i % 4), 1) << separator << i;
    }
  }
}

TEST(StoredObjects, ACursorMovesToAnyObjectAndGoesOnFromThere) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator, {12, 12});
    for (uint64_t i = 0; i < 12; i += 2) {
      for (uint64_t j = 0; j < 12; j += 2) fixture.Put({i, j});
    }
    const Numbers all = fixture.Walk();
    StoredObjectsCursor cursor(fixture.objects, {});
    for (size_t i = all.size(); i-- > 0;) {
      ASSERT_TRUE(cursor.MoveTo(OuterIndex{all[i]}));
      EXPECT_EQ(fixture.Walk(cursor, 5),
                Numbers(all.begin() + static_cast<ptrdiff_t>(i),
                        all.begin() + static_cast<ptrdiff_t>(std::min(i + 5, all.size()))));
    }
    // Moving to an object that does not exist moves to the next one.
    ASSERT_TRUE(cursor.MoveTo(OuterIndex{12 + 3}));
    EXPECT_EQ(fixture.Walk(cursor, 2), (Numbers{24, 26}));
    ASSERT_TRUE(cursor.MoveTo(OuterIndex{1'000'000}));
    EXPECT_EQ(fixture.Walk(cursor), Numbers{});
    cursor.Restart();
    EXPECT_EQ(fixture.Walk(cursor), all);
  }
}

TEST(StoredObjects, ACursorMovesInALargeFolderInTheOrderOfTheStore) {
  LargeFixture fixture;
  const Numbers all = fixture.Walk();
  StoredObjectsCursor cursor(fixture.objects, {});
  for (const size_t i : {size_t{0}, all.size() - 2, size_t{17}, size_t{20'000}, size_t{19'000}}) {
    ASSERT_TRUE(cursor.MoveTo(OuterIndex{all[i]}));
    EXPECT_EQ(fixture.Walk(cursor, 2), (Numbers{all[i], all[i + 1]}));
  }
  // Two cursors that take turns do not make each other restart.
  StoredObjectsCursor first(fixture.objects, {});
  StoredObjectsCursor second(fixture.objects, {});
  fixture.store.ResetCounts();
  for (size_t i = 0; i + 1000 < all.size(); i += 1000) {
    ASSERT_TRUE((i % 2000 == 0 ? first : second).MoveTo(OuterIndex{all[i]}));
  }
  EXPECT_LE(fixture.store.names_listed(), 2 * all.size());
}

TEST(StoredObjects, WhereTheObjectToMoveToIsGoneFromALargeFolderNothingIsLeftOut) {
  LargeFixture fixture;
  const Numbers all = fixture.Walk();
  StoredObjectsCursor cursor(fixture.objects, {});
  fixture.store.Remove("a/" + fixture.naming.Path(Numbers{all[20'000]}));
  ASSERT_TRUE(cursor.MoveTo(OuterIndex{all[20'000]}));
  EXPECT_EQ(fixture.Walk(cursor).size(), all.size() - 1) << "from the beginning";
}

TEST(StoredObjects, WhatFailsOnTheWayFailsTheListingThereAndTheNextTimeToo) {
  LargeFixture large;
  large.store.EndListings("a", 20'000);
  StoredObjectsCursor cursor(large.objects, {});
  const Numbers found = large.Walk(cursor);
  EXPECT_EQ(large.error, "input/output error");
  EXPECT_EQ(found.size(), FolderWindow::kNames);
  EXPECT_FALSE(cursor.MoveTo(OuterIndex{LargeFixture::kCount - 1}));
  EXPECT_EQ(large.Walk(cursor), found) << "it has begun again";
  large.store.ClearFaults();
  ASSERT_TRUE(cursor.MoveTo(OuterIndex{found.back()}));
  EXPECT_EQ(large.Walk(cursor).size(), LargeFixture::kCount - found.size() + 1);

  Fixture nested('/');
  nested.Put({0, 1});
  nested.Put({1, 1});
  nested.store.FailWith(FakeStore::Call::kList, "a/c/1", {ErrorCode::kPermissionDenied, "no"});
  EXPECT_EQ(nested.Walk(), Numbers{1});
  EXPECT_EQ(nested.error, "permission denied");
}

TEST(StoredObjects, AListingHoldsAsLongAsItsFoldersStayAsTheyWere) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator);
    fixture.store.SetCountsChanges(true);
    fixture.Put({0, 1});
    fixture.Put({1, 1});
    StoredObjectsCursor cursor(fixture.objects, {});
    (void)fixture.Walk(cursor);
    EXPECT_TRUE(cursor.validity().Holds(fixture.store));
    StoredObjectsCursor changed(fixture.objects, {});
    EXPECT_EQ(fixture.Walk(changed, 1), Numbers{1});
    fixture.Put({2, 1});
    (void)fixture.Walk(changed);
    EXPECT_FALSE(changed.validity().Holds(fixture.store));
    EXPECT_FALSE(cursor.validity().Holds(fixture.store));
  }
}

TEST(StoredObjects, OneThatCannotBeReadExistsUnlessTheStoreCannotBeAskedNow) {
  Fixture fixture('/');
  fixture.Put({0, 1});
  fixture.store.FailAllWith("a/c/0/1", {ErrorCode::kPermissionDenied, "no"});
  EXPECT_EQ(fixture.Walk({0, 1}), Numbers{1});
  fixture.store.FailAllWith("a/c/0/1", {ErrorCode::kTimedOut, "no"});
  EXPECT_EQ(fixture.Walk({0, 1}), Numbers{});
  EXPECT_EQ(fixture.error, "timed out");
}

TEST(StoredObjects, NextCoordinatesAreThoseWithAFolderOrAnObject) {
  Fixture fixture('/');
  fixture.Put({2, 3});
  fixture.store.PutFolder("a/c/0");
  fixture.store.Put("a/c/1", "no folder");
  auto next = *fixture.objects.NextCoordinates({});
  std::ranges::sort(next);
  EXPECT_EQ(next, (Numbers{0, 2}));
  EXPECT_EQ(*fixture.objects.NextCoordinates(Numbers{2}), Numbers{3});
  EXPECT_EQ(*fixture.objects.NextCoordinates(Numbers{1}), Numbers{});
}

}  // namespace
}  // namespace zarrfs::stored_objects_test
