#include "zarrcore/open/unlisted_store.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "tests/unit/support/fake_store.h"
#include "zarrcore/base/answer_age.h"
#include "zarrcore/open/recent_answers.h"

namespace zarrfs::unlisted_store_test {
namespace {

using std::chrono::hours;
using Call = FakeStore::Call;

constexpr const char* kGroup = R"({"zarr_format": 3, "node_type": "group"})";
constexpr const char* kConsolidated =
    R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline",
        "metadata": {"a": {"zarr_format": 3, "node_type": "group"}}}})";
// Shards of four chunks, whose index has 4 * 16 + 4 bytes.
constexpr const char* kSharded =
    R"({"zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1],
          "codecs": [{"name": "bytes"}],
          "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                           {"name": "crc32c"}]}}]})";

struct UnlistedStoreTest : testing::Test {
  std::shared_ptr<Store> Open(UnlistedStoreOptions options = {}) const {
    return ListUnlisted(RememberAnswers(server, /*is_listed=*/false), std::move(options));
  }

  const std::shared_ptr<FakeStore> server = std::make_shared<FakeStore>();
};

TEST_F(UnlistedStoreTest, TheIndexOfAShardIsReadByAskingWhetherTheShardExists) {
  server->Put("a/zarr.json", kSharded);
  for (const char* const shard : {"a/c/0", "a/c/2"}) server->Put(shard, std::string(100, 'x'));
  const auto store = Open();
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_EQ(store->List("a/c")->size(), 2);
  std::array<std::byte, 68> index{};
  const auto answer = store->Read("a/c/2", ByteRange::Suffix(index.size()), index);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->offset, 32);
  EXPECT_EQ(answer->length, index.size());
  EXPECT_EQ(index.front(), std::byte{'x'});
  EXPECT_EQ(server->count(Call::kRead, "a/c/2"), 1);
  EXPECT_TRUE(store->Read("a/c/2", ByteRange::Suffix(index.size()), index));
  EXPECT_EQ(server->count(Call::kRead, "a/c/2"), 2) << "the answer was given once";
}

TEST_F(UnlistedStoreTest, AnIndexIsAskedForAgainByThoseWhoAcceptNoAge) {
  server->Put("a/zarr.json", kSharded);
  server->Put("a/c/0", std::string(100, 'x'));
  const auto store = Open();
  std::array<std::byte, 68> index{};
  {
    const AcceptedAnswers accepted(hours(1), {});
    EXPECT_EQ(store->List("a/c")->size(), 1);
  }
  server->Put("a/c/0", std::string(100, 'y'));
  const AcceptedAnswers accepted(Age{0}, {});
  ASSERT_TRUE(store->Read("a/c/0", ByteRange::Suffix(index.size()), index));
  EXPECT_EQ(index.front(), std::byte{'y'});
}

TEST_F(UnlistedStoreTest, ANodeThatIsNamedLikeADocumentOfV2IsNotAskedForWhereTheNodesAreKnown) {
  server->Put("zarr.json", kConsolidated);
  const auto store = Open();
  const AcceptedAnswers accepted(hours(1), {});
  for (const char* const name : {".zarray", ".zgroup", ".zattrs", ".zmetadata"}) {
    const std::string of_group = "a/" + std::string(name) + "/.zgroup";
    for (const std::string& key : {std::string(name) + "/zarr.json", of_group}) {
      EXPECT_EQ(store->Stat(key).error().code, ErrorCode::kNotFound);
      EXPECT_EQ(ReadWhole(*store, key, 100).error().code, ErrorCode::kNotFound);
      EXPECT_EQ(server->count(Call::kRead, key), 0) << key;
    }
  }
}

TEST_F(UnlistedStoreTest, ANodeThatIsNamedLikeADocumentOfV2IsFoundWhereItIsNamed) {
  server->Put("zarr.json", kGroup);
  server->Put(".zgroup/zarr.json", kGroup);
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_TRUE(Open()->Stat(".zgroup/zarr.json")) << "nothing says which nodes there are";
  EXPECT_TRUE(Open({.keys = KeyList{".zgroup/zarr.json", "zarr.json"}})->Stat(".zgroup/zarr.json"));
  EXPECT_FALSE(Open({.keys = KeyList{"zarr.json"}})->Stat(".zgroup/zarr.json"));
}

TEST_F(UnlistedStoreTest, ABucketsListingTellsWhichNodesAreNamedLikeDocumentsOfV2) {
  server->Put("zarr.json", kGroup);
  server->Put(".zgroup/zarr.json", kGroup);
  const auto store = RememberAnswers(server, /*is_listed=*/true);
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_TRUE(store->Stat(".zgroup/zarr.json"));
  EXPECT_FALSE(store->Stat(".zattrs/zarr.json"));
  EXPECT_FALSE(store->Stat(".zmetadata/zarr.json"));
  EXPECT_EQ(server->count(Call::kList), 1);
  EXPECT_EQ(server->count(Call::kRead), 1);
}

TEST_F(UnlistedStoreTest, ALongListingIsReadOnceForThat) {
  for (int node = 0; node < 1'100; ++node) server->PutFolder("node" + std::to_string(node));
  const auto store = RememberAnswers(server, /*is_listed=*/true);
  const AcceptedAnswers accepted(hours(1), {});
  EXPECT_FALSE(store->Stat(".zattrs/zarr.json"));
  EXPECT_FALSE(store->Stat(".zmetadata/zarr.json"));
  EXPECT_EQ(server->count(Call::kList), 1);
  EXPECT_EQ(server->count(Call::kRead), 2);
  EXPECT_EQ(store->List("")->size(), 1'100);
}

}  // namespace
}  // namespace zarrfs::unlisted_store_test
