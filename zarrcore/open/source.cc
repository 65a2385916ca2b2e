#include "zarrcore/open/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "zarrcore/icechunk/all_commits.h"
#include "zarrcore/icechunk/icechunk_store.h"
#include "zarrcore/kerchunk/kerchunk_store.h"
#include "zarrcore/kerchunk/reference_set.h"
#include "zarrcore/net/fetch_client.h"
#include "zarrcore/open/recent_answers.h"
#include "zarrcore/open/recent_failures.h"
#include "zarrcore/open/unlisted_store.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/zip/zip_store.h"

namespace zarrfs {
namespace {

// How much longer than timeout= a request waits for the fetch process, which may have to be
// restarted first.
constexpr auto kFetcherStart = std::chrono::seconds(10);

// A local folder from which a layer, such as zip, reads one file. If the file is a symbolic link
// that later leads out of the sandbox, calls `on_out_of_reach`, as a LocalStore does for its root.
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

// Normalises a path: "a//b/./" becomes "a/b".
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

// Finds the first component of a path that is the name of an existing zip file.
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

// Finds a kerchunk reference set: a file whose name ends in .json.
std::optional<Location> FindReferenceSet(const Source& source, const Descriptor& folder) {
  const std::string& text = source.text();
  const size_t slash = text.rfind('/');
  const std::string name = text.substr(slash == text.npos ? 0 : slash + 1);
  if (!IsReferenceSetName(name)) return std::nullopt;
  if (source.needs_fetcher()) {
    if (slash <= text.find("://") + 2) return std::nullopt;  // `name` is the host or the bucket
    return Location{.folder = text.substr(0, slash), .file = name};
  }
  struct stat status = {};
  const bool is_file = (folder ? fstatat(folder.get(), name.c_str(), &status, 0)
                               : stat(text.c_str(), &status)) == 0 &&
                       S_ISREG(status.st_mode);
  if (!is_file) return std::nullopt;
  std::string above = slash == text.npos ? "." : std::string(WithoutSlashes(text.substr(0, slash)));
  if (above.empty()) above = "/";
  return Location{.folder = std::move(above), .file = name};
}

// Finds a kerchunk reference set in Parquet: a folder whose .zmetadata ends with "record_size", the
// number of references in each file.
std::optional<Location> FindParquetSet(const Source& source, const Descriptor& folder) {
  if (source.needs_fetcher()) return std::nullopt;
  const std::string path = folder ? ".zmetadata" : source.text() + "/.zmetadata";
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const Descriptor file(openat(folder ? folder.get() : AT_FDCWD, path.c_str(), kFlags));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) return std::nullopt;
  std::array<char, 64> end{};
  const auto begin = std::max<off_t>(0, status.st_size - static_cast<off_t>(end.size()));
  const ssize_t length = pread(file.get(), end.data(), end.size(), begin);
  const std::string_view text(end.data(), length > 0 ? static_cast<size_t>(length) : 0);
  if (text.find("\"record_size\"") == text.npos) return std::nullopt;
  return Location{.folder = source.text()};
}

// Finds an Icechunk repository in a local folder. In a repository, the file `repo` begins with
// Icechunk's magic bytes, or, in version 1, the branch main has a ref.
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

Error HasNoCommits(std::string_view name, const SourceCommit& commit) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}: not an Icechunk repository, so it has no commit for at={}", name,
                      commit.is_all ? std::string(kAllOfIcechunk) : commit.at.Text())};
}

// Looks for an Icechunk repository in a store, and opens it.
class RepositoryIn {
 public:
  RepositoryIn(std::shared_ptr<Store> store, const SourceCommit& commit)
      : store_(std::move(store)), commit_(commit) {}

  // Returns true if the store contains a repository. Must be called before the other functions.
  bool Look() {
    pointer_ = LookForIcechunk(*store_, commit_.at);
    return pointer_ && *pointer_;
  }
  // Returns the error to report for a store that cannot be opened: the error of Look() if Look()
  // failed and `error` is kNotFound; otherwise `error`.
  [[nodiscard]] Error WhyNothing(const Error& error) const {
    return error.code == ErrorCode::kNotFound && !pointer_ ? pointer_.error() : error;
  }
  // Opens the repository. Returns the store itself if it contains no repository.
  Result<std::shared_ptr<Store>> Open() {
    if (pointer_ && *pointer_) {
      const auto container = WithNewAnswers(store_);
      if (commit_.is_all) {
        return OpenAllOfIcechunk(container, commit_.period, commit_.virtual_chunks);
      }
      return OpenIcechunkStore(container, commit_.at, **std::move(pointer_), commit_.max_age,
                               commit_.period, commit_.virtual_chunks);
    }
    if (!pointer_ && (commit_.is_given || !HasNode())) return Fail(pointer_);
    if (commit_.is_given) {
      return tl::unexpected(HasNoCommits(store_->name(), commit_));
    }
    return store_;
  }

