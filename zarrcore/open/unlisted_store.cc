#include "zarrcore/open/unlisted_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/array/object_naming.h"
#include "zarrcore/base/at_once.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/metadata/ome_paths.h"
#include "zarrcore/metadata/v2_metadata.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxListFile = 256u << 20;
// Folder after folder of an array is listed: the answers for one serve the others.
constexpr int64_t kProbesHoldNs = 1'000'000'000;
// What a group of OME-Zarr says holds for longer than that a group says nothing.
constexpr int64_t kSaidHoldsNs = 10'000'000'000;
constexpr size_t kMaxSaid = 4096;    // groups whose answers are kept
constexpr size_t kMaxSeries = 4096;  // images of a collection that says no names
constexpr int kGroupsAbove = 2;      // that may name a folder: a plate its rows
// What the root's consolidated metadata say is kept under this path, which no node has.
constexpr const char* kOfRoot = "//";

// The names directly below `folder` among sorted keys; nullopt if there is no key below it.
std::optional<std::vector<ListEntry>> NamesIn(const KeyList& keys, std::string_view folder) {
  const std::string prefix = folder.empty() ? "" : std::string(folder) + '/';
  std::vector<ListEntry> names;
  auto key = std::ranges::lower_bound(keys, prefix);
  for (; key != keys.end() && key->starts_with(prefix);) {
    const std::string_view rest = std::string_view(*key).substr(prefix.size());
    const size_t slash = rest.find('/');
    names.push_back({.name = std::string(rest.substr(0, slash)), .is_folder = slash != rest.npos});
    if (slash == rest.npos) {
      ++key;
    } else {
      // Past everything in that folder: '0' comes after '/'.
      key = std::lower_bound(key, keys.end(), prefix + names.back().name + '0');
    }
  }
  if (names.empty()) return std::nullopt;
  return names;
}

// Whether it is no name of a document, which are asked for most.
bool MayBeFolder(std::string_view key) {
  const std::string_view name = NameOf(key);
  return !name.starts_with('.') && name != "zarr.json";
}

