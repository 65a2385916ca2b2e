#include "zarrcore/kerchunk/kerchunk_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/support/folder_names.h"
#include "tests/unit/support/read.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/kerchunk/reference_set.h"

namespace zarrfs::kerchunk_store_test {
namespace {

namespace fs = std::filesystem;

testing::AssertionResult Has(std::string_view text, std::string_view part) {
  if (text.find(part) != text.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << part << "\" in: " << text;
}

struct KerchunkStoreTest : testing::Test {
  KerchunkStoreTest() {
    std::string name = (fs::temp_directory_path() / "kerchunk.XXXXXX").string();
    folder = mkdtemp(name.data());
    chmod(folder.c_str(), 0755);
    std::ofstream(folder / "a b.nc") << "0123456789";
  }
  ~KerchunkStoreTest() override {
    ProcessMemory().SetLimit(UINT64_MAX);
    fs::remove_all(folder);
  }

  [[nodiscard]] Result<std::shared_ptr<Store>> TryOpen(std::string set) const {
    for (size_t at = 0; (at = set.find("DIR", at)) != set.npos;) set.replace(at, 3, folder);
    container->Put("x.json", set);
    std::vector<VirtualPrefix> prefixes = {
        ParseVirtualPrefix("file://" + folder.string() + "/").value()};
    return OpenKerchunkStore(container, "x.json",
                             std::make_shared<IcechunkVirtualChunks>(prefixes, options));
  }
  [[nodiscard]] std::shared_ptr<Store> Open(const std::string& set) const {
    return TryOpen(set).value();
  }
  [[nodiscard]] std::string WhyNot(const std::string& set) const {
    const auto store = TryOpen(set);
    if (store) return "it can be opened";
    return fmt::format("{}: {}", ToString(store.error().code), store.error().message);
  }

  const std::shared_ptr<FakeStore> container = std::make_shared<FakeStore>();
  LocalStoreOptions options;
  fs::path folder;
};

TEST_F(KerchunkStoreTest, KeysAreFilesAndTheirParentsFolders) {
  const auto store = Open(R"({"a/0.1": "x", ".zgroup": "{}", "a-b": "", "a/c/.zarray": "y"})");
  EXPECT_EQ(FolderNames(*store, ""), ".zgroup a-b a/ ");
  EXPECT_EQ(FolderNames(*store, "a"), "0.1 c/ ");
  EXPECT_TRUE(store->Stat("a/c").value().is_folder);
  EXPECT_EQ(store->Stat("a/0.1").value().size(), 1);
  EXPECT_EQ(store->Stat("a/0").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->Stat("a/0.1/x").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(store->OpenFolder("a/0.1"));
  EXPECT_EQ(Read(*store, "a/c/.zarray"), "y");
}

TEST_F(KerchunkStoreTest, EachFormOfReference) {
  const auto store = Open(R"({"version": 1, "refs": {
      "text": "caf\u00e9", "bytes": "base64:AAH+/w==", "json": {"a": [1, -2, 2.5, null, true, "\"b"], "c": {}},
      "range": ["DIR/a b.nc", 3, 4], "whole": ["DIR/a b.nc"], "url": ["file://DIR/a%20b.nc", 8, 2]}})");
  EXPECT_EQ(Read(*store, "text"), "caf\xc3\xa9");
  EXPECT_EQ(Read(*store, "bytes"), std::string("\x00\x01\xfe\xff", 4));
  EXPECT_EQ(Read(*store, "json"), R"({"a":[1,-2,2.5,null,true,"\"b"],"c":{}})");
  EXPECT_EQ(Read(*store, "range"), "3456");
  EXPECT_EQ(Read(*store, "range", ByteRange::Suffix(3)), "456");
  EXPECT_EQ(store->Stat("range").value().size(), 4);
  EXPECT_EQ(Read(*store, "whole"), "0123456789");
  EXPECT_EQ(Read(*store, "whole", ByteRange::Suffix(3)), "789");
  EXPECT_EQ(store->Stat("whole").value().size(), 10);
  EXPECT_EQ(Read(*store, "url"), "89");
}

TEST_F(KerchunkStoreTest, TemplatesAreExpandedWhereverTheyStand) {
  const auto store = Open(R"({"version": 1,
      "refs": {"a": ["{{u}}/a {{ n }}.nc", 0, 2], "b": "{{u}}"}, "templates": {"u": "DIR", "n": "b"}})");
  EXPECT_EQ(Read(*store, "a"), "01");
  EXPECT_EQ(Read(*store, "b"), "{{u}}") << "only addresses have templates";
}

