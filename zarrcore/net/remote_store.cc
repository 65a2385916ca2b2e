#include "zarrcore/net/remote_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/net/listing_page.h"

namespace zarrfs {
namespace {

// The maximum number of keys per page in S3.
constexpr uint32_t kKeysOfAPage = 1000;
// Maximum number of consecutive pages without a name in a listing, which deleted objects can cause,
// and maximum number of all pages of a listing.
constexpr int kMaxEmptyPages = 1000;
constexpr int kMaxPages = 100'000;
// Last-Modified has a resolution of seconds, and web servers derive strong ETags from it.
constexpr int64_t kWebGranularityNs = 2'000'000'000;
// A folder is a node if it contains one of these documents.
constexpr std::array<std::string_view, 3> kDocuments = {"zarr.json", ".zarray", ".zgroup"};

// State shared by a RemoteStore, its objects and its listings.
struct Remote {
  Remote(std::shared_ptr<const Fetcher> of, RemoteStoreOptions how, std::string one_file = {})
      : fetcher(std::move(of)), options(std::move(how)), file(std::move(one_file)) {}

  const std::shared_ptr<const Fetcher> fetcher;
  const RemoteStoreOptions options;
  // The name of the only object, which is at the address itself; "" if the address is a folder of
  // objects.
  const std::string file;
  // False once the server has ignored or refused a suffix range, as Azure's servers do.
  mutable std::atomic<bool> knows_suffixes = true;

  [[nodiscard]] ObjectInfo InfoOf(const Version& version) const {
    return {.version = version, .mode = 0444, .uid = options.uid, .gid = options.gid};
  }

  // Sends one request. Unless the store never changes, fails if the response has neither an ETag
  // nor Last-Modified, because later requests could not detect another version.
  [[nodiscard]] Result<Fetched> Get(std::string_view key, ByteRange range, const Version* only,
                                    std::span<std::byte> out) const {
    if (!file.empty() && key != file) return Fail(ErrorCode::kNotFound, "{}: no such object", key);
    auto fetched = fetcher->Get(file.empty() ? key : "", range, only, out);
    if (!fetched && only == nullptr && fetched.error().code == ErrorCode::kStale) {
      // No version was requested, so the error must not be kStale.
      return Fail(ErrorCode::kIo, "{}", fetched.error().message);
    }
    if (!fetched) return fetched;
    const Version& version = fetched->version;
    if (only != nullptr && version != *only) {
      return Fail(ErrorCode::kStale, "{}: replaced by another version", key);
    }
    if (!options.never_changes && version.etag.empty() && version.mtime_ns == 0) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the server sends neither an ETag nor Last-Modified, so that changes cannot "
                  "be seen; if the store never changes, say so with immutable",
                  key);
    }
    return fetched;
  }
};

class RemoteObject final : public Object {
 public:
  RemoteObject(std::shared_ptr<const Remote> remote, std::string key, ObjectInfo info)
      : remote_(std::move(remote)), key_(std::move(key)), info_(std::move(info)) {}

  const ObjectInfo& info() const override { return info_; }

  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > info_.size() || out.size() > info_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: expected {} bytes from {}, found {} in all", key_,
                  out.size(), offset, info_.size());
    }
    while (!out.empty()) {
      const auto piece = out.first(std::min(out.size(), kMaxFetchBytes));
      auto fetched = remote_->Get(key_, ByteRange::At(offset, piece.size()), &info_.version, piece);
      if (!fetched && fetched.error().code == ErrorCode::kNotFound) {
        return Fail(ErrorCode::kStale, "{}: it no longer exists", key_);
      }
      if (!fetched) return Fail(fetched);
      if (fetched->length != piece.size() || fetched->offset != offset) {
        return Fail(ErrorCode::kIo, "{}: received {} bytes from {}, expected {} from {}", key_,
                    fetched->length, fetched->offset, piece.size(), offset);
      }
      offset += piece.size();
      out = out.subspan(piece.size());
    }
    return {};
  }

 private:
  const std::shared_ptr<const Remote> remote_;
  const std::string key_;
  const ObjectInfo info_;
};

class BucketFolder final : public FolderStream {
 public:
  BucketFolder(std::shared_ptr<const Remote> remote, std::string folder)
      : remote_(std::move(remote)), folder_(std::move(folder)) {}

  // Reads the first page of the listing. kNotFound if the folder contains no key.
  Result<void> Begin() {
    if (auto read = ReadPage(); !read) return read;
    if (!has_any_ && is_last_) return Fail(ErrorCode::kNotFound, "{}: no such folder", folder_);
    return {};
  }

  Result<std::vector<ListEntry>> Next(size_t count) override {
    for (int page = 0; names_.empty() && !is_last_; ++page) {
      if (page == kMaxEmptyPages) {
        return Fail(ErrorCode::kDamaged,
                    "{}: the listing of this folder has {} pages without a name", folder_,
                    kMaxEmptyPages);
      }
      if (auto read = ReadPage(); !read) return Fail(read);
    }
    const auto end = names_.begin() + static_cast<ptrdiff_t>(std::min(count, names_.size()));
    std::vector<ListEntry> next(std::make_move_iterator(names_.begin()),
                                std::make_move_iterator(end));
    names_.erase(names_.begin(), end);
    return next;
  }

