#include "zarrcore/net/remote_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace zarrfs::remote_store_test {
namespace {

// A bucket in memory.
class FakeFetcher final : public Fetcher {
 public:
  struct Stored {
    std::string bytes;
    std::string etag;
  };
  std::map<std::string, Stored, std::less<>> objects;
  bool ignores_conditions = false;
  bool refuses_suffixes = false;
  bool pages_on = false;        // send pages without end, every second one empty
  int period = 1'000'000;       // continuation tokens repeat after this many requests
  std::string inner_of_a_page;  // the content of the other pages
  mutable int requests = 0;

  Result<Fetched> Get(std::string_view key, ByteRange range, const Version* only,
                      std::span<std::byte> out) const override {
    ++requests;
    if (refuses_suffixes && range.from_end) return Fail(ErrorCode::kUnsupported, "{}: end", key);
    const auto found = objects.find(key);
    if (found == objects.end()) return Fail(ErrorCode::kNotFound, "{}", key);
    const std::string& bytes = found->second.bytes;
    if (!ignores_conditions && only != nullptr && only->etag != found->second.etag) {
      return Fail(ErrorCode::kStale, "{}", key);
    }
    Fetched fetched;
    fetched.version.size = bytes.size();
    fetched.version.etag = found->second.etag;
    const uint64_t begin = range.from_end
                               ? bytes.size() - std::min<uint64_t>(range.length, bytes.size())
                               : std::min<uint64_t>(range.offset, bytes.size());
    fetched.offset = begin;
    fetched.length = std::min<size_t>({range.length, bytes.size() - begin, out.size()});
    std::ranges::copy(std::as_bytes(std::span(bytes)).subspan(begin, fetched.length), out.begin());
    return fetched;
  }

  Result<std::string> ListPage(std::string_view folder, std::string_view /*continuation*/,
                               uint32_t /*max_keys*/) const override {
    ++requests;
    const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
    std::string inner = "<Prefix>" + prefix + "</Prefix>";
    for (const auto& [key, stored] : objects) {
      if (!key.starts_with(prefix)) continue;
      const size_t slash = key.find('/', prefix.size());
      inner += slash == key.npos ? "<Contents><Key>" + key + "</Key></Contents>"
                                 : "<CommonPrefixes><Prefix>" + key.substr(0, slash + 1) +
                                       "</Prefix></CommonPrefixes>";
    }
    if (pages_on) {
      inner = "<Prefix>" + prefix + "</Prefix>" + (requests % 2 == 0 ? inner_of_a_page : "") +
              "<IsTruncated>true</IsTruncated><NextContinuationToken>" +
              std::to_string(requests % period) + "</NextContinuationToken>";
    }
    return "<ListBucketResult>" + inner + "</ListBucketResult>";
  }
};

class RemoteStoreTest : public ::testing::Test {
 protected:
  RemoteStoreTest() {
    fetcher_->objects["zarr.json"] = {"{}", "\"1\""};
    fetcher_->objects["a/c/0"] = {"0123456789", "\"2\""};
    fetcher_->objects["a/c/empty"] = {"", "\"3\""};
  }
  std::shared_ptr<Store> Open(bool is_listed = true) {
    auto store = OpenRemoteStore(fetcher_, {.name = "s3://b", .is_listed = is_listed});
    EXPECT_TRUE(store);
    return *std::move(store);
  }
  std::string Read(const Store& store, std::string_view key, ByteRange range) {
    std::string out(4, '-');
    const auto answer = store.Read(key, range, std::as_writable_bytes(std::span(out)));
    return answer ? out.substr(0, answer->length) : answer.error().message;
  }
  std::shared_ptr<FakeFetcher> fetcher_ = std::make_shared<FakeFetcher>();
};

TEST_F(RemoteStoreTest, RangesAreClipped) {
  const auto store = Open();
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::At(2, 3)), "234");
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::At(8, 4)), "89");
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::At(20, 4)), "");
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::Suffix(3)), "789");
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::At(0, 0)), "");
  EXPECT_EQ(Read(*store, "a/c/empty", ByteRange::Suffix(3)), "");
}

