#include "zarrcore/zip/zip_store.h"

#include <strings.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/object_watch.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/zip/zip_file.h"

namespace zarrfs {
namespace {

// Attempts to read a member while the file is being replaced.
constexpr int kMaxMemberReads = 4;

using ZipFilePtr = std::shared_ptr<const ZipFile>;
using ZipFiles = RevalidatingCache<int, ZipFile>;

class ZipFolderStream final : public FolderStream {
 public:
  // `prefix`: the folder with its slash, "" for the root.
  ZipFolderStream(ZipFilePtr zip, std::string prefix)
      : zip_(std::move(zip)),
        prefix_(std::move(prefix)),
        at_(zip_->directory.LowerBound(prefix_)) {}

  [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override {
    const ZipDirectory& directory = zip_->directory;
    std::vector<ListEntry> entries;
    while (entries.size() < count && at_ < directory.size()) {
      const std::string_view name = directory.SortedName(at_);
      if (!name.starts_with(prefix_)) break;
      const std::string_view rest = name.substr(prefix_.size());
      const size_t slash = rest.find('/');
      if (rest.empty()) {  // the folder itself
        ++at_;
      } else if (slash == rest.npos) {
        entries.push_back({std::string(rest), false, directory.At(at_).is_link});
        ++at_;
      } else {
        entries.push_back({std::string(rest.substr(0, slash)), true, false});
        constexpr char kAfterSlash = '/' + 1;
        at_ = directory.LowerBound(prefix_ + entries.back().name + kAfterSlash);
      }
    }
    return entries;
  }

 private:
  const ZipFilePtr zip_;
  const std::string prefix_;
  size_t at_;  // next member
};

// The file of this name, if there is one.
std::optional<ZipMember> FileNamed(const ZipDirectory& directory, std::string_view name) {
  const size_t number = directory.LowerBound(name);
  if (number == directory.size() || directory.SortedName(number) != name) return std::nullopt;
  return directory.At(number);
}

Error LinkRefused(std::string_view name) {
  return {ErrorCode::kLinkRefused,
          fmt::format("{}: a symbolic link in a zip file is not followed", name)};
}

// How a ZipFile is read for the cache.
class ZipLoader final : public ZipFiles::Loader {
 public:
  ZipLoader(const Store& container, const std::string& key) : container_(container), key_(key) {}

  Validity Watch() override { return Validity::Watch(container_, FolderOf(key_)); }

  Result<Revalidation> Revalidate(const ZipFiles::ValuePtr& known) override {
    const auto info = container_.Stat(key_);
    if (!info) return Fail(info);
    return info->version == known->object->info().version ? Revalidation::kCurrent
                                                          : Revalidation::kReplaced;
  }

  Result<ZipFiles::Loaded> Load() override {
    auto zip = ZipFile::Read(container_, key_);
    if (!zip) return Fail(zip);
    return ZipFiles::Loaded{*std::move(zip), 1};
  }

  Validity ValidityOf(const ZipFile& zip, Validity watched) override {
    return zip.object->info().may_change_elsewhere ? Validity() : watched;
  }
  bool IsRacy(const ZipFile& zip) override {
    return zarrfs::IsRacy(container_, zip.object->info());
  }

 private:
  const Store& container_;
  const std::string& key_;
};

class ZipStore final : public ForwardingStore {
 public:
  ZipStore(std::shared_ptr<const Store> container, std::string key, std::string folder, Age max_age)
      : ForwardingStore(container),
        container_(std::move(container)),
        key_(std::move(key)),
        folder_(std::move(folder)),
        max_age_(max_age),
        zips_(container_, /*capacity_bytes=*/1, /*splits=*/1) {}

  /// The file, known to be current at most `max_age` ago.
  [[nodiscard]] Result<ZipFilePtr> Current(Age max_age) const {
    ZipLoader loader(*container_, key_);
    auto zip = zips_.Get(0, max_age, loader).value;
    if (zip) return zip;
    // Code that parses Zarr reports damaged objects; from a store it expects an I/O error.
    const ErrorCode code = zip.error().code;
    return Fail(code == ErrorCode::kDamaged ? ErrorCode::kIo : code, "{}: {}", Place(),
                zip.error().message);
  }

  std::optional<ObjectInfo> FolderOfKeys() const override { return std::nullopt; }

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    auto found = Find(key, max_age_);
    if (!found) return Fail(found);
    return found->member ? found->zip->InfoOf(*found->member) : found->zip->InfoOfFolder();
  }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const override {
    for (int tries = 1;; ++tries) {
      // A stale file is outdated, however recently it was checked.
      auto answer = ReadOnce(key, range, out, tries == 1 ? max_age_ : Age{0});
      const bool is_stale = !answer && answer.error().code == ErrorCode::kStale;
      if (!is_stale || tries == kMaxMemberReads) return answer;
    }
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    auto found = Find(folder, max_age_);
    if (!found) return Fail(found);
    if (found->member) {
      return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", folder);
    }
    std::string prefix = JoinKey(folder_, folder);
    while (prefix.ends_with('/')) prefix.pop_back();  // of a root that is a folder
    if (!prefix.empty()) prefix += '/';
    return std::make_unique<ZipFolderStream>(std::move(found->zip), std::move(prefix));
  }

