#include "tests/unit/zarrctl/commands_testing.h"

namespace zarrfs::ctl::verify_test {
namespace {

using Call = FakeStore::Call;

const Error kLink{ErrorCode::kLinkRefused, "link leaves the store"};
const Error kIo{ErrorCode::kIo, "cable pulled"};
const Error kDenied{ErrorCode::kPermissionDenied, "permission denied"};
const Error kMount{ErrorCode::kZarrfsMount, "lies in a zarrfs mount"};

TEST(Verify, SoundStoreIsSound) {
  const Outcome outcome = RunOnStore(Verify, SmallStore());
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "2 arrays, 5 stored objects, 5 chunks, 18 bytes decoded: no damage\n"
            "5 chunks have no checksum: damage inside may look like data\n");
}

TEST(Verify, ChunksOfChecksummedShardsAreNotCounted) {
  const auto store = std::make_shared<FakeStore>();
  const std::string codecs =
      std::string(kBytesCodec) + R"(, {"name": "gzip", "configuration": {"level": 1}})";
  store->Put("zarr.json", ArrayText("[8]", "[4]", codecs));
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_FALSE(Contains(outcome.out, "checksum")) << outcome.out;
}

TEST(Verify, FilesOfNoNodeAreCounted) {
  const auto store = SmallStore();
  store->Put("a/README", "for people");
  store->Put("b/c.1", "beyond the array");
  store->Put("notes/of/mine", "in no group");
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(Contains(outcome.out, "\n3 files in the store belong to no array or group: "))
      << outcome.out;
}

TEST(Verify, ANodeBelowAnArrayIsNamedAndChecked) {
  const auto store = SmallStore();
  store->Put("a/x/zarr.json", ArrayText("[2]", "[2]", kBytesCodec));
  store->Put("a/x/c/0", "a chunk of another size");
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(Contains(outcome.out, "a/x: is below an array")) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "a/x/c/0: ")) << outcome.out;
}

TEST(Verify, NodesThatOnlyConsolidatedMetadataNameAreNamed) {
  const auto store = std::make_shared<FakeStore>();
  store->Put(".zgroup", R"({"zarr_format": 2})");
  store->Put(".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {
      ".zgroup": {"zarr_format": 2}, "gone/.zgroup": {"zarr_format": 2}}})");
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(
      Contains(outcome.out, ".zmetadata: names 1 node that does not exist, for example gone\n"))
      << outcome.out;
}

// What is refused, and how many of the five chunks are still checked.
struct Refused {
  const char* key;
  Error error;
  bool is_folder;
  int checked;
};

class VerifyRefused : public testing::TestWithParam<Refused> {};

TEST_P(VerifyRefused, IsDamageAndTheRestIsChecked) {
  const auto& [key, error, is_folder, checked] = GetParam();
  const auto store = SmallStore();
  store->Remove(key);
  store->PutRefused(key, error, is_folder);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(Contains(outcome.out, fmt::format("{}: {}\n", key, error.message))) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, fmt::format(" {} chunks, ", checked))) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "1 damaged")) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Names, VerifyRefused,
                         testing::Values(Refused{"a/c/0/1", kLink, false, 4},  // a chunk
                                         Refused{"a/c/1", kLink, false, 3},    // a chunk folder
                                         Refused{"b/c.0", kLink, false, 4},
                                         Refused{"a/c/0/1", kMount, true, 4},
                                         Refused{"a/c/1", kMount, true, 3},
                                         Refused{"b/c.0", kMount, true, 4}));

TEST(Verify, AllChunkFoldersRefusedAreDamage) {
  const auto store = SmallStore();
  store->Remove("a/c");
  store->PutRefused("a/c", kLink);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(Contains(outcome.out, "a/c: link leaves the store\n")) << outcome.out;
}

TEST(Verify, RefusedChunkOfAnArrayWithoutDimensionsIsDamage) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[]", "[]", kBytesCodec));
  store->PutRefused("c", kLink);
  EXPECT_EQ(RunOnStore(Verify, store).code, kExitWrong);
}

TEST(Verify, RefusedShardIsDamageOnce) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[8]", "[4]", Sharding("[2]", kBytesCodec)));
  store->Put("c/0", ShardBytes({"ab", "cd"}));
  store->PutRefused("c/1", kLink);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(Contains(outcome.out, " 2 chunks, ")) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "1 damaged")) << outcome.out;
}

