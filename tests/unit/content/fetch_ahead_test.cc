#include "zarrcore/content/fetch_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/content/stored_ranges.h"
#include "zarrcore/store/gated_store.h"

namespace zarrfs::fetch_ahead_test {
namespace {

using Call = FakeStore::Call;

// An array "a" of shards of 32 chunks of 100 bytes each.
class FetchAheadTest : public testing::Test {
 protected:
  static constexpr uint64_t kShards = 4;
  static constexpr uint64_t kChunks = 32 * kShards;
  static constexpr uint64_t kStored = kChunks * 100 + kShards * (32 * 16 + 4);

  FetchAheadTest() {
    store_->SetAnswersFast(false);
    for (uint64_t shard = 0; shard < kShards; ++shard) {
      store_->Put("a/c/" + std::to_string(shard), ShardBytes(Chunks(32, std::string(100, 'x'))));
    }
    const auto gated = Gate(store_);
    auto made = ChunkSource::Make(gated, "a", Array("[256]", "[64]", Sharding("[2]", kGzipCodec)),
                                  std::make_shared<IndexCache>(gated, 1u << 20), {});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    source_ = std::move(*made);
  }

  // A reader wants a chunk and reads it.
  void Read(uint64_t chunk) {
    const auto found = source_->Locate(InnerIndex{chunk}, kAnyAge);
    ASSERT_TRUE(found && found->location);
    ahead_.OnWanted({*source_, encoding_, 0, InnerIndex{chunk}, *found->location, &ranges_});
    std::string bytes(100, ' ');
    ASSERT_TRUE(
        ranges_.Read(*source_, *found->location, 0, std::as_writable_bytes(std::span(bytes))));
    EXPECT_EQ(bytes, std::string(100, 'x'));
  }
  [[nodiscard]] bool HasIndexOf(uint64_t chunk) {
    const NoWaiting scope;
    return source_->Locate(InnerIndex{chunk}, kAnyAge).has_value();
  }
  [[nodiscard]] bool Has(uint64_t chunk) {
    const NoWaiting scope;
    const auto found = source_->Locate(InnerIndex{chunk}, kAnyAge);
    return found && found->location && ranges_.Has(*source_, *found->location);
  }
  [[nodiscard]] static bool Becomes(const std::function<bool()>& is_so) {
    for (int i = 0; i < 1000 && !is_so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return is_so();
  }
  [[nodiscard]] bool Comes(uint64_t chunk) {
    return Becomes([&] { return Has(chunk); });
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  std::shared_ptr<ChunkSource> source_;
  const ChunkEncoding encoding_{};
  StoredRanges ranges_{1u << 20};
  FetchAhead ahead_{ranges_};
};

TEST_F(FetchAheadTest, AScanReadsEachByteOnceInFewRequests) {
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    Read(chunk);
    // (This store is fast: the reader must not overtake what is ahead.)
    ASSERT_TRUE(chunk == 0 || chunk + 1 == kChunks || Comes(chunk + 1)) << chunk;
  }
  EXPECT_LE(store_->bytes_read(), kStored + 800);
  EXPECT_LT(store_->count(Call::kObjectRead), kChunks / 2);
}

TEST_F(FetchAheadTest, TwoReadersFetchHardlyAnythingTwice) {
  store_->Delay(Call::kObjectRead, "a", std::chrono::milliseconds(1));
  std::thread other([&] {
    for (uint64_t chunk = kChunks; chunk-- > 0;) Read(chunk);
  });
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) Read(chunk);
  other.join();
  // (A chunk that a reader asks for at the moment when a range with it is planned comes twice.)
  EXPECT_LE(store_->bytes_read(), kStored * 5 / 4);
}

TEST_F(FetchAheadTest, AnIndexThatIsNotHereHoldsUpNoOtherChunks) {
  store_->Block(Call::kRead, "a/c/1");
  for (uint64_t chunk = 0; chunk < 4; ++chunk) Read(chunk);
  EXPECT_TRUE(Comes(31)) << "the last one of its shard";
  EXPECT_FALSE(Has(32));
  store_->Release();
  EXPECT_TRUE(Comes(32));
}

TEST_F(FetchAheadTest, IndexesOfTheNextShardsComeLongBeforeTheirChunks) {
  ranges_.SetCapacity(8000);  // A quarter of it may be ahead, 20 chunks.
  for (uint64_t chunk = 0; chunk < 4; ++chunk) Read(chunk);
  EXPECT_TRUE(Becomes([&] { return HasIndexOf(kChunks - 1); }));
  EXPECT_FALSE(Has(40));
}

}  // namespace
}  // namespace zarrfs::fetch_ahead_test
