#include "tools/zarrctl/target.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/zarrctl/mount_status.h"
#include "zarrcore/base/option_list.h"
#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/icechunk/all_commits.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/metadata/consolidated_member.h"
#include "zarrcore/net/cache_address.h"
#include "zarrcore/net/fetcher_process.h"
#include "zarrcore/net/virtual_file.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

// Returns the policy for symbolic links. The default is the same as for a mount by this user. If
// the user is root, only links inside the store are followed, because a mount by root is open to
// other users, who must not follow links out of the store.
LinkPolicy& LinksToFollow() {
  static LinkPolicy links{geteuid() == 0 ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow,
                          {}};
  return links;
}

// The commit of an Icechunk repository to read, and the locations from which its virtual chunks may
// be read.
struct CommitToRead {
  std::string at;
  std::vector<VirtualPrefix> prefixes;
};
CommitToRead& TheCommit() {
  static CommitToRead commit;
  return commit;
}

// The fetch process, and the channel and options with which this process uses it.
struct Connection {
  RemoteOptions options;
  FetchChannel channel;
  FetcherProcess process;
};
// The connection is never destroyed: its destructor would kill the fetch process, which is
// forbidden once this process is sandboxed. The fetch process ends with this process.
std::optional<Connection>& TheConnection() {
  static auto* const connection = new std::optional<Connection>;
  return *connection;
}

bool IsGroup(const fs::path& folder) {
  const auto store = OpenSource(Source(folder.string()), {.local = {.links = LinksToFollow()}});
  if (!store) return false;
  auto whole = ReadWhole(**store, kZarrJson, kMaxConsolidatedBytes);
  if (!whole) return (*store)->Stat(kZgroup) && !(*store)->Stat(kZarray);
  EraseConsolidated(whole->bytes);
  const auto metadata = ParseZarrJson(whole->bytes, kZarrJson);
  return metadata && std::holds_alternative<GroupMetadata>(*metadata);
}

// Converts a path to a key: "./a//b/" becomes "a/b".
std::string ToKey(const fs::path& path) {
  std::string key;
  for (const fs::path& part : path.lexically_normal()) {
    if (!part.empty() && part != "." && part != "/") key = JoinKey(key, part.string());
  }
  return key;
}

Result<TargetNode> Open(const Source& source, LinkPolicy links, CommitToRead commit,
                        HierarchyOptions options = {}) {
  SourceAccess access{.local = {.links = std::move(links)},
                      .shown = {.never_changes = false, .uid = geteuid(), .gid = getegid()}};
  if (NeedsFetcher(source, commit.prefixes)) {
    const auto& connection = TheConnection();
    if (!connection) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the store or its virtual chunks are in a bucket or on a web server; name "
                  "its address, "
                  "with its options after -o",
                  source.text());
    }
    const FetchChannel& channel = connection->channel;
    access.remote = connection->options;
    access.fetch_socket = Descriptor(fcntl(channel.client.get(), F_DUPFD_CLOEXEC, 0));
    access.fetch_memory = &channel.memory;
  }
  access.at = std::move(commit.at);
  access.virtual_prefixes = std::move(commit.prefixes);
  auto store = OpenSource(source, std::move(access));
  if (!store) return Fail(store);
  return TargetNode{
      source, std::make_unique<Hierarchy>(*std::move(store), std::move(options), nullptr), nullptr};
}

// The settings of a mount that determine the names and bytes of its chunk files.
struct MountSettings {
  LinkPolicy links = LinksToFollow();
  CommitToRead commit;
  HierarchyOptions hierarchy;
  std::optional<size_t> view;  // set if the mount shows a single view, at its root
};