TEST_F(KerchunkStoreTest, OfSeveralTemplatesWithOneNameTheLastCounts) {
  const auto store = Open(R"({"version": 1, "refs": {"a": ["DIR/{{n}}.nc", 0, 2]},
      "templates": {"n": "other", "n": "a b", "m": "", "n": "a b"}})");
  EXPECT_EQ(Read(*store, "a"), "01");
}

TEST_F(KerchunkStoreTest, OfSeveralReferencesWithOneKeyTheLastCounts) {
  const auto store = Open(R"({"k": "first", "j": "", "k": "last"})");
  EXPECT_EQ(Read(*store, "k"), "last");
  EXPECT_EQ(FolderNames(*store, ""), "j k ");
}

TEST_F(KerchunkStoreTest, AKeyWithKeysBelowItIsListedOnceAsAFile) {
  const auto store = Open(R"({"a": "x", "a-b": "", "a/b": "y"})");
  EXPECT_EQ(FolderNames(*store, ""), "a a-b ");
  EXPECT_EQ(Read(*store, "a/b"), "y");
}

TEST_F(KerchunkStoreTest, ManyKeysAreFoundAndListed) {
  std::string set = R"({".zgroup": "{}")";
  for (int i = 9999; i >= 0; --i) {
    set += fmt::format(R"(, "t/{}": ["{}/a b.nc", {}, 1])", i, folder.string(), i % 10);
  }
  const auto store = Open(set + "}");
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(Read(*store, fmt::format("t/{}", i)), std::to_string(i % 10));
  }
  EXPECT_EQ(store->List("t").value().size(), 10000);
  EXPECT_FALSE(store->Stat("t/10000"));
}

TEST_F(KerchunkStoreTest, WhatCannotBeReadExists) {
  const auto store = Open(R"({"gone": ["DIR/gone.nc", 0, 4], "short": ["DIR/a b.nc", 8, 4],
      "outside": ["/etc/passwd", 0, 4], "above": ["DIR/../x.nc", 0, 4], "relative": ["x.nc", 0, 4], "unsized": ["/etc/passwd"]})");
  EXPECT_EQ(FolderNames(*store, ""), "above gone outside relative short unsized ");
  EXPECT_TRUE(Has(Read(*store, "gone"), "the file is missing"));
  EXPECT_TRUE(Has(Read(*store, "short"), "the file ends early"));
  EXPECT_TRUE(Has(Read(*store, "outside"), "add -o virtual=file:///etc/"));
  EXPECT_EQ(store->Stat("outside").value().size(), 4);
  EXPECT_EQ(store->Stat("unsized").error().code, ErrorCode::kUnsupported) << "not a size of 0";
  for (const auto* const key : {"gone", "short", "above", "relative"}) {
    const auto info = store->Stat(key);
    EXPECT_TRUE(info || info.error().code != ErrorCode::kNotFound) << key;
    EXPECT_FALSE(Has(Read(*store, key), "0123")) << key;
  }
}

TEST_F(KerchunkStoreTest, AChangedFileIsAnotherVersion) {
  const auto store = Open(R"({"k": ["DIR/a b.nc", 0, 4]})");
  const auto before = store->Stat("k").value().version;
  std::ofstream(folder / "a b.nc") << "abcdefghijkl";
  EXPECT_NE(store->Stat("k").value().version, before);
  EXPECT_EQ(Read(*store, "k"), "abcd");
}

TEST_F(KerchunkStoreTest, AReplacedSetIsReadAgain) {
  const auto store = Open(R"({"k": "old"})");
  EXPECT_EQ(Read(*store, "k"), "old");
  container->Put("x.json", R"({"k": "newer"})");
  EXPECT_EQ(Read(*store, "k"), "newer");
  container->Put("x.json", "{");
  EXPECT_EQ(store->Stat("k").error().code, ErrorCode::kIo) << "a damaged set is not an empty one";
}