  [[nodiscard]] Result<uint64_t> OffsetInFile(std::string_view key) const override {
    const auto found = Find(key, max_age_);
    if (!found) return Fail(found);
    if (!found->member) return Fail(ErrorCode::kNotFound, "{}: a folder", key);
    const auto offset = FindZipMember(*found->zip, *found->member);
    if (!offset) return Fail(offset.error().code, "{}: {}", key, offset.error().message);
    if (found->member->method == kZipStored) return *offset;
    return Fail(ErrorCode::kUnsupported, "{}: compressed in the zip file", key);
  }

  // Other changes in the folder of the zip file do not concern this store.
  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    return watch_.Start(*container_, key_, std::move(listener), std::move(report));
  }
  [[nodiscard]] uint64_t Watch(std::string_view /*folder*/) const override {
    const uint64_t count = change_count();
    return container_->Watch(FolderOf(key_)) == 0 ? 0 : count;
  }
  [[nodiscard]] uint64_t change_count() const override { return watch_.count(*container_); }

  void CloseIdle() const override {
    inflated_->Sweep();
    container_->CloseIdle();
  }

  [[nodiscard]] std::string name() const override {
    return folder_.empty() ? Place() : JoinKey(Place(), folder_);
  }

 private:
  struct Found {
    ZipFilePtr zip;
    std::optional<ZipMember> member;  // none: a folder that has no member of its own
  };

  [[nodiscard]] std::string Place() const {
    const std::string folder = container_->name();
    return folder.ends_with('/') ? folder + key_ : JoinKey(folder, key_);
  }

  [[nodiscard]] Result<Found> Find(std::string_view key, Age max_age) const {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a key", key);
    auto zip = Current(max_age);
    if (!zip) return Fail(zip);
    const ZipDirectory& directory = (*zip)->directory;
    const std::string name = key.empty() ? folder_ : JoinKey(folder_, key);
    if (name.empty()) return Found{*std::move(zip), std::nullopt};
    if (auto file = FileNamed(directory, name)) {
      if (file->is_link) return tl::unexpected(LinkRefused(name));
      return Found{*std::move(zip), *file};
    }
    const std::string prefix = name + "/";
    const size_t below = directory.LowerBound(prefix);
    if (below < directory.size() && directory.SortedName(below).starts_with(prefix)) {
      return Found{*std::move(zip), std::nullopt};
    }
    for (std::string_view above = FolderOf(name); !above.empty(); above = FolderOf(above)) {
      const auto file = FileNamed(directory, above);
      if (file && file->is_link) return tl::unexpected(LinkRefused(above));
    }
    return Fail(ErrorCode::kNotFound, "{}: not in {}", name, Place());
  }

  [[nodiscard]] Result<ReadAnswer> ReadOnce(std::string_view key, ByteRange range,
                                            std::span<std::byte> out, Age max_age) const {
    const auto found = Find(key, max_age);
    if (!found) return Fail(found);
    if (!found->member) return Fail(ErrorCode::kNotFound, "{}: a folder", key);
    auto answer = ReadZipMember(*found->zip, *found->member, inflated_, range, out);
    if (!answer) return Fail(answer.error().code, "{}: {}", key, answer.error().message);
    return answer;
  }

  const std::shared_ptr<const Store> container_;
  const std::string key_;
  const std::string folder_;
  const Age max_age_;
  const std::shared_ptr<InflatedMembers> inflated_ = std::make_shared<InflatedMembers>();
  const ObjectWatch watch_;
  mutable ZipFiles zips_;
};

}  // namespace

bool IsZipName(std::string_view name) {
  constexpr size_t kLength = 4;
  if (name.size() <= kLength) return false;
  const std::string end(name.substr(name.size() - kLength));
  return strcasecmp(end.c_str(), ".zip") == 0 || strcasecmp(end.c_str(), ".ozx") == 0;
}

Result<std::shared_ptr<Store>> OpenZipStore(std::shared_ptr<const Store> container, std::string key,
                                            std::string folder, Age max_age) {
  if (!IsValidKey(folder)) {
    return Fail(ErrorCode::kInvalidArgument, "{}: not a path in a zip file", folder);
  }
  auto store =
      std::make_shared<ZipStore>(std::move(container), std::move(key), std::move(folder), max_age);
  if (const auto root = store->Stat(""); !root) return Fail(root);
  if (auto listing = store->OpenFolder(""); !listing) return Fail(listing);
  return store;
}

}  // namespace zarrfs