// Reads the settings of a mount. Settings that the mount does not report get their defaults.
MountSettings SettingsOf(const MountedPath& mounted) {
  MountSettings settings;
  if (mounted.point.empty()) return settings;
  const auto status = ReadMountStatus(mounted.point);
  if (!status) return settings;
  settings.view = ViewNumber(TextIn(*status, "view"));
  std::string options = TextIn(*status, "options");
  settings.commit = {TakeCommit(options).value_or(""),
                     TakeVirtualPrefixes(options).value_or(std::vector<VirtualPrefix>())};
  const std::string separator = TextIn(*status, "separator");
  if (separator.size() == 1) settings.hierarchy.forced_separator = separator[0];
  if (auto links = ParseLinkPolicy(TextIn(*status, "links"))) settings.links = std::move(*links);
  const std::string fill = TextIn(*status, "fill");
  settings.hierarchy.fill = fill == "keep"          ? FillPolicy::kKeep
                            : fill == "materialize" ? FillPolicy::kMaterialize
                                                    : FillPolicy::kAuto;
  settings.hierarchy.keeps_ome = TextIn(*status, "ome") == "keep";
  settings.hierarchy.compressors =
      ParseCompressors(TextIn(*status, "compressors")).value_or(kAllCompressors);
  const std::string nc = TextIn(*status, "nc");
  settings.hierarchy.netcdf = nc == "2"   ? NetcdfFormat::kCdf2
                              : nc == "5" ? NetcdfFormat::kCdf5
                                          : NetcdfFormat::kAuto;
  return settings;
}

std::optional<std::vector<uint64_t>> ParseChunkName(std::string_view name, const ChunkGrid& grid) {
  if (name.starts_with("c/") || name.starts_with("c.")) {
    name.remove_prefix(2);
  } else if (name == "c") {
    name = "";
  }
  if (name.empty() && grid.rank() == 0) name = "0";
  ChunkCoordinates at;
  for (const char separator : {'.', '/'}) {
    if (ChunkNaming{false, separator}.ParsePath(grid.counts(), name, at)) {
      return std::vector(at.data(), at.data() + grid.rank());
    }
  }
  return std::nullopt;
}

Result<TargetChunk> ChunkOf(TargetNode target, std::string_view name) {
  const Node& node = *target.node;
  if (node.chunks == nullptr) return tl::unexpected(target.WhyNoChunks());
  const ChunkGrid& grid = node.chunks->layout().inner_grid;
  auto at = ParseChunkName(name, grid);
  if (at) return TargetChunk{std::move(target), std::move(*at)};
  const std::string path = target.FileOf(node.path);
  const std::vector<uint64_t> first(std::max<size_t>(grid.rank(), 1), 0);
  if (std::ranges::find(grid.counts(), 0U) != grid.counts().end()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: an array without elements has no chunks", path);
  }
  if (name.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "{}: which chunk? For example: {}", path,
                fmt::join(first, "."));
  }
  std::vector<uint64_t> last = first;
  for (size_t axis = 0; axis < grid.rank(); ++axis) last[axis] = grid.counts()[axis] - 1;
  return Fail(ErrorCode::kInvalidArgument, "{}: no chunk {}: chunks go from {} to {}", path, name,
              fmt::join(first, "."), fmt::join(last, "."));
}

fs::path PathIn(const std::vector<std::string>& words) {
  fs::path whole = words.front();
  for (size_t i = 1; i < words.size(); ++i) whole /= ToKey(words[i]);
  return whole;
}

// Returns the mount that contains `path`. First tries the path as the user wrote it, because
// resolving symbolic links may send requests to another mount whose daemon hangs. Moreover, only
// existing paths can be resolved, and a missing chunk has no file.
std::optional<MountedPath> MountOf(const fs::path& path) {
  std::error_code error;
  auto mounted = FindMountedPath(fs::absolute(path, error).lexically_normal().string());
  if (mounted) return mounted;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return error ? std::nullopt : FindMountedPath(resolved.string());
}

Result<TargetChunk> FindInMount(const fs::path& path, const MountedPath& mounted) {
  const MountSettings settings = SettingsOf(mounted);
  auto target = Open(Source(mounted.store), settings.links, settings.commit, settings.hierarchy);
  if (!target) return Fail(target);
  // If the mount shows a single view at its root, the first name is that of a node instead of a
  // view.
  std::vector<std::string> names;
  for (const fs::path& part : fs::path(mounted.relative)) names.push_back(part.string());
  std::optional<size_t> view;
  if (!names.empty()) view = ViewNumber(names.front());
  for (const bool below_view : {true, false}) {
    if (below_view && !view) continue;
    std::string key;
    for (size_t i = below_view ? 1 : 0; i <= names.size(); ++i) {
      auto node = target->hierarchy->Get(key, kAnyAge);
      if (!node) break;
      if ((*node)->group() == nullptr) {
        target->node = *node;
        const std::string rest = fmt::format(
            "{}", fmt::join(names.begin() + static_cast<ptrdiff_t>(i), names.end(), "/"));
        if (rest.empty()) break;
        auto chunk = ChunkOf(std::move(*target), rest);
        if (!chunk) return Fail(chunk.error().code, "{}: {}", path.string(), chunk.error().message);
        chunk->view = below_view ? view : settings.view;
        std::error_code ignored;
        chunk->file = fs::absolute(path, ignored).string();
        return chunk;
      }
      if (i < names.size()) key = JoinKey(key, names[i]);
    }
  }
  return Fail(ErrorCode::kInvalidArgument, "{}: not a chunk of an array in {}", path.string(),
              mounted.store);
}

}  // namespace