TEST_F(RemoteStoreTest, AServerWithoutRangesFromTheEndIsAskedForTheSizeFirst) {
  const auto store = Open();
  fetcher_->refuses_suffixes = true;
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::Suffix(3)), "789");
  EXPECT_EQ(Read(*store, "a/c/empty", ByteRange::Suffix(3)), "");
  fetcher_->requests = 0;
  EXPECT_EQ(Read(*store, "a/c/0", ByteRange::Suffix(4)), "6789");
  EXPECT_EQ(fetcher_->requests, 2) << "size and bytes, and no range that is refused";
}

TEST_F(RemoteStoreTest, FoldersAreWhereThereAreKeysBelow) {
  const auto store = Open();
  EXPECT_TRUE(store->Stat("a")->is_folder);
  EXPECT_TRUE(store->Stat("a/c")->is_folder);
  EXPECT_FALSE(store->Stat("a/c/0")->is_folder);
  EXPECT_EQ(store->Stat("b").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->Stat("a/../b").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(store->List("b").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->List("a/c")->size(), 2U);
}

TEST_F(RemoteStoreTest, AnObjectThatIsReplacedOrGoneIsStale) {
  for (const bool ignores : {false, true}) {
    fetcher_->ignores_conditions = ignores;
    fetcher_->objects["a/c/0"] = {"0123456789", "\"2\""};
    const auto store = Open();
    std::array<std::byte, 4> out;
    const auto first = store->Read("a/c/0", ByteRange::At(0, 4), out);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->object->Read(6, out));
    EXPECT_EQ(first->object->Read(7, out).error().code, ErrorCode::kDamaged);
    fetcher_->objects["a/c/0"] = {"0123456789", "\"other\""};
    EXPECT_EQ(first->object->Read(6, out).error().code, ErrorCode::kStale);
    fetcher_->objects.erase("a/c/0");
    EXPECT_EQ(first->object->Read(6, out).error().code, ErrorCode::kStale);
  }
}

TEST_F(RemoteStoreTest, AListingThatHasNoEndIsAnError) {
  const auto store = Open();
  fetcher_->pages_on = true;
  EXPECT_EQ(store->List("a").error().code, ErrorCode::kDamaged) << "pages without a name";
  fetcher_->requests = 0;
  fetcher_->inner_of_a_page = "<Contents><Key>a/x</Key></Contents>";
  EXPECT_EQ(store->List("a").error().code, ErrorCode::kTooLarge);
  EXPECT_LE(fetcher_->requests, 100'001);
}

TEST_F(RemoteStoreTest, AListingThatRepeatsAContinuationTokenEndsAtOnce) {
  const auto store = Open();
  fetcher_->pages_on = true;
  fetcher_->inner_of_a_page = "<Contents><Key>a/x</Key></Contents>";
  for (const int period : {1, 2, 3, 50}) {
    fetcher_->period = period;
    fetcher_->requests = 0;
    const Error error = store->List("a").error();
    EXPECT_EQ(error.code, ErrorCode::kDamaged);
    EXPECT_EQ(error.message, "a: the listing of this folder repeats a continuation token");
    EXPECT_EQ(fetcher_->requests, period + 1);
  }
}

TEST_F(RemoteStoreTest, WhereNothingIsListedAFolderIsANode) {
  const auto store = Open(/*is_listed=*/false);
  EXPECT_EQ(store->Stat("a").error().code, ErrorCode::kNotFound);
  fetcher_->objects["a/.zarray"] = {"{}", "\"4\""};
  EXPECT_TRUE(store->Stat("a")->is_folder);
  EXPECT_EQ(store->List("a").error().code, ErrorCode::kUnsupported);
}

TEST_F(RemoteStoreTest, ObjectsWithoutAVersionAreRefusedUnlessTheStoreNeverChanges) {
  fetcher_->objects["zarr.json"].etag = "";
  EXPECT_EQ(OpenRemoteStore(fetcher_, {.name = "http://x"}).error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(OpenRemoteStore(fetcher_, {.name = "http://x", .never_changes = true}));
}

TEST_F(RemoteStoreTest, AnAddressWithNothingThereIsAnError) {
  fetcher_->objects.clear();
  EXPECT_EQ(OpenRemoteStore(fetcher_, {.name = "s3://b", .is_listed = true}).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace zarrfs::remote_store_test