 private:
  Result<void> ReadPage() {
    if (++pages_ > kMaxPages) {
      return Fail(ErrorCode::kTooLarge, "{}: the listing of this folder has more than {} pages",
                  folder_, kMaxPages);
    }
    const int64_t asked_ns = SteadyNowNs();
    const auto xml = remote_->fetcher->ListPage(folder_, continuation_, kKeysOfAPage);
    if (!xml) return Fail(xml);
    auto page = ParseListingPage(*xml, folder_);
    if (!page) return Fail(page);
    const size_t hash = std::hash<std::string>()(page->continuation);
    if (!page->continuation.empty() && !continuations_.insert(hash).second) {
      return Fail(ErrorCode::kDamaged,
                  "{}: the listing of this folder repeats a continuation token", folder_);
    }
    for (size_t i = 0; i < page->entries.size(); ++i) {
      if (!page->versions[i]) continue;
      ListEntry& entry = page->entries[i];
      entry.listed = std::make_shared<const ListedObject>(
          ListedObject{std::make_shared<RemoteObject>(remote_, JoinKey(folder_, entry.name),
                                                      remote_->InfoOf(*page->versions[i])),
                       asked_ns});
    }
    names_.assign(std::make_move_iterator(page->entries.begin()),
                  std::make_move_iterator(page->entries.end()));
    has_any_ = has_any_ || page->has_any;
    is_last_ = page->continuation.empty();
    continuation_ = std::move(page->continuation);
    return {};
  }

  const std::shared_ptr<const Remote> remote_;
  const std::string folder_;
  std::deque<ListEntry> names_;
  std::string continuation_;
  std::unordered_set<size_t> continuations_;  // hashes of all continuation tokens so far
  int pages_ = 0;
  bool has_any_ = false;
  bool is_last_ = false;
};

class RemoteStore final : public Store {
 public:
  explicit RemoteStore(std::shared_ptr<const Remote> remote) : remote_(std::move(remote)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override;
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override;
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override;
  std::optional<ObjectInfo> FolderOfKeys() const override {
    ObjectInfo folder = remote_->InfoOf({});
    folder.is_folder = true;
    folder.mode = 0555;
    return folder;
  }
  bool AnswersFast() const override { return false; }
  int64_t TimestampGranularityNs() const override {
    return remote_->options.is_listed ? 0 : kWebGranularityNs;
  }
  std::string name() const override { return remote_->options.name; }

 private:
  // Reads a range, like Read(). `asks_first`: requests the version first, and then the range by its
  // offset, even if it is a suffix.
  [[nodiscard]] Result<ReadAnswer> ReadRange(std::string_view key, ByteRange range,
                                             std::span<std::byte> out, bool asks_first) const;
  // Returns the attributes of a folder. A folder of a bucket exists if it contains a key; a folder
  // of a web server, if it contains a document of a node.
  [[nodiscard]] Result<ObjectInfo> StatFolder(std::string_view key) const;
  [[nodiscard]] Result<void> CheckKey(std::string_view key) const {
    if (IsValidKey(key)) return {};
    return Fail(ErrorCode::kInvalidArgument, "'{}' is not a key", key);
  }

  const std::shared_ptr<const Remote> remote_;
};

Result<ObjectInfo> RemoteStore::StatFolder(std::string_view key) const {
  const ObjectInfo folder = *FolderOfKeys();
  if (remote_->options.is_listed) {
    const auto xml = remote_->fetcher->ListPage(key, "", 1);
    if (!xml) return Fail(xml);
    const auto page = ParseListingPage(*xml, key);
    if (!page) return Fail(page);
    if (page->has_any) return folder;
  } else {
    for (const std::string_view document : kDocuments) {
      std::array<std::byte, 1> first;
      const auto found =
          remote_->Get(JoinKey(key, document), ByteRange::At(0, first.size()), nullptr, first);
      if (found) return folder;
      if (found.error().code != ErrorCode::kNotFound) return Fail(found);
    }
  }
  return Fail(ErrorCode::kNotFound, "{}: no such object or folder", key.empty() ? name() : key);
}

Result<ObjectInfo> RemoteStore::Stat(std::string_view key) const {
  if (auto checked = CheckKey(key); !checked) return Fail(checked);
  if (key.empty()) return StatFolder(key);
  std::array<std::byte, 1> first;
  const auto found = remote_->Get(key, ByteRange::At(0, first.size()), nullptr, first);
  if (found) return remote_->InfoOf(found->version);
  if (found.error().code != ErrorCode::kNotFound || !remote_->file.empty()) return Fail(found);
  return StatFolder(key);
}

Result<ReadAnswer> RemoteStore::Read(std::string_view key, ByteRange range,
                                     std::span<std::byte> out) const {
  if (auto checked = CheckKey(key); !checked) return Fail(checked);
  if (key.empty()) return Fail(ErrorCode::kNotFound, "{}: no object", name());
  range.length = std::min<uint64_t>(range.length, out.size());
  // The version is requested first for an empty range, and for a suffix that the server does not
  // support or that is longer than one request.
  const bool asks_first =
      range.length == 0 ||
      (range.from_end && (range.length > kMaxFetchBytes || !remote_->knows_suffixes));
  auto answer = ReadRange(key, range, out, asks_first);
  if (answer || asks_first || !range.from_end || answer.error().code != ErrorCode::kUnsupported) {
    return answer;
  }
  auto of_version = ReadRange(key, range, out, /*asks_first=*/true);
  if (of_version) remote_->knows_suffixes = false;
  return of_version;
}

Result<ReadAnswer> RemoteStore::ReadRange(std::string_view key, ByteRange range,
                                          std::span<std::byte> out, bool asks_first) const {
  std::array<std::byte, 1> first;
  const auto into = asks_first ? std::span<std::byte>(first)
                               : out.first(std::min<size_t>(range.length, kMaxFetchBytes));
  ByteRange asked = asks_first ? ByteRange::At(0, first.size()) : range;
  asked.length = into.size();
  auto fetched = remote_->Get(key, asked, nullptr, into);
  if (!fetched) return Fail(fetched);

  const uint64_t size = fetched->version.size;
  const uint64_t begin =
      range.from_end ? size - std::min(range.length, size) : std::min(range.offset, size);
  const auto length = static_cast<size_t>(std::min(range.length, size - begin));
  auto object =
      std::make_shared<RemoteObject>(remote_, std::string(key), remote_->InfoOf(fetched->version));
  const size_t have = asks_first ? 0 : fetched->length;
  if (!asks_first && have > 0 && fetched->offset != begin) {
    return Fail(ErrorCode::kIo, "{}: received bytes from {}, expected them from {}", key,
                fetched->offset, begin);
  }
  if (have < length) {
    if (auto rest = object->Read(begin + have, out.first(length).subspan(have)); !rest) {
      return Fail(rest);
    }
  }
  return ReadAnswer{std::move(object), begin, length};
}

Result<std::unique_ptr<FolderStream>> RemoteStore::OpenFolder(std::string_view folder) const {
  if (auto checked = CheckKey(folder); !checked) return Fail(checked);
  if (!remote_->options.is_listed || !remote_->file.empty()) {
    return Fail(ErrorCode::kUnsupported, "{}: a web server does not list its folders",
                folder.empty() ? name() : folder);
  }
  auto stream = std::make_unique<BucketFolder>(remote_, std::string(folder));
  if (auto begun = stream->Begin(); !begun) return Fail(begun);
  return stream;
}

Result<void> CheckDocument(const Store& store, std::string_view document) {
  std::array<std::byte, 1> first;
  return store.Read(document, ByteRange::At(0, first.size()), first).map([](const ReadAnswer&) {});
}

}  // namespace

