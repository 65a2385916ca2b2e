#include "tests/unit/zarrctl/commands_testing.h"

namespace zarrfs::ctl::info_test {
namespace {

using Call = FakeStore::Call;

const Error kLink{ErrorCode::kLinkRefused, "link leaves the store (links=/data follows it)"};
const Error kDenied{ErrorCode::kPermissionDenied, "permission denied"};

TEST(Info, RefusedChunkIsShownWithTheReason) {
  const auto store = SmallStore();
  store->PutRefused("a/c/0/1", kLink);
  store->PutRefused("a/c/1", kLink);
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(Contains(outcome.out, "(links=/data follows it) (and 1 other; zarrctl verify lists"))
      << outcome.out;
  const auto json = Json::parse(RunForJson(Info, store).out);
  EXPECT_EQ(json["nodes"][1]["not_read"][0]["reason"], kLink.message);
  EXPECT_EQ(json["nodes"][1]["not_read"].size(), 2U);
  EXPECT_FALSE(json["nodes"][2].contains("not_read"));
}

TEST(Info, NodeThatCannotBeReadIsShownAndTheRestToo) {
  const auto store = SmallStore();
  store->FailWith(Call::kRead, "a/zarr.json", {kDenied.code, "a/zarr.json: permission denied"});
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  EXPECT_TRUE(Contains(outcome.out, "\na  cannot be read: a/zarr.json: permission denied\n"))
      << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "\nb  uint8  2  1 chunk  2 bytes\n")) << outcome.out;
  const auto json = Json::parse(RunForJson(Info, store).out);
  EXPECT_EQ(json["nodes"][1]["node_type"], "unreadable");
}

TEST(Info, GroupThatCannotBeListedIsShown) {
  const auto store = SmallStore();
  store->FailWith(Call::kList, "", kDenied);
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  EXPECT_TRUE(Contains(outcome.out, "/  not listed: permission denied\n")) << outcome.out;
}

TEST(Info, ChunkFolderThatCannotBeListedIsShown) {
  const auto store = SmallStore();
  store->FailWith(Call::kList, "a/c/1", kDenied);
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  EXPECT_TRUE(Contains(outcome.out, "\na/c/1  not read: permission denied\n")) << outcome.out;
}

TEST(Info, ZarrfsMountBelowAGroupIsNamedOnce) {
  const auto store = SmallStore();
  store->PutRefused("mnt", {ErrorCode::kZarrfsMount, "mnt: lies in a zarrfs mount"}, true);
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(Contains(outcome.out, "\nmnt  not part of the store: lies in a zarrfs mount\n"))
      << outcome.out;
}

// Readers of v2 would mask the fill value, so chunks that are missing are files of it.
std::string HugeArray() {
  return ArrayText("[1000, 1000, 100]", "[1, 1, 1]", kBytesCodec,
                   R"({"dimension_names": ["x", "y", "z"],
                       "chunk_key_encoding": {"name": "default",
                                              "configuration": {"separator": "."}}})");
}

TEST(Info, FilesOfChunksThatAreNotStoredAreCounted) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", HugeArray());
  for (const char* chunk : {"c.0.0.0", "c.0.0.1", "c.999.999.99"}) store->Put(chunk, "x");
  const Outcome outcome = RunOnStore(Info, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(Contains(outcome.out,
                       "100,000,000 files in a listing or a copy, of which 3 are stored; "
                       "fill=keep avoids the others, made of the fill value\n"))
      << outcome.out;
  const auto view = Json::parse(RunForJson(Info, store).out)["nodes"][0]["views"]["v2"];
  EXPECT_EQ(view["files"], 100'000'000);
  EXPECT_EQ(view["stored_files"], 3);
  EXPECT_EQ(view["stored_files_at_least"], false);
  EXPECT_EQ(view["fill_keep_avoids"], true);
}

TEST(Info, FewFillFilesHaveNoLineOfTheirOwn) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[8]", "[4]", Sharding("[2]", kBytesCodec),
                                    R"({"attributes": {"_FillValue": 7},
                                        "dimension_names": ["x"]})"));
  store->Put("c/1", ShardBytes({"ab", std::nullopt}));
  EXPECT_FALSE(Contains(RunOnStore(Info, store).out, " files in a listing"));
  const auto view = Json::parse(RunForJson(Info, store).out)["nodes"][0]["views"]["v2"];
  EXPECT_EQ(view["files"], 4);
  EXPECT_EQ(view["stored_files"], 1);
}

TEST(GroupedText, HasACommaForEachThousand) {
  EXPECT_EQ(GroupedText(0), "0");
  EXPECT_EQ(GroupedText(999), "999");
  EXPECT_EQ(GroupedText(1000), "1,000");
  EXPECT_EQ(GroupedText(98'000'000), "98,000,000");
}

}  // namespace
}  // namespace zarrfs::ctl::info_test
