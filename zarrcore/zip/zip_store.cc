#include "zarrcore/zip/zip_store.h"

#include <strings.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "zarrcore/store/store_in_file.h"
#include "zarrcore/zip/zip_file.h"

namespace zarrfs {
namespace {

using ZipFilePtr = std::shared_ptr<const ZipFile>;

class ZipFolderStream final : public FolderStream {
 public:
  // `prefix`: the name of the folder with its final slash; "" for the root of the archive.
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
      if (rest.empty()) {  // the record of the folder itself
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
  size_t at_;  // the number of the next member to list
};

// The member `name`, if it is a file; otherwise nullopt.
std::optional<ZipMember> FileNamed(const ZipDirectory& directory, std::string_view name) {
  const size_t number = directory.LowerBound(name);
  if (number == directory.size() || directory.SortedName(number) != name) return std::nullopt;
  return directory.At(number);
}

Error LinkRefused(std::string_view name) {
  return {ErrorCode::kLinkRefused,
          fmt::format("{}: a symbolic link in a zip file is not followed", name)};
}

class ZipStore final : public StoreInFile<ZipFile> {
 public:
  ZipStore(std::shared_ptr<const Store> container, std::string key, std::string folder, Age max_age)
      : StoreInFile(std::move(container), std::move(key), max_age), folder_(std::move(folder)) {}

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    auto found = Find(key, max_age());
    if (!found) return Fail(found);
    return found->member ? found->zip->InfoOf(*found->member) : found->zip->InfoOfFolder();
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    auto found = Find(folder, max_age());
    if (!found) return Fail(found);
    if (found->member) {
      return Fail(ErrorCode::kNotFound, "{}: a file, not a folder", folder);
    }
    std::string prefix = JoinKey(folder_, folder);
    while (prefix.ends_with('/')) prefix.pop_back();  // JoinKey() adds a slash if `folder` is ""
    if (!prefix.empty()) prefix += '/';
    return std::make_unique<ZipFolderStream>(std::move(found->zip), std::move(prefix));
  }

  [[nodiscard]] Result<uint64_t> OffsetInFile(std::string_view key) const override {
    const auto found = Find(key, max_age());
    if (!found) return Fail(found);
    if (!found->member) return Fail(ErrorCode::kNotFound, "{}: a folder, not a file", key);
    const auto offset = FindZipMember(*found->zip, *found->member);
    if (!offset) return Fail(offset.error().code, "{}: {}", key, offset.error().message);
    if (found->member->method == kZipStored) return *offset;
    return Fail(ErrorCode::kUnsupported, "{}: compressed in the zip file", key);
  }

  void CloseIdle() const override {
    inflated_->Sweep();
    container().CloseIdle();
  }

  [[nodiscard]] std::string name() const override {
    return folder_.empty() ? Place() : JoinKey(Place(), folder_);
  }

 private:
  struct Found {
    ZipFilePtr zip;
    std::optional<ZipMember> member;  // nullopt for a folder
  };

  [[nodiscard]] Result<Found> Find(std::string_view key, Age max_age) const {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a valid key", key);
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
                                            std::span<std::byte> out, Age max_age) const override {
    const auto found = Find(key, max_age);
    if (!found) return Fail(found);
    if (!found->member) return Fail(ErrorCode::kNotFound, "{}: a folder, not a file", key);
    auto answer = ReadZipMember(*found->zip, *found->member, inflated_, range, out);
    if (!answer) return Fail(answer.error().code, "{}: {}", key, answer.error().message);
    return answer;
  }

  const std::string folder_;
  const std::shared_ptr<InflatedMembers> inflated_ = std::make_shared<InflatedMembers>();
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
