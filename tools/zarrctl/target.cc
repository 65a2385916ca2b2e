#include "tools/zarrctl/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tools/zarrctl/links.h"
#include "tools/zarrctl/mount_status.h"
#include "tools/zarrctl/mounted_path.h"
#include "zarrcore/store/local_store.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

LocalStoreOptions Following(LinkPolicy links) {
  LocalStoreOptions options;
  options.links = std::move(links);
  return options;
}

bool IsGroup(const fs::path& folder) {
  const auto store = OpenLocalStore(folder.string(), Following(LinksToFollow()));
  if (!store) return false;
  const auto whole = ReadWhole(**store, kZarrJson, kMaxMetadataBytes);
  if (!whole) return (*store)->Stat(kZgroup) && !(*store)->Stat(kZarray);
  const auto metadata = ParseZarrJson(whole->bytes, kZarrJson);
  return metadata && std::holds_alternative<GroupMetadata>(*metadata);
}

// "./a//b/" as the key "a/b".
std::string ToKey(const fs::path& path) {
  std::string key;
  for (const fs::path& part : path.lexically_normal()) {
    if (!part.empty() && part != "." && part != "/") key = JoinKey(key, part.string());
  }
  return key;
}

Result<TargetNode> Open(const fs::path& folder, LinkPolicy links, HierarchyOptions options = {}) {
  auto store = OpenLocalStore(folder.string(), Following(std::move(links)));
  if (!store) return Fail(store);
  return TargetNode{folder.string(),
                    std::make_unique<Hierarchy>(std::move(*store), std::move(options), nullptr),
                    nullptr};
}

// What decides about names and bytes of the chunk files of a mount.
struct MountSettings {
  LinkPolicy links = LinksToFollow();
  HierarchyOptions hierarchy;
  std::optional<size_t> view;  // at the root
};

// The defaults for what the mount does not report.
MountSettings SettingsOf(const MountedPath& mounted) {
  MountSettings settings;
  if (mounted.point.empty()) return settings;
  const auto status = ReadMountStatus(mounted.point);
  if (!status) return settings;
  settings.view = ViewNumber(TextIn(*status, "view"));
  const std::string separator = TextIn(*status, "separator");
  if (separator.size() == 1) settings.hierarchy.forced_separator = separator[0];
  if (auto links = ParseLinkPolicy(TextIn(*status, "links"))) settings.links = std::move(*links);
  const std::string fill = TextIn(*status, "fill");
  settings.hierarchy.fill = fill == "keep"          ? FillPolicy::kKeep
                            : fill == "materialize" ? FillPolicy::kMaterialize
                                                    : FillPolicy::kAuto;
  return settings;
}

// The error without the key where that is all of the path that anyone typed.
Error Named(Error error, const fs::path& path) {
  if (error.code == ErrorCode::kNotFound) {
    error.message = fmt::format(
        "{}: no Zarr group or array (zarrctl info STORE lists those of a store)", path.string());
  }
  return error;
}

Result<TargetChunk> ChunkOf(TargetNode target, std::string_view name) {
  const Node& node = *target.node;
  const std::string path = target.FileOf(node.path);
  if (node.chunks == nullptr) {
    if (const Error* error = node.unusable()) {
      return Fail(error->code, "{}: {}", path, error->message);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "{}: a group has no chunks; name an array (zarrctl ls lists them)", path);
  }
  const ChunkGrid& grid = node.chunks->layout().inner_grid;
  const auto coordinates = ParseChunkName(name, grid);
  if (!coordinates)
    return Fail(ErrorCode::kInvalidArgument, "{}: {}", path, coordinates.error().message);
  TargetChunk chunk;
  chunk.coordinates = *coordinates;
  chunk.chunk = grid.Linear({coordinates->data(), grid.rank()});
  chunk.array = std::move(target);
  return chunk;
}