void SetLinksToFollow(LinkPolicy policy) { LinksToFollow() = std::move(policy); }

Result<std::string> TakeCommit(std::string& options) {
  constexpr std::string_view kName = "at=";
  for (size_t begin = 0; begin < options.size();) {
    const size_t end = std::min(options.find(',', begin), options.size());
    const std::string word = options.substr(begin, end - begin);
    if (word.starts_with(kName)) {
      options.erase(begin > 0 ? begin - 1 : 0,
                    word.size() + (options.size() > word.size() ? 1 : 0));
      const std::string at = word.substr(kName.size());
      if (at == kAllOfIcechunk) return at;
      if (const auto parsed = ParseIcechunkAt(at); !parsed) return Fail(parsed);
      return at;
    }
    begin = end + 1;
  }
  return std::string();
}

Result<std::vector<VirtualPrefix>> TakeVirtualPrefixes(std::string& options) {
  constexpr std::string_view kName = "virtual=";
  constexpr std::string_view kFileName = "virtual_file=";
  std::vector<VirtualPrefix> prefixes;
  std::string others;
  std::string file;
  for (const std::string& word : SplitOptions(options)) {
    if (word.starts_with(kFileName)) {
      file = word.substr(kFileName.size());
    } else if (word.starts_with(kName)) {
      const auto added = AddVirtualPrefix(std::string_view(word).substr(kName.size()), prefixes);
      if (!added) return Fail(added.error().code, "virtual={}", added.error().message);
    } else {
      others += (others.empty() ? "" : ",") + EscapeOption(word);
    }
  }
  options = std::move(others);
  if (file.empty()) return prefixes;
  const auto text = ReadVirtualFile(file);
  if (!text) return Fail(text);
  const auto added = AddVirtualFile(*text, file, prefixes);
  return added ? std::move(prefixes) : Result<std::vector<VirtualPrefix>>(Fail(added));
}

void SetCommit(std::string at, std::vector<VirtualPrefix> prefixes) {
  TheCommit() = {std::move(at), std::move(prefixes)};
}

namespace {

Result<void> Connect(const Source& store, const RemoteOptions& options,
                     const std::vector<VirtualPrefix>& prefixes) {
  if (store.is_address() && !store.needs_fetcher()) return Fail(store.Remote(options));
  const auto source = store.Fetched(options, prefixes);
  if (!source) return Fail(source);
  if (!*source) return {};
  if (auto checked = CheckCaches(**source); !checked) return checked;
  if (auto prepared = PrepareCacheFolder(options.disk_cache); !prepared) return prepared;
  auto channel = FetchChannel::Make();
  if (!channel) return Fail(channel);
  auto process = FetcherProcess::Start(**source, *channel);
  if (!process) return Fail(process);
  ForgetSecrets();
  TheConnection().emplace(Connection{options, *std::move(channel), *std::move(process)});
  return {};
}

}  // namespace

Result<void> ConnectTo(const Source& store, const RemoteOptions& options) {
  return Connect(store, options, TheCommit().prefixes);
}

Result<void> ConnectToStoreOf(const std::vector<std::string>& words, const RemoteOptions& given) {
  const auto mounted = MountOf(PathIn(words));
  if (!mounted) return ConnectTo(Source(words.front()), given);
  const Source store(mounted->store);
  if (mounted->point.empty()) return Connect(store, {}, {});
  const auto status = ReadMountStatus(mounted->point);
  if (!status && !store.needs_fetcher()) return {};
  if (!status) return Fail(status);
  std::string text = TextIn(*status, "options");
  const auto options = ParseRemoteOptions(text, /*may_have_others=*/true);
  if (!options) return Fail(options);
  const auto prefixes = TakeVirtualPrefixes(text);
  if (!prefixes) return Fail(prefixes);
  return Connect(store, *options, *prefixes);
}

