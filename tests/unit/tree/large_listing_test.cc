// Listings of arrays of very many stored objects begin at once and take no memory.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/tree.h"
#include "tests/unit/array/array_testing.h"
#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/memory.h"
#include "zarrcore/array/stored_objects.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs::large_listing_test {
namespace {

constexpr uint64_t kEdge = 300;
constexpr uint64_t kChunks = kEdge * kEdge;
static_assert(kChunks > 3 * FolderWindow::kNames);

// An array "a" of kEdge x kEdge chunks of one byte that are all stored, but made up.
class MadeUpStore final : public ForwardingStore {
 public:
  explicit MadeUpStore(char separator)
      : ForwardingStore(MakeMetadata(separator)), separator_(separator) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    if (!key.starts_with("a/c") || (separator_ == '/' && key.size() == 3)) {
      return ForwardingStore::Stat(key);
    }
    ++stats_;
    ObjectInfo info;
    info.version.inode = std::hash<std::string_view>()(key);
    info.version.size = 1;
    info.version.ctime_ns = version;
    return info;
  }

  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    std::vector<ListEntry> first;
    if (folder == "a") {
      first = {{"zarr.json", false}};
      if (separator_ == '/') first.push_back({"c", true});
      const uint64_t count = separator_ == '/' ? 0 : kChunks;
      return std::make_unique<Stream>(*this, std::move(first), count, [](uint64_t i) {
        // Not in the order of the numbers.
        const uint64_t chunk = i * 7919 % kChunks;
        return ListEntry{fmt::format("c.{}.{}", chunk / kEdge, chunk % kEdge), false};
      });
    }
    if (!folder.starts_with("a/c")) return ForwardingStore::OpenFolder(folder);
    return std::make_unique<Stream>(*this, first, kEdge, [is_top = folder == "a/c"](uint64_t i) {
      return ListEntry{std::to_string(i * 7 % kEdge), is_top};
    });
  }

  [[nodiscard]] uint64_t stats() const { return stats_; }
  [[nodiscard]] uint64_t listed() const { return listed_; }

  std::atomic<int64_t> version = 1;

 private:
  static std::shared_ptr<FakeStore> MakeMetadata(char separator) {
    auto store = std::make_shared<FakeStore>();
    store->Put("zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {}})");
    store->Put("a/zarr.json",
               ArrayText(fmt::format("[{0}, {0}]", kEdge), "[1, 1]", R"({"name": "bytes"})",
                         fmt::format(R"({{"chunk_key_encoding": {{"name": "default",
                                         "configuration": {{"separator": "{}"}}}}}})",
                                     separator)));
    return store;
  }

  class Stream final : public FolderStream {
   public:
    Stream(const MadeUpStore& store, std::vector<ListEntry> first, uint64_t count,
           std::function<ListEntry(uint64_t)> make)
        : store_(store), first_(std::move(first)), count_(count), make_(std::move(make)) {}
    Result<std::vector<ListEntry>> Next(size_t count) override {
      std::vector<ListEntry> names = std::exchange(first_, {});
      for (; names.size() < count && next_ < count_; ++next_) names.push_back(make_(next_));
      store_.listed_ += names.size();
      return names;
    }

   private:
    const MadeUpStore& store_;
    std::vector<ListEntry> first_;
    const uint64_t count_;
    const std::function<ListEntry(uint64_t)> make_;
    uint64_t next_ = 0;
  };

  const char separator_;
  mutable std::atomic<uint64_t> stats_ = 0;
  mutable std::atomic<uint64_t> listed_ = 0;
};

// The folder of all chunks in v2.
struct Fixture {
  explicit Fixture(char separator)
      : store(std::make_shared<MadeUpStore>(separator)), tree(*Tree::Open(store, Options())) {
    array_id = tree->LookUp(kRootId, "a")->id;
    folder = std::move(tree->OpenFolder(array_id)->folder);
  }

  static TreeOptions Options() {
    TreeOptions options;
    options.view = "v2";
    return options;
  }