std::shared_ptr<Store> MakeRemoteFile(std::shared_ptr<const Fetcher> fetcher,
                                      RemoteStoreOptions options, std::string file) {
  return std::make_shared<RemoteStore>(
      std::make_shared<const Remote>(std::move(fetcher), std::move(options), std::move(file)));
}

std::shared_ptr<Store> MakeRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                       RemoteStoreOptions options) {
  return std::make_shared<RemoteStore>(
      std::make_shared<const Remote>(std::move(fetcher), std::move(options)));
}

Result<void> CheckRemoteStore(const Store& store, const RemoteStoreOptions& options,
                              const std::function<bool()>& at_once) {
  // A web server cannot say that a folder exists, so the root's documents are requested one after
  // the other.
  const bool is_asked_for_documents = !options.is_listed && options.some_key.empty();
  Result<void> found;
  bool is_enough = false;
  AtOnce(2, 2, [&](size_t question) {
    if (question == 0) {
      found = is_asked_for_documents ? CheckDocument(store, kDocuments.front())
                                     : store.Stat(options.some_key).map([](const ObjectInfo&) {});
    } else {
      is_enough = at_once();
    }
  });
  if (is_enough) return {};
  for (size_t at = 1; is_asked_for_documents && at < kDocuments.size(); ++at) {
    if (found || found.error().code != ErrorCode::kNotFound) break;
    found = CheckDocument(store, kDocuments[at]);
  }
  if (found || found.error().code != ErrorCode::kNotFound) return found;
  if (!options.some_key.empty()) {
    return Fail(ErrorCode::kNotFound,
                "{}: {}, a key in list=FILE, does not exist: is the address correct?", options.name,
                options.some_key);
  }
  return Fail(ErrorCode::kNotFound, "{}: {}", options.name,
              options.is_listed
                  ? "nothing in the bucket begins with this prefix: is it spelled right?"
                  : "no zarr.json, .zgroup or .zarray there: is the address spelled right?");
}

Result<std::shared_ptr<Store>> OpenRemoteStore(std::shared_ptr<const Fetcher> fetcher,
                                               const RemoteStoreOptions& options) {
  auto store = MakeRemoteStore(std::move(fetcher), options);
  if (auto checked = CheckRemoteStore(*store, options, [] { return false; }); !checked) {
    return Fail(checked);
  }
  return store;
}

}  // namespace zarrfs