 private:
  // Some servers return an error for a missing object, so only a document proves that a store is
  // not a repository.
  [[nodiscard]] bool HasNode() const {
    constexpr std::array<std::string_view, 3> kDocuments = {"zarr.json", ".zgroup", ".zarray"};
    return std::ranges::any_of(
        kDocuments, [&](std::string_view document) { return store_->Stat(document).has_value(); });
  }

  const std::shared_ptr<Store> store_;
  const SourceCommit& commit_;
  Result<std::optional<IcechunkPointer>> pointer_;
};

// Finds the first component of an address, after the host or bucket, that is the name of a zip
// file.
std::optional<Location> FindRemoteZip(std::string_view address, PlaceKind place) {
  for (size_t slash = address.find('/', address.find("://") + 3); slash < address.size();) {
    const size_t end = std::min(address.find('/', slash + 1), address.size());
    const std::string_view name = address.substr(slash + 1, end - slash - 1);
    if (IsZipName(name)) {
      std::string_view below = WithoutSlashes(address.substr(end));
      while (below.starts_with('/')) below.remove_prefix(1);
      // An address on a web server is percent-encoded, but the names in a zip file are not.
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
     .open = [](const std::shared_ptr<Store>& place, const Location& location,
                const SourceCommit& commit) -> Result<std::shared_ptr<Store>> {
       auto zip = OpenZipStore(place, location.file, location.inside, commit.max_age);
       if (!zip) return zip;
       RepositoryIn repository(*std::move(zip), commit);
       (void)repository.Look();
       return repository.Open();
     }},
    {.name = "kerchunk",
     .find = FindReferenceSet,
     .open = [](const std::shared_ptr<Store>& place, const Location& location,
                const SourceCommit& commit) -> Result<std::shared_ptr<Store>> {
       if (commit.is_given) {
         return tl::unexpected(HasNoCommits(location.path(), commit));
       }
       return OpenKerchunkStore(place, location.file, commit.virtual_chunks, commit.max_age);
     }},
    {.name = "kerchunk in Parquet",
     .find = FindParquetSet,
     .open = [](const std::shared_ptr<Store>& place, const Location& /*location*/,
                const SourceCommit& /*commit*/) -> Result<std::shared_ptr<Store>> {
       return Fail(ErrorCode::kUnsupported, "{}: a kerchunk set in Parquet; convert it first: {}",
                   place->name(), kExpandReferenceSet);
     }},
    {.name = "icechunk",
     .find = [](const Source& source, const Descriptor& folder) -> std::optional<Location> {
       // OpenFetched() looks for a repository in remote stores after opening them.
       if (source.needs_fetcher()) return std::nullopt;
       return FindLocalIcechunk(source.text(), folder);
     },
     .open =
         [](const std::shared_ptr<Store>& place, const Location& /*location*/,
            const SourceCommit& commit) {
           if (commit.is_all) {
             return OpenAllOfIcechunk(place, commit.period, commit.virtual_chunks);
           }
           return OpenIcechunkStore(place, commit.at, commit.max_age, commit.period,
                                    commit.virtual_chunks);
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
                                           SourceAccess access, const FetchClient& client,
                                           const SourceCommit& commit) {
  RemoteStoreOptions shown = std::move(access.shown);
  shown.name = location.folder;
  shown.is_listed = place == PlaceKind::kBucket && access.remote.list_file.empty();
  UnlistedStoreOptions unlisted{.keys = std::nullopt, .max_probes = access.remote.list_max};
  if (!access.remote.list_file.empty()) {
    auto keys = access.key_list != nullptr ? ReadKeyList(access.remote.list_file, *access.key_list)
                                           : ReadKeyList(access.remote.list_file);
    if (!keys) return Fail(keys);
    unlisted.keys = *std::move(keys);
    shown.some_key = unlisted.keys->front();
  }
  const auto fetcher = client.FetcherOf(0);
  if (!location.file.empty()) {
    return RememberFailures(MakeRemoteFile(fetcher, std::move(shown), location.file));
  }
  const auto open = [&]() -> Result<std::shared_ptr<Store>> {
    auto store = RememberAnswers(RememberFailures(MakeRemoteStore(fetcher, shown)), shown.is_listed,
                                 access.remote.disk_cache.empty());
    if (!shown.is_listed) store = ListUnlisted(std::move(store), unlisted);
    RepositoryIn repository(store, commit);
    const auto checked = CheckRemoteStore(*store, shown, [&] { return repository.Look(); });
    if (!checked) return tl::unexpected(repository.WhyNothing(checked.error()));
    return repository.Open();
  };
  auto store = open();
  if (store || !shown.is_listed || store.error().code != ErrorCode::kPermissionDenied) return store;
  // A bucket whose objects may be read but not listed is treated like a web server.
  shown.is_listed = false;
  auto without_listings = open();
  return without_listings ? std::move(without_listings) : std::move(store);
}

// Opens the stores from which virtual chunks may be read (access.virtual_prefixes). `client`: null
// if all of the prefixes are local.
std::shared_ptr<const IcechunkVirtualChunks> OpenVirtualChunks(const SourceAccess& access,
                                                               const FetchClient* client) {
  if (access.virtual_prefixes.empty()) return nullptr;
  std::vector<std::shared_ptr<const Store>> networked;
  for (const VirtualPrefix& prefix : access.virtual_prefixes) {
    if (prefix.is_local()) continue;
    RemoteStoreOptions shown = access.shown;
    shown.name = prefix.Text();
    shown.is_listed = prefix.scheme == VirtualScheme::kS3;
    const auto number = static_cast<uint32_t>(networked.size() + 1);
    networked.push_back(MakeRemoteStore(client->FetcherOf(number), std::move(shown)));
  }
  return std::make_shared<IcechunkVirtualChunks>(
      access.virtual_prefixes, access.local, networked,
      access.shown.never_changes ? kAnyAge : access.max_age);
}

PlaceKind PlaceOf(std::string_view text) {
  if (IsBucket(text)) return PlaceKind::kBucket;
  return IsRemote(text) ? PlaceKind::kWebServer : PlaceKind::kFolder;
}

}  // namespace

std::string Location::path() const {
  if (file.empty()) return folder;
  return folder.ends_with('/') ? folder + file : folder + "/" + file;
}

std::string NameOfStore(std::string_view source) {
  std::string_view name = NameOf(WithoutSlashes(source));
  for (const std::string_view end : {".zip", ".ozx", ".json", ".zarr", ".icechunk"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.remove_suffix(end.size());
  }
  return std::string(name);
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

Result<std::optional<RemoteSource>> Source::Fetched(const RemoteOptions& options,
                                                    std::span<const VirtualPrefix> prefixes) const {
  if (!NeedsFetcher(*this, prefixes)) return std::nullopt;
  auto fetched = ParseRemoteSource(Locate().path(), options, prefixes);
  if (!fetched) return Fail(fetched);
  return *std::move(fetched);
}

bool NeedsFetcher(const Source& source, std::span<const VirtualPrefix> prefixes) {
  return source.needs_fetcher() || !std::ranges::all_of(prefixes, &VirtualPrefix::is_local);
}

namespace {

// How long the fetcher may take to answer. With bandwidth=, a request may wait for the data of all
// other concurrent requests.
std::chrono::seconds LongestAnswer(const RemoteOptions& options) {
  const std::chrono::seconds timeout = std::chrono::seconds(options.timeout) + kFetcherStart;
  if (options.bandwidth == 0) return timeout;
  return timeout +
         std::chrono::seconds(2 * options.connections * kMaxFetchBytes / options.bandwidth);
}

}  // namespace

Result<std::shared_ptr<Store>> OpenSource(const Source& source, SourceAccess access) {
  const Location location = source.Locate(access.folder);
  SourceCommit commit{.is_given = !access.at.empty(), .period = access.period};
  if (commit.is_given) {
    commit.is_all = access.at == kAllOfIcechunk;
    auto at = commit.is_all ? IcechunkAt() : ParseIcechunkAt(access.at);
    if (!at) return Fail(at);
    commit.at = *std::move(at);
    if (!source.needs_fetcher() && location.layer == nullptr) {
      return tl::unexpected(HasNoCommits(source.text(), commit));
    }
  }
  std::shared_ptr<const FetchClient> client;
  if (NeedsFetcher(source, access.virtual_prefixes)) {
    auto opened = OpenFetchClient(std::move(access.fetch_socket), *access.fetch_memory,
                                  LongestAnswer(access.remote), std::move(access.on_notice));
    if (!opened) return Fail(opened);
    client = *std::move(opened);
  }
  commit.virtual_chunks = OpenVirtualChunks(access, client.get());
  // commit.max_age stays 0 for local files: a layer checks for changes of its file on each access.
  // A file on a server is checked less often.
  if (source.needs_fetcher()) {
    commit.max_age = access.shown.never_changes ? kAnyAge : access.max_age;
    // The objects of a tag or snapshot never change, so servers need not send their versions.
    access.shown.never_changes |= commit.is_given && !commit.at.moves();
  }
  auto place = source.needs_fetcher()
                   ? OpenFetched(location, source.place(), std::move(access), *client, commit)
                   : OpenFolder(location, std::move(access.local), std::move(access.folder));
  if (!place || location.layer == nullptr) return place;
  return location.layer->open(*place, location, commit);
}

Result<VirtualFolders> VirtualFoldersOf(const Store& store) {
  auto folders = KerchunkVirtualFoldersOf(store);
  return folders && folders->prefixes.empty() && folders->is_all ? IcechunkVirtualFoldersOf(store)
                                                                 : folders;
}

}  // namespace zarrfs
