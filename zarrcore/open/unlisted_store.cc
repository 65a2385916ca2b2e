#include "zarrcore/open/unlisted_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/array/object_naming.h"
#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/at_once.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/metadata/consolidated_member.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/metadata/ome_paths.h"
#include "zarrcore/metadata/v2_metadata.h"
#include "zarrcore/open/large_document.h"
#include "zarrcore/open/names_of_v2.h"
#include "zarrcore/open/probed_ranges.h"
#include "zarrcore/store/entries_stream.h"
#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {
namespace {

// How long the results of probing an array's objects are cached, in nanoseconds. Listings of other
// folders of the array, which often follow, use the same results.
constexpr int64_t kProbesHoldNs = 1'000'000'000;
// How long the names that consolidated or OME-Zarr metadata contain are cached, in nanoseconds.
constexpr int64_t kSaidHoldsNs = 10'000'000'000;
// The maximum age of remembered documents that AskGroup() accepts.
constexpr Age kMaxAgeOfSaid = std::chrono::seconds(5);
constexpr size_t kMaxSaid = 4096;  // the maximum number of groups whose names are cached
// The maximum number of images to look for in a collection whose metadata do not list them.
constexpr size_t kMaxSeries = 4096;
// A folder is searched for in the metadata of groups up to this many levels above it.
constexpr int kGroupsAbove = 2;
// The key in said_ for the root's consolidated metadata. No node has this path.
constexpr const char* kOfRoot = "//";

// Reads and parses a JSON document. Null if it does not exist or is invalid.
Result<Json> ReadJson(const Store& store, const std::string& key) {
  const auto text = ReadWithoutNodes(store, key);
  if (!text && text.error().code == ErrorCode::kNotFound) return Json();
  if (!text) return Fail(text);
  auto json = ParseJson(*text, key);
  return json ? *std::move(json) : Json();
}

class UnlistedStore final : public ForwardingStore {
 public:
  UnlistedStore(const std::shared_ptr<const Store>& store, UnlistedStoreOptions options)
      : ForwardingStore(store), store_(store), options_(std::move(options)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override;
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override;
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override;
  bool ListsByAsking() const override { return !options_.keys; }

 private:
  // The path and metadata of an array.
  struct Array {
    std::string path;
    ArrayMetadata metadata;
    bool is_v2 = false;  // stored as Zarr v2
  };
  using KnownKeys = Result<std::shared_ptr<const KeyList>>;
  using Ask = std::function<KnownKeys()>;
  struct Probed {
    // When the keys were determined: in said_, when the oldest answer for them was requested; in
    // probed_, when the last answer arrived.
    int64_t at_ns = 0;
    KnownKeys keys;
  };
  // The document with the root's consolidated metadata, and the keys that these metadata name.
  struct RootKeys {
    std::string document;
    Version version;
    std::shared_ptr<const KeyList> keys;  // null if the document has no consolidated metadata
  };

  [[nodiscard]] tl::unexpected<Error> CannotList(std::string_view folder) const;
  // Returns the keys of the documents in the root's consolidated metadata; null if it has none.
  [[nodiscard]] Result<std::shared_ptr<const KeyList>> Consolidated() const;
  // True if `known` was made from the current document of the root.
  [[nodiscard]] Result<bool> IsCurrent(const RootKeys& known) const;
  // Returns the keys of the documents of the group at `path` and of the nodes that its OME-Zarr
  // metadata name; null if they name no node.
  [[nodiscard]] KnownKeys AskGroup(const std::string& path) const;
  struct GroupText {
    std::string_view document;  // "zarr.json" or ".zgroup"
    Json attributes;
  };
  // Reads the document of a group. The attributes are null if the group does not exist.
  [[nodiscard]] Result<GroupText> ReadGroup(const std::string& path) const;
  // Returns the names of the images in a bioformats2raw collection. `document`: the name of the
  // document in each image's group.
  [[nodiscard]] Result<std::vector<std::string>> SeriesOf(const std::string& path,
                                                          std::string_view document) const;
  // Returns the cached keys for `path`, or calls `ask` and caches its result.
  [[nodiscard]] KnownKeys Kept(const std::string& path, const Ask& ask) const;
  // Returns the names in a folder, from the root's consolidated metadata or from OME-Zarr metadata;
  // nullopt if these metadata name nothing in the folder.
  [[nodiscard]] Result<std::optional<std::vector<ListEntry>>> KnownIn(
      std::string_view folder) const;
  // Returns the array that `folder` is inside of, or is itself; nullopt if there is none.
  [[nodiscard]] Result<std::optional<Array>> FindArray(std::string_view folder) const;
  [[nodiscard]] Result<std::optional<Array>> ReadArray(const std::string& path) const;
  // True if `key` is in a folder that is named like a document of Zarr v2, and the folder is no
  // node. The list of keys, or without one, the root's consolidated metadata decides which nodes
  // exist.
  [[nodiscard]] Result<bool> IsOfNoNode(std::string_view key) const;
  // Returns the keys of the objects and documents of an array that exist. They are requested at
  // most once per second.
  [[nodiscard]] Result<std::shared_ptr<const KeyList>> Probe(const Array& array,
                                                             std::string_view folder) const;
  // Requests each document of an array and each object of its grid. Returns the keys that exist.
  [[nodiscard]] Result<KeyList> ExistingOf(const Array& array, const ArrayLayout& layout) const;
  // Requests `range` of each object in `keys`. Returns the keys that exist.
  [[nodiscard]] Result<KeyList> Existing(std::span<const std::string> keys, ByteRange range) const;
  [[nodiscard]] Result<bool> Exists(const std::string& key) const;

  const std::shared_ptr<const Store> store_;
  const UnlistedStoreOptions options_;
  mutable ProbedRanges probed_ranges_;
  mutable Mutex mutex_;
  mutable std::map<std::string, Probed> probed_
      GUARDED_BY(mutex_);  // keyed by the path of the array
  mutable Mutex said_mutex_;
  mutable std::map<std::string, Probed> said_
      GUARDED_BY(said_mutex_);  // keyed by the path of the group
  mutable std::shared_ptr<const RootKeys> root_keys_ GUARDED_BY(said_mutex_);
};

tl::unexpected<Error> UnlistedStore::CannotList(std::string_view folder) const {
  return Fail(ErrorCode::kUnsupported,
              "{}: a web server does not list its folders; add consolidated metadata to the "
              "store, or list all keys in a file and use list=FILE",
              folder.empty() ? name() : folder);
}

Result<bool> UnlistedStore::Exists(const std::string& key) const {
  std::array<std::byte, 1> first;
  const auto read = ForwardingStore::Read(key, ByteRange::At(0, 1), first);
  if (read) return true;
  if (read.error().code == ErrorCode::kNotFound) return false;
  return Fail(read);
}

Result<bool> UnlistedStore::IsOfNoNode(std::string_view key) const {
  const std::string_view node = FolderOf(key);
  if (!IsNameOfV2Document(NameOf(node))) return false;
  if (options_.keys) return !NamesIn(*options_.keys, node).has_value();
  const auto consolidated = Kept(kOfRoot, [&] { return Consolidated(); });
  if (!consolidated) return Fail(consolidated);
  return *consolidated != nullptr && !NamesIn(**consolidated, node).has_value();
}

Result<ReadAnswer> UnlistedStore::Read(std::string_view key, ByteRange range,
                                       std::span<std::byte> out) const {
  const auto is_of_none = IsOfNoNode(key);
  if (!is_of_none) return Fail(is_of_none);
  if (*is_of_none) return Fail(ErrorCode::kNotFound, "{}: no such object", key);
  if (auto probed = probed_ranges_.Take(key, range, out)) return *std::move(probed);
  return ForwardingStore::Read(key, range, out);
}

Result<ObjectInfo> UnlistedStore::Stat(std::string_view key) const {
  const auto is_of_none = IsOfNoNode(key);
  if (!is_of_none) return Fail(is_of_none);
  if (*is_of_none) return Fail(ErrorCode::kNotFound, "{}: no such object", key);
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

Result<bool> UnlistedStore::IsCurrent(const RootKeys& known) const {
  for (const std::string_view name : {"zarr.json", ".zmetadata"}) {
    const auto info = ForwardingStore::Stat(name);
    if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
    if (name == known.document) return info && info->version == known.version;
    if (info) return false;
  }
  return false;
}

Result<std::shared_ptr<const KeyList>> UnlistedStore::Consolidated() const {
  std::shared_ptr<const RootKeys> known;
  {
    const MutexLock lock(said_mutex_);
    known = root_keys_;
  }
  if (known != nullptr) {
    const auto is_current = IsCurrent(*known);
    if (!is_current) return Fail(is_current);
    if (*is_current) return known->keys;
  }
  std::set<std::string> keys;
  bool is_v2 = false;
  auto document = ReadLarge(*this, "zarr.json");
  if (!document && document.error().code == ErrorCode::kNotFound) {
    is_v2 = true;
    document = ReadLarge(*this, ".zmetadata");
  }
  if (!document && document.error().code == ErrorCode::kNotFound) return nullptr;
  if (!document) return Fail(document);
  const std::string name = is_v2 ? ".zmetadata" : "zarr.json";
  const auto names = ConsolidatedNames(document->text, name);
  if (!names) return Fail(names);
  auto found = std::make_shared<RootKeys>(RootKeys{name, document->info.version, nullptr});
  if (*names) {
    keys.insert(name);
    for (const std::string& each : **names) keys.insert(is_v2 ? each : JoinKey(each, name));
    std::erase_if(keys, [](const std::string& key) { return !IsValidKey(key); });
    found->keys = std::make_shared<const KeyList>(keys.begin(), keys.end());
  }
  const MutexLock lock(said_mutex_);
  root_keys_ = IsRacy(*this, document->info) ? nullptr : found;
  return found->keys;
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
  const AcceptedAnswers accepted(kMaxAgeOfSaid, {});
  const auto group = ReadGroup(path);
  if (!group) return Fail(group);
  auto paths = OmePaths(group->attributes, {.below_ome = true, .name = NameOf(path)});
  if (paths.empty()) return nullptr;
  if (std::ranges::find(paths, "OME") != paths.end()) {
    auto series = SeriesOf(path, group->document);
    if (!series) return Fail(series);
    std::ranges::move(*series, std::back_inserter(paths));
  }
  // Assumes that each node has the same kind of document as the group. A v2 node may turn out to be
  // an array when it is read.
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
    const MutexLock lock(said_mutex_);
    const auto known = said_.find(path);
    if (known != said_.end() && !is_old(known->second)) return known->second.keys;
  }
  const OldestAnswer oldest;
  const int64_t asked_ns = SteadyNowNs();
  KnownKeys keys = ask();
  if (!keys && keys.error().code == ErrorCode::kWouldBlock) return keys;
  const MutexLock lock(said_mutex_);
  if (said_.size() >= kMaxSaid) {
    std::erase_if(said_, [&](const auto& said) { return is_old(said.second); });
  }
  // A result without keys is cached for kProbesHoldNs from now, even if it was made from older
  // answers. For the root, the age of the answers counts, because an unchanged document of the root
  // is not parsed again.
  const bool is_empty = path != kOfRoot && (!keys || *keys == nullptr);
  const int64_t at_ns = is_empty ? asked_ns : OldestAnswer::Or(asked_ns);
  if (said_.size() < kMaxSaid) said_.insert_or_assign(path, Probed{at_ns, keys});
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

Result<std::optional<UnlistedStore::Array>> UnlistedStore::ReadArray(
    const std::string& path) const {
  const auto zarr_json = ReadWithoutNodes(*this, JoinKey(path, "zarr.json"));
  if (zarr_json) {
    auto node = ParseZarrJson(*zarr_json, JoinKey(path, "zarr.json"));
    if (!node) return Fail(node);
    if (auto* const array = std::get_if<ArrayMetadata>(&*node)) {
      return Array{path, std::move(*array)};
    }
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
  return Array{path, *std::move(array), true};
}

Result<std::optional<UnlistedStore::Array>> UnlistedStore::FindArray(
    std::string_view folder) const {
  // A folder named like a folder of chunks is tried after the folders above it, because their
  // documents are probably remembered. Folders of chunks have no documents, and no node inside an
  // array has such a name.
  std::vector<std::string> paths;
  for (std::string path(folder);; path = std::string(FolderOf(path))) {
    paths.push_back(path);
    if (!path.empty() && MayBeOfChunks(NameOf(path))) continue;
    for (; !paths.empty(); paths.pop_back()) {
      auto array = ReadArray(paths.back());
      if (!array) return Fail(array);
      if (*array) return array;
    }
    if (path.empty()) return std::nullopt;
  }
}

Result<KeyList> UnlistedStore::Existing(std::span<const std::string> keys, ByteRange range) const {
  std::vector<char> exists(keys.size());
  Mutex mutex;
  std::optional<Error> failure;
  std::atomic<bool> has_failed = false;
  AtOnce(keys.size(), options_.probes_at_once, [&](size_t at) {
    if (has_failed) return;
    const auto found = probed_ranges_.Probe(*store_, keys[at], range);
    if (found) {
      exists[at] = *found ? 1 : 0;
      return;
    }
    has_failed = true;
    const MutexLock lock(mutex);
    failure = found.error();
  });
  if (failure) return tl::unexpected(*std::move(failure));
  KeyList existing;
  for (size_t at = 0; at < keys.size(); ++at) {
    if (exists[at] != 0) existing.push_back(keys[at]);
  }
  return existing;
}

Result<KeyList> UnlistedStore::ExistingOf(const Array& array, const ArrayLayout& layout) const {
  const ChunkGrid& grid = layout.outer_grid;
  const ObjectNaming naming(array.metadata.key_encoding);
  const auto key_of = [&](const ChunkNaming& form, uint64_t chunk) {
    ChunkCoordinates at{};
    grid.Coordinates(chunk, at);
    return JoinKey(array.path, form.Path({at.data(), grid.rank()}));
  };
  // If .zarray does not state the separator, the key of the first chunk usually shows it.
  for (const ChunkNaming& form : naming.candidates()) {
    if (grid.size() == 0 || naming.is_decided()) break;
    const auto is_first = Exists(key_of(form, 0));
    if (!is_first) return Fail(is_first);
    if (*is_first) naming.Decide(form);
  }
  // The array's documents were just read, so these requests are usually answered from memory.
  std::vector<std::string> documents;
  for (const char* const name :
       array.is_v2 ? std::vector{".zarray", ".zattrs"} : std::vector{"zarr.json"}) {
    documents.push_back(JoinKey(array.path, name));
  }
  auto existing = Existing(documents, ByteRange::At(0, 1));
  if (!existing) return existing;
  KeyList all = *std::move(existing);
  for (const ChunkNaming& form : naming.candidates()) {
    std::vector<std::string> keys;
    for (uint64_t chunk = 0; chunk < grid.size(); ++chunk) keys.push_back(key_of(form, chunk));
    existing = Existing(keys, ProbedRanges::RangeOf(layout));
    if (!existing) return existing;
    std::ranges::move(*existing, std::back_inserter(all));
  }
  return all;
}

Result<std::shared_ptr<const KeyList>> UnlistedStore::Probe(const Array& array,
                                                            std::string_view folder) const {
  // The lock is held during the requests, so one array is probed at a time, and concurrent listings
  // of the same array share the result or the error.
  const MutexLock lock(mutex_);
  const auto known = probed_.find(array.path);
  if (known != probed_.end() && SteadyNowNs() - known->second.at_ns < kProbesHoldNs) {
    return known->second.keys;
  }
  const auto layout = MakeArrayLayout(array.metadata);
  if (!layout) return Fail(layout);
  const ChunkGrid& grid = layout->outer_grid;
  if (grid.size() > options_.max_probes) {
    return Fail(
        ErrorCode::kUnsupported,
        "{}: a web server does not list its folders, and {} objects are too many to request "
        "each (list_max={}); list all keys in a file and use list=FILE",
        folder, grid.size(), options_.max_probes);
  }
  auto found = ExistingOf(array, *layout).map([](KeyList existing) {
    std::ranges::sort(existing);
    return std::make_shared<const KeyList>(std::move(existing));
  });
  // Drops outdated answers, so memory does not grow with the number of arrays.
  std::erase_if(probed_,
                [](const auto& old) { return SteadyNowNs() - old.second.at_ns >= kProbesHoldNs; });
  probed_.insert_or_assign(array.path, Probed{SteadyNowNs(), found});
  return found;
}

Result<std::unique_ptr<FolderStream>> UnlistedStore::OpenFolder(std::string_view folder) const {
  const auto stream = [&](const KeyList& keys) -> Result<std::unique_ptr<FolderStream>> {
    auto names = NamesIn(keys, folder);
    if (!names) return Fail(ErrorCode::kNotFound, "{}: no such folder", folder);
    return std::make_unique<EntriesStream>(*std::move(names));
  };
  if (options_.keys) return stream(*options_.keys);
  const auto array = FindArray(folder);
  if (!array) return Fail(array);
  if (*array) {
    const auto probed = Probe(**array, folder);
    if (!probed) return Fail(probed);
    return stream(**probed);
  }
  // The metadata may omit existing nodes, so a folder that they do not name is not reported as
  // absent.
  auto names = KnownIn(folder);
  if (!names) return Fail(names);
  if (!*names) return CannotList(folder);
  return std::make_unique<EntriesStream>(**std::move(names));
}

}  // namespace

std::shared_ptr<Store> ListUnlisted(std::shared_ptr<Store> store, UnlistedStoreOptions options) {
  return std::make_shared<UnlistedStore>(std::move(store), std::move(options));
}

}  // namespace zarrfs
