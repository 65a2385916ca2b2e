// A chunk is never reported absent if the store cannot answer. Tests each operation with failures
// of each level and error code.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/array/chunk_source.h"

namespace zarrfs::chunk_source_errors_test {
namespace {

using Coordinates = std::vector<uint64_t>;

constexpr Age kNow{0};
constexpr std::array kErrors = {
    ErrorCode::kPermissionDenied, ErrorCode::kIo,          ErrorCode::kStale,
    ErrorCode::kTooManyOpenFiles, ErrorCode::kTimedOut,    ErrorCode::kLinkRefused,
    ErrorCode::kZarrfsMount,      ErrorCode::kUnsupported, ErrorCode::kTooLarge};

std::string Encoding(std::string_view name, std::string_view separator) {
  return fmt::format(
      R"({{"chunk_key_encoding": {{"name": "{}", "configuration": {{"separator": "{}"}}}}}})", name,
      separator);
}

// An array "a" of 4 x 4 bytes, with all four shards of 2 x 2 stored.
struct Stored {
  explicit Stored(std::string_view encoding, std::string_view separator) {
    auto made = ChunkSource::Make(
        store, "a",
        Array("[4, 4]", "[2, 2]", Sharding("[1, 1]", kBytesCodec), Encoding(encoding, separator)),
        cache, nullptr);
    EXPECT_TRUE(made);
    source = std::move(*made);
    for (uint64_t outer = 0; outer < 4; ++outer) {
      store->Put(source->ObjectKey(OuterIndex{outer}), ShardBytes({{"w"}, {"x"}, {"y"}, {"z"}}));
    }
  }

  // The numbers of all listed chunks, each followed by '!' if the chunk cannot be read; the name of
  // the error if the chunks cannot be listed.
  [[nodiscard]] std::string Listing() const {
    const auto outers = source->ListOuter({});
    if (!outers) return std::string(ToString(outers.error().code));
    std::string text;
    for (const OuterIndex outer : *outers) {
      ChunkCursor cursor(*source, outer, {.max_age = kNow});
      while (const ListedChunk* next = cursor.Next()) {
        text += fmt::format("{}{} ", ToNumber(next->chunk), next->location ? "" : "!");
      }
      if (!cursor.status()) return std::string(ToString(cursor.status().error().code));
    }
    return text;
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  std::shared_ptr<IndexCache> cache = std::make_shared<IndexCache>(store, 1u << 20);
  std::shared_ptr<ChunkSource> source;
};

TEST(ChunkSourceErrors, AShardThatCannotBeReadIsNeverAbsent) {
  for (const auto& [encoding, separator] :
       {std::pair{"default", "/"}, {"default", "."}, {"v2", "/"}, {"v2", "."}}) {
    for (const ErrorCode code : kErrors) {
      const Stored stored(encoding, separator);
      const std::string key = stored.source->ObjectKey(OuterIndex{3});
      stored.store->FailAllWith(key, {code, key + ": broken"});
      for (const bool may_read : {false, true}) {
        const auto place = stored.source->Locate(InnerIndex{15}, kNow, may_read);
        ASSERT_FALSE(place) << key << ": " << ToString(code);
        EXPECT_EQ(place.error().code, code);
      }
      const auto any = stored.source->AnyChunk(Coordinates{3}, kNow);
      EXPECT_TRUE(!any || any->value) << key << ": " << ToString(code);
      const std::string listing = stored.Listing();
      EXPECT_TRUE(listing == ToString(code) || listing.ends_with("10! 11! 14! 15! ")) << listing;
      EXPECT_TRUE(stored.source->Locate(InnerIndex{0}, kNow)->location);
    }
  }
}

TEST(ChunkSourceErrors, AFolderOfShardsThatCannotBeReadIsNeverEmpty) {
  for (const std::string folder : {"a", "a/c", "a/c/1"}) {
    for (const ErrorCode code : kErrors) {
      const Stored stored("default", "/");
      stored.store->FailAllWith(folder, {code, folder + ": broken"});
      const auto place = stored.source->Locate(InnerIndex{15}, kNow);
      ASSERT_FALSE(place) << folder << ": " << ToString(code);
      EXPECT_EQ(place.error().code, code);
      const auto any = stored.source->AnyChunk(Coordinates{3}, kNow);
      EXPECT_TRUE(!any || any->value);
      EXPECT_EQ(stored.Listing(), ToString(code));
      const auto next = stored.source->NextCoordinates(Coordinates{}, kNow);
      EXPECT_TRUE(!next || *next == (Coordinates{0, 1, 2, 3})) << folder << ": " << ToString(code);
    }
  }
}

TEST(ChunkSourceErrors, ALinkThatIsNotFollowedIsListedAsWhatItsNameMayBe) {
  const Error refused{ErrorCode::kLinkRefused, "a symbolic link that is not followed"};
  {
    const Stored stored("default", "/");  // a refused shard
    stored.store->Remove("a/c/1/1");
    stored.store->PutRefused("a/c/1/1", refused);
    EXPECT_TRUE(stored.Listing().ends_with("10! 11! 14! 15! ")) << stored.Listing();
    EXPECT_EQ(stored.source->Locate(InnerIndex{15}, kNow).error().code, ErrorCode::kLinkRefused);
    EXPECT_EQ(*stored.source->NextCoordinates(Coordinates{3}, kNow), (Coordinates{0, 1, 2, 3}));
  }
  {
    const Stored stored("default", "/");  // a refused folder of shards
    stored.store->Remove("a/c/1");
    stored.store->PutRefused("a/c/1", refused);
    EXPECT_EQ(stored.source->Locate(InnerIndex{15}, kNow).error().code, ErrorCode::kLinkRefused);
    EXPECT_EQ(*stored.source->NextCoordinates(Coordinates{}, kNow), (Coordinates{0, 1, 2, 3}));
    EXPECT_TRUE(stored.source->AnyChunk(Coordinates{3}, kNow)->value);
    EXPECT_EQ(stored.Listing(), ToString(ErrorCode::kLinkRefused));
  }
  {
    const Stored stored("v2", ".");
    stored.store->Remove("a/1.1");
    stored.store->PutRefused("a/1.1", refused);
    stored.store->PutRefused("a/notes", refused);
    EXPECT_TRUE(stored.Listing().ends_with("10! 11! 14! 15! ")) << stored.Listing();
  }
}

TEST(ChunkSourceErrors, AScalarThatCannotBeReadIsListed) {
  const auto store = std::make_shared<FakeStore>();
  const auto source = *ChunkSource::Make(store, "a", Array("[]", "[]", kBytesCodec),
                                         std::make_shared<IndexCache>(store, 1u << 20), nullptr);
  store->Put("a/c", "x");
  store->FailAllWith("a/c", {ErrorCode::kIo, "broken"});
  EXPECT_EQ(source->ListOuter({})->size(), 1U);
  EXPECT_FALSE(source->Locate(InnerIndex{0}, kNow));
}

}  // namespace
}  // namespace zarrfs::chunk_source_errors_test