TEST_F(KerchunkStoreTest, WhatIsNoReferenceSetIsRefused) {
  for (const auto& [set, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "not JSON"},
           {"[]", "expected"},
           {"3", "expected a JSON object"},
           {R"({"k": "x")", "not JSON at byte 10"},
           {R"({"k": 3})", "expected a reference, found 3"},
           {R"({"k": null})", "expected a reference, found null"},
           {R"({"k": []})", "expected [ADDRESS]"},
           {R"({"k": ["u", 1]})", "expected [ADDRESS]"},
           {R"({"k": ["u", 1, 2, 3]})", "expected [ADDRESS, OFFSET, LENGTH]"},
           {R"({"k": ["u", 1, -2]})", "expected a reference, found -2"},
           {R"({"k": ["u", 1, 1.5]})", "found 1.5"},
           {R"({"k": ["u", [1], 2]})", "unexpected array"},
           {R"({"k": ["u", 9223372036854775807, 1]})", "end beyond 2^63"},
           {R"({"": "x"})", "not a valid key"},
           {R"({"a//b": "x"})", "not a valid key"},
           {R"({"../a": "x"})", "not a valid key"},
           {R"({"k": "base64:!!"})", "k: not base64"},
           {R"({"version": 1})", "no \"refs\""},
           {R"({"version": 2, "refs": {}})", "version 2; expected 0 or 1"},
           {R"({"version": 1, "refs": {"k": ["{{u}}"]}})", "no template has the name \"u\""},
           {R"({"version": 1, "refs": {"k": ["{{u"]}, "templates": {"u": ""}})", "without its end"},
           {R"({"k": )" + std::string(5000, '[') + "}", "unexpected array"},
           {R"({"k": {"a": )" + std::string(5000, '[') + "}}", "nested too deeply"},
       }) {
    EXPECT_TRUE(Has(WhyNot(set), why)) << set;
  }
}

TEST_F(KerchunkStoreTest, WhatMustBeExpandedNamesTheCommand) {
  for (const std::string set : {
           R"({"version": 1, "refs": {}, "gen": [{"key": "a{{i}}"}]})",
           R"({"version": 1, "templates": {"f": "{{c}}.nc"}, "refs": {}})",
           R"({"version": 1, "templates": {"f": "x"}, "refs": {"k": ["{{f(c=1)}}"]}})",
       }) {
    EXPECT_TRUE(Has(WhyNot(set), std::string(kExpandReferenceSet))) << set;
  }
}

TEST_F(KerchunkStoreTest, MemoryIsTakenBeforeItIsUsed) {
  std::string set = R"({".zgroup": "{}")";
  for (int i = 0; i < 300'000; ++i) set += fmt::format(R"(,"{}":["{}"])", i, i);
  set += "}";
  ProcessMemory().SetLimit(24U << 20);
  EXPECT_TRUE(Has(WhyNot(set), "memory= allows 25165824"));
  ProcessMemory().SetLimit(256U << 20);
  const auto store = Open(set);
  EXPECT_LT(ProcessMemory().used(), set.size() * 3);
  EXPECT_GT(ProcessMemory().used(), 300'000);
}

TEST_F(KerchunkStoreTest, AnAddressIsNeverLongerThanAnyAddress) {
  std::string set =
      R"({"version": 1, "templates": {"u": ")" + std::string(4000, 'u') + R"("}, "refs": {"k": [")";
  for (int i = 0; i < 1000; ++i) set += "{{u}}";
  EXPECT_TRUE(Has(Read(*Open(set + R"("]}})"), "k"), "more than 8192 bytes"));
}

TEST_F(KerchunkStoreTest, FoldersOfAllReferences) {
  const auto folders = KerchunkVirtualFoldersOf(*Open(
      R"({"a": ["/data/x.nc", 0, 1], "b": ["/data/y.nc"], "c": ["s3://b/k/z.nc", 0, 1], "d": "x"})"));
  ASSERT_TRUE(folders);
  std::string shown;
  for (const VirtualPrefix& prefix : folders->prefixes) shown += prefix.Text() + " ";
  EXPECT_EQ(shown, "file:///data/ s3://b/k/ ");
  EXPECT_TRUE(folders->is_all);
}

TEST(IsReferenceSetName, IsNotThatOfADocument) {
  EXPECT_TRUE(IsReferenceSetName("ocean.json"));
  EXPECT_FALSE(IsReferenceSetName("zarr.json"));
  EXPECT_FALSE(IsReferenceSetName(".json"));
  EXPECT_FALSE(IsReferenceSetName("ocean.zarr"));
}

}  // namespace
}  // namespace zarrfs::kerchunk_store_test
