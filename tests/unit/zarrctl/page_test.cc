#include "tools/zarrctl/page/page.h"

#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/zarrctl/commands_testing.h"
#include "tools/zarrctl/page/sections.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs::ctl::page_test {
namespace {

using Call = FakeStore::Call;
using std::chrono::seconds;

// What `info --html` writes of a store in memory.
struct WrittenPage {
  explicit WrittenPage(const std::shared_ptr<FakeStore>& store) {
    const std::string path =
        (std::filesystem::path(testing::TempDir()) / "zarrctl_page_test.html").string();
    InfoOptions options;
    options.html = path;
    outcome = RunOnStore(Info, store, options);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    html = text.str();
    std::filesystem::remove(path);
  }
  Outcome outcome;
  std::string html;
};

TEST(Page, NamesUnreadableNodesAndReturnsTheExitCode) {
  const auto store = SmallStore();
  store->FailWith(Call::kRead, "a/c/0/1", {ErrorCode::kPermissionDenied, "a/c/0/1: denied <b>"});
  const WrittenPage page(store);
  EXPECT_EQ(page.outcome.code, kExitSystem);
  EXPECT_NE(page.html.find("not read: a/c/0/1: denied &lt;b&gt;"), std::string::npos) << page.html;
  EXPECT_NE(page.html.find("<h2><bdi>b</bdi></h2>"), std::string::npos);
}

TEST(Page, DamageIsPartOfTheAnswer) {
  const auto store = SmallStore();
  store->Put("a/c/0/1", "xy");
  const WrittenPage page(store);
  EXPECT_EQ(page.outcome.code, kExitOk);
  EXPECT_NE(page.html.find("not read: a/c/0/1: "), std::string::npos) << page.html;
}

TEST(Page, NamesTheNodesItHadNoTimeFor) {
  const auto store = SmallStore();
  const Hierarchy hierarchy(store, {}, nullptr);
  std::chrono::steady_clock::time_point now{};
  PageBudget budget({.time = seconds(60)}, [&] { return now; });
  const auto root = hierarchy.Get("", kAnyAge);
  const auto array = hierarchy.Get("a", kAnyAge);
  ASSERT_TRUE(root && array);
  const std::function<void()> on_node = [] {};
  Mutex mutex;
  PageNodes found;
  FindPageNodes(hierarchy, *root, budget, on_node, found, mutex);
  ASSERT_EQ(found.nodes.size(), 3U);
  const CopyPlaces places{.store = "/store", .mount_options = "", .mount = "/mnt/store"};
  const PageContext context{hierarchy, found, places, budget};
  EXPECT_TRUE(MakeSection(context, 1, array->get()).has_picture);
  now += seconds(60);
  const Section late = MakeSection(context, 1, array->get());
  EXPECT_FALSE(late.has_picture);
  EXPECT_NE(late.html.find("not examined: 60 seconds have passed"), std::string::npos) << late.html;
  EXPECT_NE(late.html.find("[4, 4]"), std::string::npos);
  EXPECT_NE(MakeSection(context, 1, nullptr).html.find("not examined"), std::string::npos);
}

TEST(Page, DrawsNumbersFurtherApartThanANumberCanBe) {
  const auto store = std::make_shared<FakeStore>();
  std::string chunk;
  for (const double value : {-1.7e308, 0.0, 1.7e308, 5e-324}) {
    chunk += Little64(std::bit_cast<uint64_t>(value));
  }
  store->Put("zarr.json", kGroup);
  for (const auto& [name, shape] : {std::pair{"curve", "[4]"}, std::pair{"plane", "[2, 2]"}}) {
    const std::string key = name;
    store->Put(key + "/zarr.json",
               ArrayText(shape, shape, kBytesCodec, R"({"data_type": "float64"})"));
    store->Put(key + (key == "curve" ? "/c/0" : "/c/0/0"), chunk);
  }
  const WrittenPage page(store);
  EXPECT_EQ(page.outcome.code, kExitOk);
  const std::string range = "minimum -1.7e+308, maximum 1.7e+308 in the picture</bdi>";
  const size_t first = page.html.find(range);
  ASSERT_NE(first, std::string::npos) << page.html;
  EXPECT_NE(page.html.find(range, first + 1), std::string::npos);
}

PageNodes FirstNodes(const std::shared_ptr<FakeStore>& store, size_t most) {
  const Hierarchy hierarchy(store, {}, nullptr);
  const PageBudget budget({.nodes = most});
  const std::function<void()> on_node = [] {};
  Mutex mutex;
  PageNodes found;
  if (const auto root = hierarchy.Get("", kAnyAge)) {
    FindPageNodes(hierarchy, *root, budget, on_node, found, mutex);
  }
  return found;
}

TEST(Page, TreeEndsAtItsLimit) {
  const PageNodes found = FirstNodes(SmallStore(), 2);
  EXPECT_EQ(found.nodes.size(), 2U);
  EXPECT_EQ(found.why_not_all, "the tree has 2 nodes");
}

TEST(Page, TreeOfALargeGroupIsFoundNodeByNode) {
  const auto store = SmallStore();
  EXPECT_EQ(FirstNodes(store, 1).why_not_all, "the tree has 1 nodes");
  EXPECT_EQ(store->count(Call::kRead, "b/zarr.json"), 0U);
}

TEST(PageDeathTest, IsWrittenWhenTheStoreStopsAnswering) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "zarrctl_late_page_test.html").string();
  std::filesystem::remove(path);
  const auto write = [&] {
    const auto store = SmallStore();
    TargetNode target{Source("/store"),
                      std::make_unique<Hierarchy>(store, HierarchyOptions{}, nullptr), nullptr};
    target.node = *target.hierarchy->Get("", kAnyAge);
    store->Block(Call::kList, "");
    InfoOptions options;
    options.html = path;
    (void)WritePage(
        target, options,
        {.time = std::chrono::milliseconds(1), .last_answer = std::chrono::milliseconds(1)});
  };
  EXPECT_EXIT(write(), testing::ExitedWithCode(kExitSystem), "the store stopped answering");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find("were not examined: the store stopped answering"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace zarrfs::ctl::page_test
