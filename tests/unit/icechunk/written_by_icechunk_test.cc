// Repositories that icechunk has written (tests/data/icechunk): each key, and nothing else, has the
// bytes that icechunk's own store gives for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "zarrcore/base/digest.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/local/local_store.h"

namespace zarrfs::written_by_icechunk_test {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(ZARRFS_SOURCE_DIR) / "tests/data/icechunk";

std::string Sha256(std::string_view bytes) {
  DigestBuilder builder;
  builder.AddRaw(bytes);
  std::string text;
  for (const uint8_t byte : builder.Finish().bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Adds the checksum, or the error, of every file below `folder`.
void Walk(const Store& store, const std::string& folder,
          std::map<std::string, std::string>& found) {
  const auto entries = store.List(folder);
  ASSERT_TRUE(entries) << entries.error().message;
  for (const ListEntry& entry : *entries) {
    const std::string key = JoinKey(folder, entry.name);
    const auto info = store.Stat(key);
    ASSERT_TRUE(info) << info.error().message;
    ASSERT_EQ(info->is_folder, entry.is_folder) << key;
    if (entry.is_folder) {
      Walk(store, key, found);
      continue;
    }
    const auto whole = ReadWhole(store, key, 1U << 20);
    found[key] = whole ? Sha256(whole->bytes) : whole.error().message;
    if (whole) {
      EXPECT_EQ(info->size(), whole->bytes.size()) << key;
      EXPECT_EQ(info->version, whole->object->info().version) << key;
    }
  }
}

class WrittenByIcechunkTest : public testing::TestWithParam<const char*> {
 protected:
  nlohmann::json expected =
      nlohmann::json::parse(std::ifstream(kFolder / (std::string(GetParam()) + ".json")));
  std::shared_ptr<const Store> container =
      OpenLocalStore((kFolder / GetParam()).string(), {}).value();
};

TEST_P(WrittenByIcechunkTest, EveryKeyHasTheBytesThatIcechunkGives) {
  ASSERT_EQ(expected.size(), 4u);
  for (const auto& [at, commit] : expected.items()) {
    const auto store = OpenIcechunkStore(container, ParseIcechunkAt(at).value());
    ASSERT_TRUE(store) << store.error().message;
    std::map<std::string, std::string> found;
    Walk(**store, "", found);
    const auto virtual_chunk = found.find("virtual/c/0");
    if (at == "branch.main") {
      ASSERT_NE(virtual_chunk, found.end());
      EXPECT_NE(virtual_chunk->second.find("a virtual chunk, 2 bytes at 100 of"), std::string::npos)
          << virtual_chunk->second;
      found.erase(virtual_chunk);
    }
    const auto keys = commit.at("keys").get<std::map<std::string, std::string>>();
    EXPECT_GT(keys.size(), 20u);
    EXPECT_EQ(found, keys) << at;
    const auto id = OpenIcechunkStore(
        container, ParseIcechunkAt(commit.at("snapshot").get<std::string>()).value());
    EXPECT_TRUE(id) << id.error().message;
  }
}

TEST_P(WrittenByIcechunkTest, NamesAreListedWithoutDeletedTags) {
  const std::vector<std::string> names = {"branch.dev", "branch.main", "tag.v1.0"};
  EXPECT_EQ(ListIcechunkNames(*container).value(), names);
  const auto gone = OpenIcechunkStore(container, ParseIcechunkAt("tag.gone").value());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

// Amended commits, moved, removed and resized arrays, expired commits, and garbage that was
// collected: tests/data/icechunk/make_lived.py.
class WrittenByIcechunkLongAgoTest : public WrittenByIcechunkTest {};

TEST_P(WrittenByIcechunkLongAgoTest, EveryKeyHasTheBytesThatIcechunkGives) {
  const auto& commit = expected.at("branch.main");
  for (const std::string& at :
       {std::string("branch.main"), commit.at("snapshot").get<std::string>()}) {
    const auto store = OpenIcechunkStore(container, ParseIcechunkAt(at).value());
    ASSERT_TRUE(store) << store.error().message;
    std::map<std::string, std::string> found;
    Walk(**store, "", found);
    EXPECT_EQ(found, (commit.at("keys").get<std::map<std::string, std::string>>()));
  }
}

TEST_P(WrittenByIcechunkLongAgoTest, ACommitThatHasExpiredIsGone) {
  for (const auto& id : expected.at("expired")) {
    const auto store = OpenIcechunkStore(container, ParseIcechunkAt(id.get<std::string>()).value());
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find("no such snapshot"), std::string::npos)
        << store.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, WrittenByIcechunkLongAgoTest,
                         testing::Values("lived-v1", "lived-v2"));
INSTANTIATE_TEST_SUITE_P(Versions, WrittenByIcechunkTest, testing::Values("v1", "v2"));

}  // namespace
}  // namespace zarrfs::written_by_icechunk_test