Result<TargetChunk> FindInMount(const fs::path& path, const MountedPath& mounted) {
  const MountSettings settings = SettingsOf(mounted);
  auto target = Open(mounted.store, settings.links, settings.hierarchy);
  if (!target) return Fail(target);
  // One view may be mounted at the root: then the first name is a node's.
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
  return Fail(ErrorCode::kInvalidArgument, "{}: no chunk of an array of {}", path.string(),
              mounted.store);
}

}  // namespace

std::string TargetNode::FileOf(std::string_view key) const {
  return (fs::path(folder) / key).string();
}

Result<TargetNode> FindNode(const std::string& store, const std::string& path) {
  std::error_code error;
  fs::path folder = fs::canonical(store, error);
  if (error) {
    return Fail(FromErrno(error.value()), "{}: {}{}", store, error.message(),
                error.value() == EACCES ? "; ask as a user who may read it"
                : error.value() == ENOENT
                    ? "; is the path spelled right, and what it lies on mounted?"
                    : "");
  }
  std::string key = ToKey(path);
  if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: no path below a store", path);
  const fs::path wanted = folder / key;
  while (folder.has_relative_path() && IsGroup(folder.parent_path())) {
    key = JoinKey(folder.filename().string(), key);
    folder = folder.parent_path();
  }
  if (key.ends_with('/')) key.pop_back();
  auto target = Open(folder, LinksToFollow());
  if (!target) return Fail(target);
  auto node = target->hierarchy->Get(key, kAnyAge);
  if (!node) return tl::unexpected(Named(node.error(), wanted));
  target->node = std::move(*node);
  return target;
}

Result<TargetChunk> FindChunk(const std::vector<std::string>& words) {
  std::error_code error;
  fs::path whole = words.front();
  for (size_t i = 1; i < words.size(); ++i) whole /= ToKey(words[i]);
  // As it is written, then with symbolic links resolved: another mount whose daemon hangs is asked
  // nothing if that can be avoided. A missing chunk has no file: only what is there can be
  // resolved.
  auto mounted = FindMountedPath(fs::absolute(whole, error).lexically_normal().string());
  if (!mounted) {
    const fs::path resolved = fs::weakly_canonical(whole, error);
    if (!error) mounted = FindMountedPath(resolved.string());
  }
  if (mounted) return FindInMount(whole, *mounted);

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
  if (words.size() == 1 && target->node->array() != nullptr && target->node->array()->rank() > 0) {
    const std::vector<uint64_t> first(target->node->array()->rank(), 0);
    return Fail(ErrorCode::kInvalidArgument, "{}: which chunk? Say for example {}", store,
                fmt::join(first, "."));
  }
  return ChunkOf(std::move(*target), name);
}

Result<ChunkCoordinates> ParseChunkName(std::string_view name, const ChunkGrid& grid) {
  std::string_view rest = name;
  if (rest == "c") {
    rest = "";
  } else if (rest.starts_with("c/") || rest.starts_with("c.")) {
    rest.remove_prefix(2);
  }
  const auto outside = [&] {
    return Fail(ErrorCode::kInvalidArgument, "{}: no chunk of a grid of {}", name,
                grid.rank() == 0 ? "1" : fmt::format("{}", fmt::join(grid.counts(), " x ")));
  };
  ChunkCoordinates coordinates{};
  if (grid.rank() == 0) {
    if (!rest.empty() && rest != "0") return outside();
    return coordinates;
  }
  if (grid.size() == 0) return outside();
  const size_t mark = rest.find_first_of("./");
  const char separator = mark == std::string_view::npos ? '.' : rest[mark];
  for (size_t d = 0; d < grid.rank(); ++d) {
    const bool last = d + 1 == grid.rank();
    const size_t end = last ? rest.size() : rest.find(separator);
    if (end == std::string_view::npos) return outside();
    const auto value = ParseCoordinate(rest.substr(0, end), grid.counts()[d]);
    if (!value) return outside();
    coordinates[d] = *value;
    rest.remove_prefix(last ? end : end + 1);
  }
  return coordinates;
}

}  // namespace zarrfs::ctl