std::string TargetNode::ContainerFile() const {
  const Location location = source.Locate();
  return location.file.empty() ? "" : location.path();
}

std::string TargetNode::FileOf(std::string_view key) const {
  return (fs::path(source.text()) / key).string();
}

Error TargetNode::WhyNoChunks() const {
  const std::string path = FileOf(node->path);
  if (const Error* error = node->unusable()) {
    return {error->code, fmt::format("{}: {}", path, error->message)};
  }
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}: a group has no chunks; name an array (zarrctl ls lists them)", path)};
}

Error TargetChunk::NotStored() const {
  return {ErrorCode::kInvalidArgument,
          fmt::format("chunk {} is not stored: every element is the fill value (it would be in {})",
                      name(), ObjectFile())};
}

namespace {

Result<TargetNode> FindIn(Result<TargetNode> target, const std::string& key,
                          const std::string& wanted) {
  if (!target) return target;
  auto node = target->hierarchy->Get(key, kAnyAge);
  // The error names the path that the user wrote, not the key.
  if (!node && node.error().code == ErrorCode::kNotFound) {
    if (key.empty()) {
      return Fail(ErrorCode::kNotFound,
                  "{}: not a Zarr store: no zarr.json, .zgroup or .zarray in or below it",
                  target->source.text());
    }
    return Fail(ErrorCode::kNotFound,
                "{}: no such Zarr group or array (zarrctl info STORE lists those of a store)",
                wanted);
  }
  if (!node) return Fail(node);
  target->node = std::move(*node);
  return target;
}

}  // namespace

Result<TargetNode> FindNode(const std::string& store, const std::string& path,
                            HierarchyOptions options) {
  const Source source(store);
  if (source.needs_fetcher()) {
    std::string address = store;
    while (address.ends_with('/')) address.pop_back();
    const std::string key = ToKey(path);
    return FindIn(Open(Source(address), LinksToFollow(), TheCommit(), std::move(options)), key,
                  JoinKey(address, key));
  }
  std::error_code error;
  const Location place = source.Locate();
  fs::path folder = fs::canonical(place.folder, error);
  if (error) {
    return Fail(FromErrno(error.value()), "{}: {}{}", store, error.message(),
                error.value() == EACCES ? "; ask as a user who may read it"
                : error.value() == ENOENT
                    ? "; check the spelling, and whether its file system is mounted"
                    : "");
  }
  std::string key = ToKey(path);
  if (!IsValidKey(key))
    return Fail(ErrorCode::kInvalidArgument, "{}: not a path inside a store", path);
  if (!place.file.empty()) folder /= place.file;
  const fs::path top = place.layer != nullptr ? folder : fs::path();
  if (!place.inside.empty()) folder /= place.inside;
  const fs::path wanted = folder / key;
  while (folder.has_relative_path() && folder != top && IsGroup(folder.parent_path())) {
    key = JoinKey(folder.filename().string(), key);
    folder = folder.parent_path();
  }
  if (key.ends_with('/')) key.pop_back();
  return FindIn(Open(Source(folder.string()), LinksToFollow(), TheCommit(), std::move(options)),
                key, wanted.string());
}

Result<TargetChunk> FindChunk(const std::vector<std::string>& words) {
  if (!Source(words.front()).needs_fetcher()) {
    const fs::path whole = PathIn(words);
    if (const auto mounted = MountOf(whole)) return FindInMount(whole, *mounted);
  }

  const std::string& store = words.front();
  std::string path;
  std::string name;
  if (words.size() == 3) path = words[1];
  if (words.size() > 1) name = words.back();
  auto target = FindNode(store, path);
  if (!target) {
    if (words.size() == 1 && target.error().code == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{}: neither an array of a store nor a file below a zarrfs mount", store);
    }
    return Fail(target);
  }
  if (words.size() == 2 && target->node->group() != nullptr) {
    // Perhaps the words are STORE ARRAY, without a chunk.
    auto array = FindNode(store, name);
    if (array && array->node->group() == nullptr) return ChunkOf(*std::move(array), "");
  }
  return ChunkOf(std::move(*target), name);
}

}  // namespace zarrfs::ctl
