#include "zarrcore/content/element_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs::element_reader_test {
namespace {

constexpr Age kNow{0};

// An array "a" of uint16 whose element at number n is n + 1; `missing`: the chunks left out.
struct Fixture {
  Fixture(std::vector<uint64_t> of_shape, std::vector<uint64_t> chunk_shape,
          std::set<uint64_t> missing = {}) {
    const Json document = {
        {"zarr_format", 3},
        {"node_type", "array"},
        {"shape", of_shape},
        {"data_type", "uint16"},
        {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", chunk_shape}}}}},
        {"chunk_key_encoding", {{"name", "default"}}},
        {"fill_value", 0x0907},
        {"codecs", Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "big"}}}}})}};
    auto parsed = ParseZarrDocument(document, "a");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    array = std::get<ArrayMetadata>(*parsed);
    auto made =
        ChunkSource::Make(store, "a", array, std::make_shared<IndexCache>(store, 1u << 20), {});
    EXPECT_TRUE(made);
    source = std::move(*made);
    const auto& grid = source->layout().inner_grid;
    values.assign(*CheckedProduct(array.shape), 0);
    for (uint64_t c = 0; c < grid.size(); ++c) Store(c, !missing.contains(c));
  }

  void Store(uint64_t chunk, bool is_stored) {
    const auto& layout = source->layout();
    ChunkCoordinates at{};
    layout.inner_grid.Coordinates(chunk, at);
    std::string bytes;
    const uint64_t count = *CheckedProduct(layout.inner_chunk_shape);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t rest = i;
      uint64_t number = 0;
      uint64_t stride = 1;
      bool is_inside = true;
      for (size_t d = array.rank(); d-- > 0;) {
        const uint64_t x = at[d] * layout.inner_chunk_shape[d] + rest % layout.inner_chunk_shape[d];
        rest /= layout.inner_chunk_shape[d];
        is_inside = is_inside && x < array.shape[d];
        number += x * stride;
        stride *= array.shape[d];
      }
      const auto value = static_cast<uint16_t>(is_stored ? number + 1 : 0x0907);
      if (is_inside) values[number] = value;
      bytes += static_cast<char>(value >> 8);
      bytes += static_cast<char>(value & 0xff);
    }
    if (is_stored) store->Put(source->ObjectKey(source->OuterOf(InnerIndex{chunk})), bytes);
  }

  Result<std::vector<uint16_t>> Read(uint64_t first, uint64_t count, const CheckChunk& check = {},
                                     Reuse reuse = Reuse::kLikely) {
    const ElementReader reader(array, *source, chunks, kNow, check, nullptr, reuse);
    std::vector<uint16_t> read(count);
    const auto done = reader.Read(first, std::as_writable_bytes(std::span(read)));
    if (!done) return Fail(done);
    return read;
  }

  void ExpectAllRanges() {
    for (uint64_t first = 0; first <= values.size(); ++first) {
      for (uint64_t end = first; end <= values.size(); ++end) {
        const auto read = Read(first, end - first);
        ASSERT_TRUE(read) << read.error().message;
        ASSERT_TRUE(std::equal(read->begin(), read->end(), values.begin() + first))
            << first << " to " << end;
      }
    }
  }

  void ExpectAllUsedOnce() {
    const auto read = Read(0, values.size(), {}, Reuse::kNever);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, values);
    EXPECT_EQ(chunks.statistics().entries, 0);
  }

  std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
  ArrayMetadata array;
  std::shared_ptr<ChunkSource> source;
  ChunkReader chunks{1u << 20};
  std::vector<uint16_t> values;
};

TEST(ElementReader, AnyRangeHasTheElementsOfTheArray) {
  Fixture({5, 4, 3}, {2, 3, 2}).ExpectAllRanges();
  Fixture({3, 4, 5}, {1, 4, 5}).ExpectAllRanges();  // whole planes
  Fixture({4, 6, 2}, {3, 2, 2}).ExpectAllRanges();  // whole rows
  Fixture({2, 3, 2, 5}, {2, 2, 5, 3}).ExpectAllRanges();
  Fixture({11}, {4}).ExpectAllRanges();
  Fixture({}, {}).ExpectAllRanges();
}

TEST(ElementReader, ChunksThatAreUsedOnceAreNotKept) {
  Fixture({5, 4, 3}, {2, 3, 2}).ExpectAllUsedOnce();
  Fixture({30, 40}, {4, 9}, {0, 7}).ExpectAllUsedOnce();
  Fixture({}, {}).ExpectAllUsedOnce();
}

TEST(ElementReader, ADamagedChunkThatIsUsedOnceFailsTheRange) {
  Fixture at({40, 4}, {2, 2});
  at.store->Put("a/c/7/0", "short");
  EXPECT_TRUE(at.Read(0, 56, {}, Reuse::kNever));
  const auto damaged = at.Read(0, 160, {}, Reuse::kNever);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kDamaged);
}

TEST(ElementReader, ChunksThatAreNotStoredAreFillValues) {
  Fixture({5, 7}, {2, 3}, {0, 4, 8}).ExpectAllRanges();
}

TEST(ElementReader, OnlyTheChunksOfTheRangeAreTouched) {
  Fixture at({6, 6}, {2, 3});
  std::vector<uint64_t> touched;
  const auto read = at.Read(6, 6, [&](InnerIndex, const Located& found) -> Result<void> {
    touched.push_back(ToNumber(found.location->outer));
    return {};
  });
  EXPECT_TRUE(read);
  EXPECT_EQ(touched, (std::vector<uint64_t>{0, 1}));
}

TEST(ElementReader, ADamagedChunkFailsRangesThatTouchItAndNoOthers) {
  Fixture at({4, 4}, {2, 2});
  at.store->Put("a/c/1/0", "short");
  EXPECT_TRUE(at.Read(0, 8));
  const auto damaged = at.Read(6, 4);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kDamaged);
  EXPECT_NE(damaged.error().message.find("a/c/1/0"), std::string::npos) << damaged.error().message;
  EXPECT_TRUE(at.Read(10, 2));
}

TEST(ElementReader, ARefusedRangeReadsNothing) {
  Fixture at({4}, {2});
  const auto refused = at.Read(
      0, 4, [](InnerIndex, const Located&) { return Fail(ErrorCode::kPermissionDenied, "no"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
}

}  // namespace
}  // namespace zarrfs::element_reader_test
