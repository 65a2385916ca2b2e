#include "zarrcore/zip/zip_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/folder_names.h"
#include "tests/unit/support/read.h"
#include "tests/unit/support/zip_writer.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs::zip_store_test {
namespace {

using Call = FakeStore::Call;

std::string Long() {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{} ", i * i);
  return text;
}

struct ZipStoreTest : testing::Test {
  std::shared_ptr<FakeStore> container = std::make_shared<FakeStore>();
  ZipWriter zip;

  [[nodiscard]] Result<std::shared_ptr<Store>> TryOpen(const std::string& file,
                                                       const std::string& folder = "") const {
    container->Put("x.zip", file);
    return OpenZipStore(container, "x.zip", folder);
  }
  [[nodiscard]] std::shared_ptr<Store> Open() const { return TryOpen(zip.Finish()).value(); }
  [[nodiscard]] std::string WhyNot(const std::string& file) const {
    const auto store = TryOpen(file);
    return store ? "it can be opened" : store.error().message;
  }
};

TEST_F(ZipStoreTest, MembersAreFilesAndTheirParentsFolders) {
  zip.Add("zarr.json", "root");
  zip.Add("a/c/0/1", "chunk");
  zip.Add("a/", "");
  zip.Add("a-b", "sorted between the folder and what is in it");
  zip.Add("empty/", "");
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""), "a-b a/ empty/ zarr.json ");
  EXPECT_EQ(FolderNames(*store, "a"), "c/ ");
  EXPECT_EQ(FolderNames(*store, "a/c/0"), "1 ");
  EXPECT_EQ(FolderNames(*store, "empty"), "");
  EXPECT_EQ(FolderNames(*store, "absent"), "not found");
  EXPECT_EQ(FolderNames(*store, "zarr.json"), "not found");
  EXPECT_EQ(Read(*store, "a/c/0/1"), "chunk");
  EXPECT_TRUE(store->Stat("a/c")->is_folder);
  EXPECT_EQ(store->Stat("a/c/0/1")->size(), 5U);
  for (const std::string absent : {"a/c/1", "a/c/0/1/2", "b", "zarr.jso"}) {
    EXPECT_EQ(store->Stat(absent).error().code, ErrorCode::kNotFound) << absent;
  }
  EXPECT_EQ(store->Stat("../x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store->name(), container->name() + "/x.zip");
}

TEST_F(ZipStoreTest, AFolderOfItCanBeTheStore) {
  zip.Add("all/ocean.zarr/zarr.json", "here");
  zip.Add("other", "not");
  const auto store = TryOpen(zip.Finish(), "all/ocean.zarr").value();
  EXPECT_EQ(FolderNames(*store, ""), "zarr.json ");
  EXPECT_EQ(Read(*store, "zarr.json"), "here");
  EXPECT_EQ(store->Stat("other").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(TryOpen(zip.Finish(), "all/none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(TryOpen(zip.Finish(), "../all").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ZipStoreTest, StoredMembersAreReadInPlaceAndByRange) {
  zip.Add("before", std::string(200'000, 'x'));
  zip.Add({.name = "a", .bytes = "0123456789", .local_extra = "extra field"});
  const auto store = Open();
  (void)store->Stat("");
  container->ResetCounts();
  EXPECT_EQ(Read(*store, "a", ByteRange::At(2, 3)), "234");
  EXPECT_EQ(Read(*store, "a", ByteRange::Suffix(3)), "789");
  EXPECT_EQ(Read(*store, "a", ByteRange::At(8, 100)), "89");
  EXPECT_EQ(Read(*store, "a", ByteRange::Suffix(100)), "0123456789");
  EXPECT_LT(container->bytes_read(), 4 * (30 + 1 + 64 + 10)) << "headers and what was asked for";
  EXPECT_EQ(container->total_count(), 4U + 4) << "a Stat and a read each";

  std::byte out[4];
  const auto answer = store->Read("a", ByteRange::At(0, 1), std::span(out).first(1));
  EXPECT_TRUE(answer->object->Read(6, out));
  EXPECT_EQ(std::to_integer<char>(out[3]), '9');
  EXPECT_EQ(answer->object->Read(7, out).error().code, ErrorCode::kDamaged) << "beyond its end";
}

TEST_F(ZipStoreTest, BytesFarFromTheHeaderAreReadSeparately) {
  const std::string text = Long();
  zip.Add("a", text);
  zip.Add("b", "");
  const auto store = Open();
  (void)store->Stat("");
  container->ResetCounts();
  EXPECT_EQ(Read(*store, "a", ByteRange::At(200'000, 10)), text.substr(200'000, 10));
  EXPECT_EQ(Read(*store, "a", ByteRange::Suffix(10)), text.substr(text.size() - 10));
  EXPECT_EQ(container->bytes_read(), 2 * (30 + 1 + 10));
  EXPECT_EQ(Read(*store, "a"), text);
  EXPECT_EQ(Read(*store, "a", ByteRange::At(0, 10)), text.substr(0, 10));
  EXPECT_EQ(Read(*store, "b"), "");
}

TEST_F(ZipStoreTest, ASmallStoredMemberThatIsReadAsAWholeIsChecked) {
  zip.Add({.name = "a", .bytes = "0123456789", .crc = 1});
  const auto store = Open();
  EXPECT_NE(Read(*store, "a").find("do not match their checksum"), std::string::npos);
  EXPECT_EQ(Read(*store, "a", ByteRange::At(0, 9)), "012345678");
}

TEST_F(ZipStoreTest, AnUnwatchedFileIsCheckedAtTheRequestedInterval) {
  zip.Add("a", "old");
  container->Put("x.zip", zip.Finish());
  const auto always = OpenZipStore(container, "x.zip").value();
  const auto seldom = OpenZipStore(container, "x.zip", "", std::chrono::hours(1)).value();
  container->ResetCounts();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(always->Stat("a"));
  EXPECT_EQ(container->count(Call::kStat), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(seldom->Stat("a"));
  EXPECT_EQ(container->count(Call::kStat), 3U);
  container->SetReplacedIsStale(true);
  ZipWriter next;
  next.Add("a", "newer");
  container->Put("x.zip", next.Finish());
  EXPECT_EQ(seldom->Stat("a")->size(), 3U) << "as it was known";
  EXPECT_EQ(Read(*seldom, "a"), "newer") << "never bytes of two versions";
  EXPECT_EQ(seldom->Stat("a")->size(), 5U);
}

TEST_F(ZipStoreTest, DeflatedMembersAreReadByRangeAndInflatedOnce) {
  const std::string text = Long();
  zip.Add({.name = "a", .bytes = text, .deflates = true});
  zip.Add({.name = "none", .bytes = "", .deflates = true});
  const auto store = Open();
  EXPECT_EQ(Read(*store, "a"), text);
  EXPECT_EQ(Read(*store, "none"), "");
  EXPECT_EQ(store->Stat("a")->size(), text.size());
  container->ResetCounts();
  EXPECT_EQ(Read(*store, "a", ByteRange::At(100'000, 10)), text.substr(100'000, 10));
  EXPECT_EQ(Read(*store, "a", ByteRange::Suffix(7)), text.substr(text.size() - 7));
  EXPECT_LT(container->bytes_read(), 100U);
}

TEST_F(ZipStoreTest, InflatingTakesItsMemoryFromTheBudget) {
  zip.Add({.name = "a", .bytes = std::string(32u << 20, 'x'), .deflates = true});
  const auto store = Open();
  ProcessMemory().SetLimit(1u << 20);
  EXPECT_EQ(Read(*store, "a", ByteRange::At(0, 1)).substr(0, 9), "too large");
  ProcessMemory().SetLimit(UINT64_MAX);
  EXPECT_EQ(Read(*store, "a", ByteRange::At(0, 1)), "x");
}

TEST_F(ZipStoreTest, TheLastOfSeveralMembersOfOneNameCounts) {
  zip.Add("a", "first");
  zip.Add("a", "second");
  zip.Add("b", "");
  zip.Add("a", "third one");
  const auto store = Open();
  EXPECT_EQ(Read(*store, "a"), "third one");
  EXPECT_EQ(FolderNames(*store, ""), "a b ");
}

TEST_F(ZipStoreTest, SizesAndOffsetsMayHaveSixtyFourBits) {
  zip.Add({.name = "a", .bytes = "in the field of zip64", .is_zip64 = true});
  zip.Add({.name = "b", .bytes = Long(), .deflates = true, .is_zip64 = true});
  const auto store = TryOpen(zip.Finish("", /*has_zip64_end=*/true)).value();
  EXPECT_EQ(Read(*store, "a"), "in the field of zip64");
  EXPECT_EQ(Read(*store, "b"), Long());
}

TEST_F(ZipStoreTest, ACommentMayLookLikeAnEndRecord) {
  zip.Add("a", "bytes");
  const std::string record = ZipWriter().Finish();
  EXPECT_EQ(Read(*TryOpen(zip.Finish("a comment")).value(), "a"), "bytes");
  EXPECT_EQ(Read(*TryOpen(zip.Finish(record + " and more")).value(), "a"), "bytes");
  EXPECT_EQ(Read(*TryOpen(zip.Finish(std::string(0xFFFF, 'c'))).value(), "a"), "bytes");
}

TEST_F(ZipStoreTest, AnEmptyZipFileIsAnEmptyStore) { EXPECT_EQ(FolderNames(*Open(), ""), ""); }

TEST_F(ZipStoreTest, ALargeDirectoryIsReadAsAWhole) {
  for (int i = 0; i < 5000; ++i) zip.Add(fmt::format("a/c/{}", i), std::to_string(i));
  const auto store = Open();
  EXPECT_EQ(Read(*store, "a/c/4321"), "4321");
  EXPECT_EQ(store->List("a/c")->size(), 5000U);
}

TEST_F(ZipStoreTest, AnUnreadableMemberExistsAndSaysWhy) {
  zip.Add({.name = "encrypted", .bytes = "x", .flags = 1});
  zip.Add({.name = "zstd", .bytes = "x", .method = 93});
  zip.Add({.name = "link", .bytes = "a/c", .unix_mode = 0120777});
  zip.Add({.name = "file", .bytes = "a/c", .unix_mode = 0100644});
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""), "encrypted file link! zstd ");
  EXPECT_TRUE(store->Stat("encrypted"));
  EXPECT_EQ(Read(*store, "encrypted"), "not supported: encrypted: encrypted in the zip file");
  EXPECT_NE(Read(*store, "zstd").find("by method 93"), std::string::npos);
  EXPECT_EQ(store->Stat("link").error().code, ErrorCode::kLinkRefused);
  EXPECT_EQ(store->Stat("link/c/0").error().code, ErrorCode::kLinkRefused) << "not absent";
  EXPECT_EQ(Read(*store, "file"), "a/c");
}

TEST_F(ZipStoreTest, DamagedDirectoriesAreErrors) {
  zip.Add("a", "bytes");
  zip.Add("b", "bytes");
  const std::string file = zip.Finish();
  EXPECT_NE(WhyNot("").find("no directory at its end"), std::string::npos);
  EXPECT_NE(WhyNot("{\"zarr_format\": 3}").find("not a zip file"), std::string::npos);
  EXPECT_NE(WhyNot("in front" + file).find("bytes were added before"), std::string::npos);
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(TryOpen(file.substr(0, length))) << "cut off after " << length;
  }
  std::string wrong = file;
  wrong[wrong.size() - 12] = 3;  // the number of members
  EXPECT_NE(WhyNot(wrong).find("too many members"), std::string::npos);
  wrong[wrong.size() - 12] = 1;
  EXPECT_NE(WhyNot(wrong).find("record 1 of its directory"), std::string::npos);
  wrong = file;
  wrong[file.find("PK\1\2")] = 'X';
  EXPECT_NE(WhyNot(wrong).find("record 0 of its directory"), std::string::npos);
  wrong = file;
  wrong[wrong.size() - 18] = 1;  // the number of this disk
  EXPECT_NE(WhyNot(wrong).find("several parts"), std::string::npos);
}

TEST_F(ZipStoreTest, NamesThatAreNoPathsAreErrors) {
  for (const std::string& name : std::vector<std::string>{
           "/etc/passwd", "../a", "a//b", "a/./b", "./../a", "", "/", std::string("a\0b", 3)}) {
    ZipWriter one;
    one.Add(name, "x");
    EXPECT_NE(WhyNot(one.Finish()).find("a name that is not a path"), std::string::npos) << name;
  }
  zip.Add("a", "a file");
  zip.Add("a-", "");
  zip.Add("a/b", "and a folder");
  EXPECT_NE(WhyNot(zip.Finish()).find("a file and a folder"), std::string::npos);
}

TEST_F(ZipStoreTest, BackslashesOfWindowsAreSlashesWhereNoMemberHasOne) {
  constexpr uint32_t kFile = 0100644;  // the Unix mode of a regular file
  zip.Add("zarr.json", "{}");
  zip.Add("t\\", "");
  zip.Add("t\\c\\0", "shard");
  zip.Add({.name = "t\\long", .bytes = Long(), .deflates = true});
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""), "t/ zarr.json ");
  EXPECT_EQ(FolderNames(*store, "t"), "c/ long ");
  EXPECT_EQ(Read(*store, "t/c/0"), "shard");
  EXPECT_EQ(Read(*store, "t/long"), Long());
  zip.Add("a/b", "x");
  EXPECT_NE(WhyNot(zip.Finish()).find("others have slashes: 't\\'"), std::string::npos);

  ZipWriter unix_zip;
  unix_zip.Add({.name = "a\\b", .bytes = "x", .unix_mode = kFile});
  unix_zip.Add({.name = "a/b", .bytes = "y", .unix_mode = kFile});
  const auto of_unix = TryOpen(unix_zip.Finish());
  ASSERT_TRUE(of_unix);
  EXPECT_EQ(Read(**of_unix, "a\\b"), "x");
  EXPECT_EQ(Read(**of_unix, "a/b"), "y");
}

TEST_F(ZipStoreTest, NamesMayBeginWithTheFolderItself) {
  zip.Add("./", "");
  zip.Add("./zarr.json", "{}");
  zip.Add("./t/", "");
  zip.Add({.name = "./t/0", .bytes = Long(), .deflates = true});
  zip.Add("t/1", "without");
  const auto store = Open();
  EXPECT_EQ(FolderNames(*store, ""), "t/ zarr.json ");
  EXPECT_EQ(Read(*store, "t/0"), Long());
  EXPECT_EQ(Read(*store, "t/1"), "without");
  EXPECT_EQ(Read(*store, "zarr.json"), "{}");
}

TEST_F(ZipStoreTest, MembersThatAreNotWhereTheyShouldBeAreErrors) {
  const auto seen = [this](const ZipWriter::Member& member) {
    ZipWriter one;
    one.Add("before", std::string(100, 'x'));
    one.Add(member);
    const auto store = TryOpen(one.Finish());
    return store ? Read(**store, "a") : std::string(ToString(store.error().code));
  };
  const std::string text(100, 'y');
  EXPECT_EQ(seen({.name = "a", .bytes = text}), text);
  EXPECT_EQ(seen({.name = "a", .bytes = text, .size = 90}), "input/output error");
  EXPECT_EQ(seen({.name = "a", .bytes = text, .size = UINT64_MAX}), "input/output error");
  EXPECT_EQ(seen({.name = "a", .bytes = text, .is_zip64 = true, .header = UINT64_MAX - 20}),
            "input/output error");
  EXPECT_EQ(seen({.name = "a", .bytes = text, .size = 1000, .packed_size = 1000}),
            "input/output error");
  EXPECT_NE(seen({.name = "a", .bytes = text, .local_extra = "12", .size = 101, .packed_size = 101})
                .find("overlaps the directory"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .header = 3}).find("not where the directory says"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .header = 0}).find("belongs to another member"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .local_name = "b"}).find("belongs to another member"),
            std::string::npos);
}

TEST_F(ZipStoreTest, DeflatedBytesThatAreNotTheMembersAreErrors) {
  const auto seen = [this](const ZipWriter::Member& member) {
    ZipWriter one;
    one.Add(member);
    return Read(*TryOpen(one.Finish()).value(), "a", ByteRange::At(0, 1));
  };
  const std::string text = Long();
  EXPECT_EQ(seen({.name = "a", .bytes = text, .deflates = true}), "0");
  EXPECT_NE(seen({.name = "a", .bytes = text, .deflates = true, .crc = 1}).find("checksum"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .deflates = true, .size = text.size() + 1})
                .find("end early"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .deflates = true, .size = text.size() - 1})
                .find("do not decode"),
            std::string::npos);
  EXPECT_NE(seen({.name = "a", .bytes = text, .method = 8}).find("do not decode"),
            std::string::npos);
  EXPECT_NE(
      seen({.name = "a", .bytes = "x", .deflates = true, .is_zip64 = true, .size = 1ULL << 50})
          .find("cannot be deflated to 3"),
      std::string::npos);
}