  // Names of chunks from `cookie` on, which is moved on; as many as there is room for.
  std::vector<std::string> List(uint64_t& cookie, size_t room, ListingOf what = ListingOf::kNames) {
    std::vector<std::string> names;
    const auto listed = tree->List(
        *folder, cookie,
        [&](const std::string& name, const Entry& entry, uint64_t next) {
          if (names.size() == room) return false;
          cookie = next;
          if (name.starts_with('.')) return true;
          names.push_back(name);
          last_inode = entry.attributes.st_ino;
          return true;
        },
        what);
    EXPECT_TRUE(listed);
    return names;
  }

  const std::shared_ptr<MadeUpStore> store;
  const std::unique_ptr<Tree> tree;
  NodeId array_id = 0;
  std::unique_ptr<Folder> folder;
  uint64_t last_inode = 0;
};

TEST(LargeListing, BeginsBeforeTheStoreIsListed) {
  for (const char separator : {'.', '/'}) {
    Fixture fixture(separator);
    uint64_t cookie = 0;
    EXPECT_EQ(fixture.List(cookie, 10).size(), 10U);
    EXPECT_LE(fixture.store->listed(), FolderWindow::kNames + 10);
    EXPECT_EQ(fixture.List(cookie, 10).size(), 10U);
    EXPECT_LE(fixture.store->listed(), FolderWindow::kNames + 10);
  }
}

TEST(LargeListing, OfNamesAloneAsksAndRemembersNothingAboutAChunk) {
  for (const char separator : {'.', '/'}) {
    Fixture fixture(separator);
    uint64_t cookie = 0;
    uint64_t count = fixture.List(cookie, 100).size();
    const size_t before = LiveBytes();
    size_t most = before;
    for (;;) {
      const auto names = fixture.List(cookie, 100);
      if (names.empty()) break;
      count += names.size();
      most = std::max(most, LiveBytes());
    }
    EXPECT_EQ(count, kChunks);
    EXPECT_EQ(fixture.store->stats(), 0U);
    EXPECT_LT(most - before, 512U << 10);
  }
}

TEST(LargeListing, GoesOnFromAnyCookie) {
  Fixture fixture('.');
  std::vector<std::string> all;
  std::vector<uint64_t> cookies;
  for (uint64_t cookie = 0;;) {
    const auto names = fixture.List(cookie, 1000);
    if (names.empty()) break;
    all.insert(all.end(), names.begin(), names.end());
    cookies.push_back(cookie);
  }
  ASSERT_EQ(all.size(), kChunks);
  const auto expect_after = [&](size_t step) {
    uint64_t cookie = cookies[step];
    const auto from = all.begin() + static_cast<ptrdiff_t>(step + 1) * 1000;
    EXPECT_EQ(fixture.List(cookie, 3), (std::vector<std::string>{from, from + 3})) << step;
  };
  for (const size_t step : {5, 4, 70, 70, 0, 88}) expect_after(step);
  uint64_t cookie = 0;  // rewinddir(3)
  EXPECT_EQ(fixture.List(cookie, 1), std::vector<std::string>{all[0]});
  auto sorted = all;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
}

TEST(LargeListing, OfNamesAloneGivesTheInodesThatWereSeenLast) {
  Fixture fixture('.');
  uint64_t cookie = 0;
  const std::string name = fixture.List(cookie, 1).back();
  const auto inode_of_name = [&] {
    const auto entry = fixture.tree->LookUp(fixture.array_id, name);
    EXPECT_TRUE(entry);
    return entry->id;
  };
  EXPECT_EQ(fixture.last_inode, inode_of_name()) << "never seen before";
  fixture.store->version = 2;
  const NodeId changed = inode_of_name();
  EXPECT_NE(fixture.last_inode, changed);
  (void)fixture.List(cookie = 0, 1);
  EXPECT_EQ(fixture.last_inode, changed);
}

}  // namespace
}  // namespace zarrfs::large_listing_test
