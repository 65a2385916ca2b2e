#include "zarrcore/array/stored_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/support/fake_store.h"

namespace zarrfs {
namespace {

using Numbers = std::vector<uint64_t>;

// An array "a" of 3 x 4 stored objects.
struct Fixture {
  explicit Fixture(char separator) : naming{true, separator} {}

  /// The objects found, sorted; stops after `limit`.
  Numbers Walk(const Numbers& fixed = {}, size_t limit = 100) {
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
    std::ranges::sort(found);
    return found;
  }

  FakeStore store;
  const std::string folder = "a";
  const ChunkNaming naming;
  const ChunkGrid grid = *ChunkGrid::Make(Numbers{3, 4}, Numbers{1, 1});
  const StoredObjects objects{store, folder, naming, grid};
  std::vector<std::string> folders;  // that were entered
  std::string error;
};

TEST(StoredObjects, AreThoseWithTheNameOfAChunk) {
  for (const char separator : {'/', '.'}) {
    Fixture fixture(separator);
    for (const Numbers& at : {Numbers{0, 1}, Numbers{2, 0}, Numbers{2, 3}, Numbers{3, 0}}) {
      fixture.store.Put("a/" + fixture.naming.Path(at), "x");
    }
    fixture.store.Put("a/zarr.json", "{}");
    EXPECT_EQ(fixture.Walk(), (Numbers{1, 8, 11}));
    EXPECT_EQ(fixture.Walk({2}), (Numbers{8, 11}));
    EXPECT_EQ(fixture.Walk({2, 3}), Numbers{11});
    EXPECT_EQ(fixture.Walk({2, 2}), Numbers{});
    EXPECT_EQ(fixture.Walk({}, 1).size(), 1U);
  }
}

TEST(StoredObjects, EveryFolderIsAnnouncedBeforeItIsListed) {
  Fixture fixture('/');
  fixture.store.Put("a/c/0/1", "x");
  (void)fixture.Walk();
  EXPECT_EQ(fixture.folders, (std::vector<std::string>{"a/c", "a/c/0"}));
  fixture.folders.clear();
  (void)fixture.Walk({0, 1});
  EXPECT_EQ(fixture.folders, std::vector<std::string>{"a/c/0"});
}

TEST(StoredObjects, OneThatCannotBeReadExistsUnlessTheStoreCannotBeAskedNow) {
  Fixture fixture('/');
  fixture.store.Put("a/c/0/1", "x");
  fixture.store.FailAllWith("a/c/0/1", {ErrorCode::kPermissionDenied, "no"});
  EXPECT_EQ(fixture.Walk({0, 1}), Numbers{1});
  fixture.store.FailAllWith("a/c/0/1", {ErrorCode::kTimedOut, "no"});
  EXPECT_EQ(fixture.Walk({0, 1}), Numbers{});
  EXPECT_EQ(fixture.error, "timed out");
}

TEST(StoredObjects, NextCoordinatesAreThoseWithAFolderOrAnObject) {
  Fixture fixture('/');
  fixture.store.Put("a/c/2/3", "x");
  fixture.store.PutFolder("a/c/0");
  fixture.store.Put("a/c/1", "no folder");
  auto next = *fixture.objects.NextCoordinates({});
  std::ranges::sort(next);
  EXPECT_EQ(next, (Numbers{0, 2}));
  EXPECT_EQ(*fixture.objects.NextCoordinates(Numbers{2}), Numbers{3});
  EXPECT_EQ(*fixture.objects.NextCoordinates(Numbers{1}), Numbers{});
}

}  // namespace
}  // namespace zarrfs
