#include "zarrcore/open/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/net/fetch_client.h"
#include "zarrcore/open/unlisted_store.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

// How much longer than the fetcher its client waits: another fetcher may have to be started.
constexpr auto kFetcherStart = std::chrono::seconds(10);

// A local folder of which a layer reads one file. The file may be a symbolic link, and so lead out
// of a sandbox when it is changed, as the root of a LocalStore may.
class FolderOfFile final : public ForwardingStore {
 public:
  FolderOfFile(std::shared_ptr<const Store> store, std::function<void()> on_out_of_reach)
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

std::string_view WithoutSlashes(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

// The first name in a path that is a zip file's, and whose file exists.
std::optional<Location> FindLocalZip(const std::string& path, const Descriptor& folder) {
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    struct stat status = {};
    const auto is_file = [&] {
      return (folder ? fstatat(folder.get(), name.c_str(), &status, 0)
                     : stat(path.substr(0, end).c_str(), &status)) == 0 &&
             S_ISREG(status.st_mode);
    };
    if (IsZipName(name) && is_file()) {
      std::string above(WithoutSlashes(path.substr(0, begin)));
      if (above.empty()) above = begin == 0 ? "." : "/";
      return Location{.folder = std::move(above), .file = name, .inside = Normal(path.substr(end))};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

// A folder that is an Icechunk repository: its `repo` has the mark of Icechunk's files, or, in
// version 1, the branch main has a pointer.
std::optional<Location> FindLocalIcechunk(const std::string& path, const Descriptor& folder) {
  const Descriptor opened(folder ? fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)
                                 : open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return std::nullopt;
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Descriptor repo(openat(opened.get(), "repo", kFlags));
  std::array<char, kIcechunkHeader> begin{};
  const ssize_t length = repo ? pread(repo.get(), begin.data(), begin.size(), 0) : 0;
  struct stat status = {};
  const bool is_repository =
      (length > 0 && IsIcechunkFile({begin.data(), static_cast<size_t>(length)})) ||
      fstatat(opened.get(), "refs/branch.main/ref.json", &status, 0) == 0;
  if (!is_repository) return std::nullopt;
  return Location{.folder = path};
}

Error HasNoCommits(std::string_view name, std::string_view at) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}: not an Icechunk repository, so it has no commit for at={}", name, at)};
}

// The Icechunk repository that a store of any kind may hold.
class RepositoryIn {
 public:
  RepositoryIn(std::shared_ptr<Store> store, const SourceCommit& commit)
      : store_(std::move(store)), commit_(commit) {}

  // Whether there is one: asks the store.
  bool Look() {
    pointer_ = LookForIcechunk(*store_, commit_.at);
    return pointer_ && *pointer_;
  }
  // Where there is no store either: what is wrong with the repository, if anything is.
  [[nodiscard]] Error WhyNothing(const Error& error) const {
    return error.code == ErrorCode::kNotFound && !pointer_ ? pointer_.error() : error;
  }
  // After Look(): the store made from it, or the one that may hold it.
  Result<std::shared_ptr<Store>> Open() {
    if (pointer_ && *pointer_) {
      return OpenIcechunkStore(store_, commit_.at, **std::move(pointer_), commit_.max_age,
                               commit_.period);
    }
    if (!pointer_ && (commit_.is_given || !HasNode())) return Fail(pointer_);
    if (commit_.is_given) {
      return tl::unexpected(HasNoCommits(store_->name(), commit_.at.Text()));
    }
    return store_;
  }

 private:
  // (Some servers refuse what does not exist.)
  [[nodiscard]] bool HasNode() const {
    constexpr std::array<std::string_view, 3> kDocuments = {"zarr.json", ".zgroup", ".zarray"};
    return std::ranges::any_of(
        kDocuments, [&](std::string_view document) { return store_->Stat(document).has_value(); });
  }

  const std::shared_ptr<Store> store_;
  const SourceCommit& commit_;
  Result<std::optional<IcechunkPointer>> pointer_;
};

// The first name below the host, or bucket, that is a zip file's.
std::optional<Location> FindRemoteZip(std::string_view address, PlaceKind place) {
  for (size_t slash = address.find('/', address.find("://") + 3); slash < address.size();) {
    const size_t end = std::min(address.find('/', slash + 1), address.size());
    const std::string_view name = address.substr(slash + 1, end - slash - 1);
    if (IsZipName(name)) {
      std::string_view below = WithoutSlashes(address.substr(end));
      while (below.starts_with('/')) below.remove_prefix(1);
      // (The name of a member has no %XX of its address.)
      return Location{.folder = std::string(address.substr(0, slash)),
                      .file = std::string(name),
                      .inside = place == PlaceKind::kBucket
                                    ? std::string(below)
                                    : PercentDecode(below, /*plus_is_blank=*/false)};
    }
    slash = end;
  }
  return std::nullopt;
}

constexpr LayerKind kLayers[] = {
    {.name = "zip",
     .find =
         [](const Source& source, const Descriptor& folder) {
           return source.needs_fetcher() ? FindRemoteZip(source.text(), source.place())
                                         : FindLocalZip(source.text(), folder);
         },
     .open = [](std::shared_ptr<Store> place, const Location& location,
                const SourceCommit& commit) -> Result<std::shared_ptr<Store>> {
       auto zip = OpenZipStore(std::move(place), location.file, location.inside, commit.max_age);
       if (!zip) return zip;
       RepositoryIn repository(*std::move(zip), commit);
       (void)repository.Look();
       return repository.Open();
     }},
    {.name = "icechunk",
     .find = [](const Source& source, const Descriptor& folder) -> std::optional<Location> {
       if (source.needs_fetcher()) return std::nullopt;  // (its store is asked)
       return FindLocalIcechunk(source.text(), folder);
     },
     .open =
         [](std::shared_ptr<Store> place, const Location& /*location*/,
            const SourceCommit& commit) {
           return OpenIcechunkStore(std::move(place), commit.at, commit.max_age, commit.period);
         }},
};

Result<std::shared_ptr<Store>> OpenFolder(const Location& location, LocalStoreOptions options,
                                          Descriptor folder) {
  if (location.file.empty()) {
    return OpenLocalStore(location.folder, std::move(options), std::move(folder));
  }
  options.links = {LinkPolicy::Kind::kFollow, {}};
  options.others_read = false;
  options.watched_name = location.file;
  const auto on_out_of_reach = options.on_out_of_reach;
  auto store = OpenLocalStore(location.folder, std::move(options), std::move(folder));
  if (!store) return store;
  return std::make_shared<FolderOfFile>(*std::move(store), on_out_of_reach);
}

Result<std::shared_ptr<Store>> OpenFetched(const Location& location, PlaceKind place,
                                           SourceAccess access, const SourceCommit& commit) {
  RemoteStoreOptions shown = std::move(access.shown);
  shown.name = location.folder;
  shown.is_listed = place == PlaceKind::kBucket;
  UnlistedStoreOptions unlisted{.keys = std::nullopt, .max_probes = access.remote.list_max};
  if (!shown.is_listed && !access.remote.list_file.empty()) {
    auto keys = access.key_list != nullptr ? ReadKeyList(access.remote.list_file, *access.key_list)
                                           : ReadKeyList(access.remote.list_file);
    if (!keys) return Fail(keys);
    unlisted.keys = *std::move(keys);
    shown.some_key = unlisted.keys->front();
  }
  auto fetcher = OpenFetchClient(std::move(access.fetch_socket), *access.fetch_memory,
                                 std::chrono::seconds(access.remote.timeout) + kFetcherStart);
  if (!fetcher) return Fail(fetcher);
  if (!location.file.empty()) {
    return MakeRemoteFile(*std::move(fetcher), std::move(shown), location.file);
  }
  auto store = MakeRemoteStore(*std::move(fetcher), shown);
  if (!shown.is_listed) store = ListUnlisted(std::move(store), std::move(unlisted));
  RepositoryIn repository(store, commit);
  const auto checked = CheckRemoteStore(*store, shown, [&] { return repository.Look(); });
  if (!checked) return tl::unexpected(repository.WhyNothing(checked.error()));
  return repository.Open();
}

PlaceKind PlaceOf(std::string_view text) {
  if (text.starts_with("s3://")) return PlaceKind::kBucket;
  return IsRemote(text) ? PlaceKind::kWebServer : PlaceKind::kFolder;
}

}  // namespace

std::string Location::path() const {
  if (file.empty()) return folder;
  return folder.ends_with('/') ? folder + file : folder + "/" + file;
}

Source::Source(std::string_view text) : text_(text), place_(PlaceOf(text)) {}

Location Source::Locate(const Descriptor& folder) const {
  for (const LayerKind& kind : kLayers) {
    if (auto location = kind.find(*this, folder)) {
      location->layer = &kind;
      return *std::move(location);
    }
  }
  return {.folder = text_};
}

Result<RemoteSource> Source::Remote(const RemoteOptions& options) const {
  return ParseRemoteSource(Locate().path(), options);
}

Result<std::shared_ptr<Store>> OpenSource(const Source& source, SourceAccess access) {
  const Location location = source.Locate(access.folder);
  SourceCommit commit{.is_given = !access.at.empty(), .period = access.period};
  if (commit.is_given) {
    auto at = ParseIcechunkAt(access.at);
    if (!at) return Fail(at);
    commit.at = *std::move(at);
    if (!source.needs_fetcher() && location.layer == nullptr) {
      return tl::unexpected(HasNoCommits(source.text(), access.at));
    }
  }
  // (A local file can be asked about with each answer.)
  if (source.needs_fetcher()) {
    commit.max_age = access.shown.never_changes ? kAnyAge : access.max_age;
    // What a tag or snapshot leads to never changes, and needs no versions.
    access.shown.never_changes |= commit.is_given && !commit.at.moves();
  }
  auto place = source.needs_fetcher()
                   ? OpenFetched(location, source.place(), std::move(access), commit)
                   : OpenFolder(location, std::move(access.local), std::move(access.folder));
  if (!place || location.layer == nullptr) return place;
  return location.layer->open(*std::move(place), location, commit);
}

}  // namespace zarrfs