TEST_F(ZipStoreTest, EverythingInItHasTheVersionOfTheFile) {
  zip.Add("a", "old");
  zip.Add("b", "old");
  container->Put("x.zip", zip.Finish());
  container->SetOwner("x.zip", 0640, 7, 8);
  const auto store = OpenZipStore(container, "x.zip").value();
  const ObjectInfo before = store->Stat("a").value();
  EXPECT_EQ(before.mode, 0640U);
  EXPECT_EQ(before.uid, 7U);
  EXPECT_EQ(store->Stat("")->mode, 0750U) << "who may read it may search its folders";
  std::byte byte;
  const auto open = store->Read("a", ByteRange::At(0, 1), std::span(&byte, 1)).value();

  ZipWriter next;
  next.Add("a", "newer");
  container->RewriteInPlace("x.zip", next.Finish());
  EXPECT_NE(store->Stat("a")->version, before.version);
  EXPECT_EQ(Read(*store, "a"), "newer");
  EXPECT_EQ(store->Stat("b").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open.object->Read(0, std::span(&byte, 1)).error().code, ErrorCode::kStale);
}

TEST_F(ZipStoreTest, AReplacedFileStaysReadableWhereItIsOpen) {
  zip.Add("a", "old");
  const auto store = Open();
  std::string bytes(3, ' ');
  const auto out = std::as_writable_bytes(std::span(bytes));
  const auto open = store->Read("a", ByteRange::At(0, 1), out).value();
  ZipWriter next;
  next.Add("a", "new");
  container->Put("x.zip", next.Finish());
  EXPECT_TRUE(open.object->Read(0, out));
  EXPECT_EQ(bytes, "old");
  EXPECT_EQ(Read(*store, "a"), "new");
}