TEST(Verify, ARefusedNameOfNoChunkIsIgnored) {
  const auto store = SmallStore();
  for (const char* key : {"a/README", "a/c/2", "a/c/0/x", "a/c/0/2", "b/c.1", "b/0"}) {
    store->PutRefused(key, kLink);
  }
  EXPECT_EQ(RunOnStore(Verify, store).code, kExitOk);
}

TEST(Verify, ZarrfsMountBelowAGroupIsNoPartOfTheStore) {
  const auto store = SmallStore();
  store->PutRefused("mnt", kMount, true);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(Contains(outcome.out, "no damage\n")) << outcome.out;
}

TEST(Verify, ZarrfsMountInPlaceOfADocumentIsDamage) {
  const auto store = SmallStore();
  store->Remove("a/zarr.json");
  store->PutRefused("a/zarr.json", {kMount.code, "a/zarr.json: lies in a zarrfs mount"}, true);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(outcome.out.starts_with("a/zarr.json: lies in a zarrfs mount\n")) << outcome.out;
}

// A call that fails, and how many of the five chunks are still checked.
struct Failing {
  Call call;
  const char* key;
  Error error;
  int checked;
};

class VerifyFailing : public testing::TestWithParam<Failing> {};

TEST_P(VerifyFailing, IsReportedAndTheRestIsChecked) {
  const auto& [call, key, error, checked] = GetParam();
  const auto store = SmallStore();
  store->FailWith(call, key, {error.code, fmt::format("{}: {}", key, error.message)});
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  EXPECT_TRUE(Contains(outcome.out, fmt::format("{}: ", key))) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, error.message)) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, fmt::format(" {} chunk", checked))) << outcome.out;
  EXPECT_TRUE(Contains(outcome.out, "1 could not be read or checked")) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Calls, VerifyFailing,
                         testing::Values(Failing{Call::kRead, "a/zarr.json", kIo, 1},
                                         Failing{Call::kRead, "a/zarr.json", kDenied, 1},
                                         Failing{Call::kStat, "b", kDenied, 4},
                                         Failing{Call::kList, "a/c", kIo, 1},
                                         Failing{Call::kList, "a/c/1", kDenied, 3},
                                         Failing{Call::kList, "b", kDenied, 4},
                                         Failing{Call::kRead, "a/c/0/0", kIo, 4},
                                         Failing{Call::kRead, "b/c.0", kDenied, 4},
                                         Failing{Call::kObjectRead, "b/c.0", kIo, 5}));

TEST(Verify, GroupThatCannotBeListedIsReported) {
  const auto store = SmallStore();
  store->FailWith(Call::kList, "", kDenied);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  EXPECT_TRUE(Contains(outcome.out, "/: permission denied\n")) << outcome.out;
}

TEST(Verify, DocumentListsUnreadableObjects) {
  const auto store = SmallStore();
  store->FailWith(Call::kRead, "b/c.0", {ErrorCode::kIo, "b/c.0: cable pulled"});
  store->PutRefused("a/c/2", kLink);
  const Outcome outcome = RunForJson(Verify, store);
  EXPECT_EQ(outcome.code, kExitSystem);
  const auto json = Json::parse(outcome.out);
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["unread"], 1);
  EXPECT_EQ(json["not_read"], Json::parse(R"([{"key": "b/c.0", "chunk": "0", "others": 0,
                                               "reason": "cable pulled"}])"));
}

TEST(Verify, ElementsOfALengthEachAreChecked) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[2]", "[2]", R"({"name": "vlen-utf8"})",
                                    R"({"data_type": "string", "fill_value": ""})"));
  using namespace std::string_literals;
  store->Put("c/0", "\2\0\0\0\1\0\0\0a\0\0\0\0"s);
  EXPECT_EQ(RunOnStore(Verify, store).code, kExitOk);
  store->Put("c/0", "\3\0\0\0\1\0\0\0a\0\0\0\0"s);
  const Outcome outcome = RunOnStore(Verify, store);
  EXPECT_EQ(outcome.code, kExitWrong);
  EXPECT_TRUE(Contains(outcome.out, "c/0: chunk 0: the chunk states 3 elements, expected 2\n"))
      << outcome.out;
}

TEST(Verify, AnUnknownCodecIsUncheckedAndNotDamage) {
  const auto store = std::make_shared<FakeStore>();
  store->Put("zarr.json", ArrayText("[2]", "[2]", R"({"name": "bytes"}, {"name": "new"})"));
  store->Put("c/0", "ab");
  EXPECT_EQ(RunOnStore(Verify, store).code, kExitUnchecked);
}

}  // namespace
}  // namespace zarrfs::ctl::verify_test
