#include "zarrcore/zip/source.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

// The folder of a zip file. The file may be a symbolic link, and so lead out of a sandbox when it
// is changed, as the root of a LocalStore may.
class FolderOfZip final : public ForwardingStore {
 public:
  FolderOfZip(std::shared_ptr<const Store> store, std::function<void()> on_out_of_reach)
      : ForwardingStore(std::move(store)), on_out_of_reach_(std::move(on_out_of_reach)) {}

  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    auto answer = ForwardingStore::Read(key, range, out);
    if (!answer && answer.error().code == ErrorCode::kPermissionDenied && on_out_of_reach_) {
      on_out_of_reach_();
    }
    return answer;
  }

 private:
  const std::function<void()> on_out_of_reach_;
};

// "a//b/./" as "a/b".
std::string Normal(std::string_view path) {
  std::string key;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") key = JoinKey(key, part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return key;
}

}  // namespace

bool IsZipName(std::string_view name) {
  constexpr size_t kLength = 4;
  if (name.size() <= kLength) return false;
  const std::string end(name.substr(name.size() - kLength));
  return strcasecmp(end.c_str(), ".zip") == 0 || strcasecmp(end.c_str(), ".ozx") == 0;
}

std::string SourcePlace::path() const {
  if (!is_zip()) return folder;
  return folder.ends_with('/') ? folder + zip : folder + "/" + zip;
}

SourcePlace FindSource(const std::string& source, const Descriptor& folder) {
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find('/', begin), source.size());
    const std::string name = source.substr(begin, end - begin);
    struct stat status = {};
    const auto is_file = [&] {
      return (folder ? fstatat(folder.get(), name.c_str(), &status, 0)
                     : stat(source.substr(0, end).c_str(), &status)) == 0 &&
             S_ISREG(status.st_mode);
    };
    if (IsZipName(name) && is_file()) {
      SourcePlace place{source.substr(0, begin), name, Normal(source.substr(end))};
      while (place.folder.size() > 1 && place.folder.ends_with('/')) place.folder.pop_back();
      if (place.folder.empty()) place.folder = ".";
      return place;
    }
    begin = end + 1;
  }
  return {source, "", ""};
}

Result<std::shared_ptr<Store>> OpenSource(const std::string& source, LocalStoreOptions options,
                                          Descriptor folder) {
  SourcePlace place = FindSource(source, folder);
  if (!place.is_zip()) return OpenLocalStore(source, std::move(options), std::move(folder));
  options.links = {LinkPolicy::Kind::kFollow, {}};
  options.others_read = false;
  options.watched_name = place.zip;
  const auto on_out_of_reach = options.on_out_of_reach;
  auto container = OpenLocalStore(place.folder, std::move(options), std::move(folder));
  if (!container) return Fail(container);
  return OpenZipStore(std::make_shared<FolderOfZip>(*std::move(container), on_out_of_reach),
                      std::move(place.zip), std::move(place.below));
}

}  // namespace zarrfs