TEST_F(ZipStoreTest, AFileThatIsGoneOrHalfWrittenIsAnError) {
  zip.Add("a", "bytes");
  const std::string file = zip.Finish();
  const auto store = Open();
  container->RewriteInPlace("x.zip", file.substr(0, 40));
  EXPECT_EQ(store->Stat("a").error().code, ErrorCode::kIo);
  EXPECT_EQ(store->Stat("none").error().code, ErrorCode::kIo) << "who knows";
  container->Remove("x.zip");
  EXPECT_EQ(store->Stat("").error().code, ErrorCode::kNotFound);
  container->Put("x.zip", file);
  EXPECT_EQ(Read(*store, "a"), "bytes");
}

TEST_F(ZipStoreTest, OnlyChangesOfTheFileCount) {
  container->SetCountsChanges(true);
  zip.Add("a", "bytes");
  const auto store = Open();
  int changes = 0;
  ASSERT_TRUE(store->StartWatching([&](const Changes& what) { changes += what.all ? 1 : 100; },
                                   [](std::string_view) {}));
  const uint64_t count = store->Watch("a");
  EXPECT_NE(count, 0U);
  container->Put("neighbour", "x");
  EXPECT_EQ(store->change_count(), count);
  EXPECT_EQ(changes, 0);
  container->Put("x.zip", zip.Finish());
  EXPECT_GT(store->change_count(), count);
  EXPECT_EQ(changes, 1);
}

TEST_F(ZipStoreTest, TheDirectoryIsReadOnceWhileNothingChanges) {
  zip.Add("a", "bytes");
  const auto store = Open();
  container->ResetCounts();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(store->Stat("a"));
  EXPECT_EQ(container->count(Call::kRead), 0U);
}

}  // namespace
}  // namespace zarrfs::zip_store_test