// The document of this name, or null if there is none, or it is none of JSON.
Result<Json> ReadJson(const Store& store, const std::string& key) {
  const auto text = ReadWhole(store, key, kMaxMetadataBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return Json();
  if (!text) return Fail(text);
  auto json = ParseJson(text->bytes, key);
  return json ? *std::move(json) : Json();
}

class NamesStream final : public FolderStream {
 public:
  explicit NamesStream(std::vector<ListEntry> names) : names_(std::move(names)) {}
  Result<std::vector<ListEntry>> Next(size_t count) override {
    const size_t end = std::min(names_.size(), at_ + count);
    std::vector<ListEntry> next(names_.begin() + static_cast<ptrdiff_t>(at_),
                                names_.begin() + static_cast<ptrdiff_t>(end));
    at_ = end;
    return next;
  }

 private:
  const std::vector<ListEntry> names_;
  size_t at_ = 0;
};

class UnlistedStore final : public ForwardingStore {
 public:
  UnlistedStore(std::shared_ptr<Store> store, UnlistedStoreOptions options)
      : ForwardingStore(std::move(store)), options_(std::move(options)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override;
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override;

 private:
  // An array that holds a folder.
  struct Array {
    std::string path;
    ArrayMetadata metadata;
  };
  using KnownKeys = Result<std::shared_ptr<const KeyList>>;
  using Ask = std::function<KnownKeys()>;
  struct Probed {
    int64_t at_ns = 0;
    KnownKeys keys;
  };

  [[nodiscard]] tl::unexpected<Error> CannotList(std::string_view folder) const;
  // Documents that consolidated metadata say there are; null if there are none of these.
  [[nodiscard]] Result<std::shared_ptr<const KeyList>> Consolidated() const;
  // Keys of documents in the group `path`, and of those of the nodes that its OME-Zarr names; null
  // if it names none.
  [[nodiscard]] KnownKeys AskGroup(const std::string& path) const;
  struct GroupText {
    std::string_view document;  // that makes it a group
    Json attributes;
  };
  // No attributes if there is no such group.
  [[nodiscard]] Result<GroupText> ReadGroup(const std::string& path) const;
  // The images of a collection of bioformats2raw, whose groups have such a document.
  [[nodiscard]] Result<std::vector<std::string>> SeriesOf(const std::string& path,
                                                          std::string_view document) const;
  // The answer of `ask` about `path`, which is kept for some seconds.
  [[nodiscard]] KnownKeys Kept(const std::string& path, const Ask& ask) const;
  // Those in or below a folder, as the root's consolidated metadata or OME-Zarr have them.
  [[nodiscard]] Result<std::optional<std::vector<ListEntry>>> KnownIn(
      std::string_view folder) const;
  // nullopt if the folder lies in none.
  [[nodiscard]] Result<std::optional<Array>> FindArray(std::string_view folder) const;
  [[nodiscard]] Result<std::optional<ArrayMetadata>> ReadArray(const std::string& path) const;
  // The objects of an array, and its documents.
  [[nodiscard]] Result<std::shared_ptr<const KeyList>> Probe(const Array& array,
                                                             std::string_view folder) const;
  // The keys of an array that exist: its documents, and objects of its grid.
  [[nodiscard]] Result<KeyList> ExistingOf(const Array& array, const ChunkGrid& grid) const;
  // Those of `keys` that exist.
  [[nodiscard]] Result<KeyList> Existing(std::span<const std::string> keys) const;
  [[nodiscard]] Result<bool> Exists(const std::string& key) const;

  const UnlistedStoreOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Probed> probed_;  // by path of the array
  mutable std::mutex said_mutex_;
  mutable std::map<std::string, Probed> said_;  // by path of the group
};

tl::unexpected<Error> UnlistedStore::CannotList(std::string_view folder) const {
  return Fail(ErrorCode::kUnsupported,
              "{}: a web server does not list its folders: consolidated metadata would name the "
              "nodes; list=FILE names a file of all keys",
              folder.empty() ? name() : folder);
}

Result<bool> UnlistedStore::Exists(const std::string& key) const {
  std::array<std::byte, 1> first;
  const auto read = ForwardingStore::Read(key, ByteRange::At(0, 1), first);
  if (read) return true;
  if (read.error().code == ErrorCode::kNotFound) return false;
  return Fail(read);
}

Result<ObjectInfo> UnlistedStore::Stat(std::string_view key) const {
  auto info = ForwardingStore::Stat(key);
  if (info || info.error().code != ErrorCode::kNotFound || !MayBeFolder(key)) return info;
  auto names = Result<std::optional<std::vector<ListEntry>>>(std::nullopt);
  if (options_.keys) {
    names = NamesIn(*options_.keys, key);
  } else {
    names = KnownIn(key);
  }
  if (!names) return Fail(names);
  if (!*names) return info;
  ObjectInfo folder;
  folder.is_folder = true;
  folder.mode = 0555;
  return folder;
}

Result<std::shared_ptr<const KeyList>> UnlistedStore::Consolidated() const {
  std::set<std::string> keys;
  const auto v3 = ReadWhole(*this, "zarr.json", kMaxMetadataBytes);
  if (!v3 && v3.error().code != ErrorCode::kNotFound) return Fail(v3);
  if (v3) {
    const auto json = ParseJson(v3->bytes, "zarr.json");
    if (!json) return Fail(json);
    const auto consolidated = json->find("consolidated_metadata");
    if (consolidated == json->end() || !consolidated->is_object()) return nullptr;
    const auto nodes = consolidated->find("metadata");
    if (nodes == consolidated->end() || !nodes->is_object()) return nullptr;
    keys.insert("zarr.json");
    for (const auto& [path, node] : nodes->items()) keys.insert(JoinKey(path, "zarr.json"));
  } else {
    const auto v2 = ReadWhole(*this, ".zmetadata", kMaxMetadataBytes);
    if (!v2 && v2.error().code == ErrorCode::kNotFound) return nullptr;
    if (!v2) return Fail(v2);
    const auto json = ParseJson(v2->bytes, ".zmetadata");
    if (!json) return Fail(json);
    const auto documents = json->find("metadata");
    if (documents == json->end() || !documents->is_object()) return nullptr;
    keys.insert(".zmetadata");
    for (const auto& [key, document] : documents->items()) keys.insert(key);
  }
  std::erase_if(keys, [](const std::string& key) { return !IsValidKey(key); });
  return std::make_shared<const KeyList>(keys.begin(), keys.end());
}

Result<UnlistedStore::GroupText> UnlistedStore::ReadGroup(const std::string& path) const {
  auto v3 = ReadJson(*this, JoinKey(path, "zarr.json"));
  if (!v3) return Fail(v3);
  if (!v3->is_null()) return GroupText{"zarr.json", MemberOrNull(*v3, "attributes")};
  auto v2 = ReadJson(*this, JoinKey(path, ".zattrs"));
  if (!v2) return Fail(v2);
  return GroupText{".zgroup", *std::move(v2)};
}

Result<std::vector<std::string>> UnlistedStore::SeriesOf(const std::string& path,
                                                         std::string_view document) const {
  const auto said = ReadGroup(JoinKey(path, "OME"));
  if (!said) return Fail(said);
  std::vector<std::string> series = OmeSeries(said->attributes);
  if (!series.empty()) return series;
  for (size_t i = 0; i < kMaxSeries; ++i) {
    std::string name = std::to_string(i);
    const auto exists = Exists(JoinKey(JoinKey(path, name), document));
    if (!exists) return Fail(exists);
    if (!*exists) break;
    series.push_back(std::move(name));
  }
  return series;
}

UnlistedStore::KnownKeys UnlistedStore::AskGroup(const std::string& path) const {
  const auto group = ReadGroup(path);
  if (!group) return Fail(group);
  auto paths = OmePaths(group->attributes, {.below_ome = true, .name = NameOf(path)});
  if (paths.empty()) return nullptr;
  if (std::ranges::find(paths, "OME") != paths.end()) {
    auto series = SeriesOf(path, group->document);
    if (!series) return Fail(series);
    std::ranges::move(*series, std::back_inserter(paths));
  }
  // (Whether a node of v2 is a group or an array, its documents tell.)
  std::set<std::string> keys = {JoinKey(path, group->document)};
  for (const std::string& below : paths) {
    keys.insert(JoinKey(JoinKey(path, below), group->document));
  }
  return std::make_shared<const KeyList>(keys.begin(), keys.end());
}

UnlistedStore::KnownKeys UnlistedStore::Kept(const std::string& path, const Ask& ask) const {
  const auto is_old = [now_ns = SteadyNowNs()](const Probed& said) {
    const bool is_empty = !said.keys || *said.keys == nullptr;
    return now_ns - said.at_ns >= (is_empty ? kProbesHoldNs : kSaidHoldsNs);
  };
  {
    const std::lock_guard lock(said_mutex_);
    const auto known = said_.find(path);
    if (known != said_.end() && !is_old(known->second)) return known->second.keys;
  }
  KnownKeys keys = ask();
  if (!keys && keys.error().code == ErrorCode::kWouldBlock) return keys;
  const std::lock_guard lock(said_mutex_);
  if (said_.size() >= kMaxSaid) {
    std::erase_if(said_, [&](const auto& said) { return is_old(said.second); });
  }
  if (said_.size() < kMaxSaid) said_.insert_or_assign(path, Probed{SteadyNowNs(), keys});
  return keys;
}

Result<std::optional<std::vector<ListEntry>>> UnlistedStore::KnownIn(
    std::string_view folder) const {
  const auto consolidated = Kept(kOfRoot, [&] { return Consolidated(); });
  if (!consolidated) return Fail(consolidated);
  if (*consolidated != nullptr) {
    if (auto names = NamesIn(**consolidated, folder)) return names;
  }
  std::map<std::string, ListEntry> all;
  std::string path(folder);
  for (int above = 0; above <= kGroupsAbove; ++above, path = FolderOf(path)) {
    const auto said = Kept(path, [&] { return AskGroup(path); });
    if (!said) return Fail(said);
    if (*said != nullptr) {
      for (ListEntry& name : NamesIn(**said, folder).value_or(std::vector<ListEntry>())) {
        all.try_emplace(name.name, std::move(name));
      }
    }
    if (path.empty()) break;
  }
  if (all.empty()) return std::nullopt;
  std::vector<ListEntry> names;
  names.reserve(all.size());
  for (auto& [name, entry] : all) names.push_back(std::move(entry));
  return names;
}

Result<std::optional<ArrayMetadata>> UnlistedStore::ReadArray(const std::string& path) const {
  const auto zarr_json = ReadWhole(*this, JoinKey(path, "zarr.json"), kMaxMetadataBytes);
  if (zarr_json) {
    auto node = ParseZarrJson(zarr_json->bytes, JoinKey(path, "zarr.json"));
    if (!node) return Fail(node);
    if (auto* const array = std::get_if<ArrayMetadata>(&*node)) return std::move(*array);
    return std::nullopt;
  }
  if (zarr_json.error().code != ErrorCode::kNotFound) return Fail(zarr_json);
  const std::string key = JoinKey(path, ".zarray");
  const auto zarray = ReadWhole(*this, key, kMaxMetadataBytes);
  if (!zarray && zarray.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!zarray) return Fail(zarray);
  auto array = ParseZarray({key, zarray->bytes}, std::nullopt);
  if (!array) array = ParseZarrayGrid({key, zarray->bytes}, array.error());
  if (!array) return Fail(array);
  if (array->rank() > 1 && zarray->bytes.find("\"dimension_separator\"") == std::string::npos) {
    array->key_encoding.is_undecided = true;
  }
  return *std::move(array);
}

Result<std::optional<UnlistedStore::Array>> UnlistedStore::FindArray(
    std::string_view folder) const {
  for (std::string path(folder);; path = std::string(FolderOf(path))) {
    auto array = ReadArray(path);
    if (!array) return Fail(array);
    if (*array) return Array{path, **std::move(array)};
    if (path.empty()) return std::nullopt;
  }
}

Result<KeyList> UnlistedStore::Existing(std::span<const std::string> keys) const {
  std::vector<char> exists(keys.size());
  std::mutex mutex;
  std::optional<Error> failure;
  std::atomic<bool> has_failed = false;
  AtOnce(keys.size(), options_.probes_at_once, [&](size_t at) {
    if (has_failed) return;
    const auto found = Exists(keys[at]);
    if (found) {
      exists[at] = *found ? 1 : 0;
      return;
    }
    has_failed = true;
    const std::lock_guard lock(mutex);
    failure = found.error();
  });
  if (failure) return tl::unexpected(*std::move(failure));
  KeyList existing;
  for (size_t at = 0; at < keys.size(); ++at) {
    if (exists[at] != 0) existing.push_back(keys[at]);
  }
  return existing;
}

Result<KeyList> UnlistedStore::ExistingOf(const Array& array, const ChunkGrid& grid) const {
  const ObjectNaming naming(array.metadata.key_encoding);
  const auto key_of = [&](const ChunkNaming& form, uint64_t chunk) {
    ChunkCoordinates at{};
    grid.Coordinates(chunk, at);
    return JoinKey(array.path, form.Path({at.data(), grid.rank()}));
  };
  // The first chunk mostly tells which separator keys have, where .zarray does not.
  for (const ChunkNaming& form : naming.candidates()) {
    if (grid.size() == 0 || naming.is_decided()) break;
    const auto is_first = Exists(key_of(form, 0));
    if (!is_first) return Fail(is_first);
    if (*is_first) naming.Decide(form);
  }
  std::vector<std::string> keys;
  for (const std::string_view document : {"zarr.json", ".zarray", ".zattrs"}) {
    keys.push_back(JoinKey(array.path, document));
  }
  KeyList all;
  for (const ChunkNaming& form : naming.candidates()) {
    for (uint64_t chunk = 0; chunk < grid.size(); ++chunk) keys.push_back(key_of(form, chunk));
    auto existing = Existing(keys);
    if (!existing) return existing;
    std::ranges::move(*existing, std::back_inserter(all));
    keys.clear();
  }
  return all;
}

Result<std::shared_ptr<const KeyList>> UnlistedStore::Probe(const Array& array,
                                                            std::string_view folder) const {
  // One array at a time: many who list the same one ask once, and wait for one failure.
  const std::lock_guard lock(mutex_);
  const auto known = probed_.find(array.path);
  if (known != probed_.end() && SteadyNowNs() - known->second.at_ns < kProbesHoldNs) {
    return known->second.keys;
  }
  const auto layout = MakeArrayLayout(array.metadata);
  if (!layout) return Fail(layout);
  const ChunkGrid& grid = layout->outer_grid;
  if (grid.size() > options_.max_probes) {
    return Fail(ErrorCode::kUnsupported,
                "{}: a web server does not list its folders, and {} objects are too many to ask "
                "for each (list_max={}): list=FILE names a file of all keys",
                folder, grid.size(), options_.max_probes);
  }
  auto found = ExistingOf(array, grid).map([](KeyList existing) {
    std::ranges::sort(existing);
    return std::make_shared<const KeyList>(std::move(existing));
  });
  // (Of many arrays, what is out of date is forgotten.)
  std::erase_if(probed_,
                [](const auto& old) { return SteadyNowNs() - old.second.at_ns >= kProbesHoldNs; });
  probed_.insert_or_assign(array.path, Probed{SteadyNowNs(), found});
  return found;
}

Result<std::unique_ptr<FolderStream>> UnlistedStore::OpenFolder(std::string_view folder) const {
  const auto stream = [&](const KeyList& keys) -> Result<std::unique_ptr<FolderStream>> {
    auto names = NamesIn(keys, folder);
    if (!names) return Fail(ErrorCode::kNotFound, "{}: no such folder", folder);
    return std::make_unique<NamesStream>(*std::move(names));
  };
  if (options_.keys) return stream(*options_.keys);
  const auto array = FindArray(folder);
  if (!array) return Fail(array);
  if (*array) {
    const auto probed = Probe(**array, folder);
    if (!probed) return Fail(probed);
    return stream(**probed);
  }
  // (A node that these do not name may be there all the same.)
  auto names = KnownIn(folder);
  if (!names) return Fail(names);
  if (!*names) return CannotList(folder);
  return std::make_unique<NamesStream>(**std::move(names));
}

// All of a file, or a little more than kMaxListFile; what can be read.
std::string TextOf(const Descriptor& file) {
  std::string text;
  std::vector<char> part(size_t{1} << 16);
  ssize_t have = 0;
  do {
    text.append(part.data(), static_cast<size_t>(have));
    have = pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (have < 0 && errno == ESPIPE) have = read(file.get(), part.data(), part.size());
  } while (have > 0 && text.size() <= kMaxListFile);
  return text;
}

}  // namespace

Result<KeyList> ReadKeyList(const std::string& path, const Descriptor& opened) {
  const Descriptor by_name(opened ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  auto text = TextOf(opened ? opened : by_name);
  if (text.size() > kMaxListFile) {
    return Fail(ErrorCode::kTooLarge, "{}: a list of keys of more than {} bytes", path,
                kMaxListFile);
  }
  std::istringstream file(std::move(text));
  KeyList keys;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("./")) line.erase(0, 2);
    if (line.empty()) continue;
    if (!IsValidKey(line))
      return Fail(ErrorCode::kInvalidArgument, "{}: not a key: {}", path, line);
    keys.push_back(std::move(line));
  }
  if (keys.empty()) return Fail(ErrorCode::kIo, "{}: a list without keys, or not readable", path);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::shared_ptr<Store> ListUnlisted(std::shared_ptr<Store> store, UnlistedStoreOptions options) {
  return std::make_shared<UnlistedStore>(std::move(store), std::move(options));
}

}  // namespace zarrfs
