#include "zarrcore/view/hierarchy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/metadata/v2_metadata.h"

namespace zarrfs {
namespace {

constexpr int kMaxImplicitDepth = 16;
constexpr int kMaxImplicitFolders = 4096;
constexpr int kAttempts = 3;
// Few: each has its share of the memory, and some indexes are as large as a small share.
constexpr size_t kIndexCacheParts = 4;
constexpr size_t kTextsBytes = 64u << 20;
constexpr size_t kConsolidatedBytes = 8u << 20;  // without the texts
constexpr size_t kSharedBytes = 4u << 20;        // likewise
constexpr size_t kMaxTold = 1u << 20;
// Beyond so many files that are not stored but listed, a copy of the view is worth a warning.
constexpr uint64_t kManyFiles = 100'000;

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.find_first_not_of('.') != std::string_view::npos &&
         name != kZarrJson;
}

// Core specification, "Node names", and below a v2 group the names that v2 has for itself; a folder
// of another name is no node. Names that begin with "__" are reserved, and written all the same
// (by xarray, by AnnData): they are nodes to every reader.
bool IsNodeNameBelow(const Node& group, std::string_view name) {
  return IsNodeName(name) && !(group.is_v2() && name.starts_with(".z"));
}

bool IsNodeDocument(std::string_view name) {
  return name == kZarrJson || name == kZarray || name == kZgroup;
}

uint64_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

Digest ChunksFingerprint(const ArrayMetadata& array) {
  DigestBuilder all;
  for (const auto* extents : {&array.shape, &array.chunk_shape}) {
    all.Add(uint64_t{extents->size()});
    for (const uint64_t extent : *extents) all.Add(extent);
  }
  all.Add(DumpJson(array.data_type.document));
  all.Add(static_cast<uint64_t>(array.key_encoding.kind));
  all.Add(uint64_t{static_cast<unsigned char>(array.key_encoding.separator)});
  for (const CodecSpec& codec : array.codecs) {
    all.Add(codec.name).Add(DumpJson(codec.configuration));
  }
  return std::move(all).Finish();
}

Digest FingerprintOf(const std::vector<Document>& documents) {
  DigestBuilder all;
  for (const Document& document : documents) all.Add(document.name).Add(document.bytes);
  return std::move(all).Finish();
}

// Of where a node is and what a view says of it.
Digest FingerprintOf(const Node& node, size_t view) {
  DigestBuilder all;
  all.Add(node.views[view].fingerprint).Add(node.path);
  return std::move(all).Finish();
}

bool IsOme(const Json& attributes) {
  return attributes.contains("ome") || attributes.contains("multiscales") ||
         attributes.contains("plate");
}

std::string ConsolidatedKey(const Node& group, size_t view) {
  return fmt::format("{}/{}", view, group.path);
}

// Bytes of memory, roughly: what is parsed takes several times what was read.
size_t SizeInMemory(const Node& node) {
  size_t bytes = (8u << 10) + 5 * node.source_bytes;
  if (const ArrayMetadata* array = node.array()) bytes += 4 * array->fill_value.size();
  for (const NodeView& view : node.views) {
    for (const Document& document : view.documents) bytes += document.bytes.size();
    if (view.array && !view.array->attributes.is_null()) bytes += 2 * node.source_bytes;
  }
  return bytes;
}

// Whether somebody who may read `more` may not read `less`. Where they have different owners, only
// what is open to everybody counts.
bool IsLessOpen(const ObjectInfo& less, const ObjectInfo& more) {
  const uint32_t classes = less.uid == more.uid && less.gid == more.gid ? 0444 : 0004;
  if (classes == 0004 && (less.mode & 0004) == 0) return (more.mode & 0444) != 0;
  return (more.mode & ~less.mode & classes) != 0;
}

void SetSeparator(ArrayMetadata& array, char separator) {
  array.key_encoding.separator = separator;
  array.document["chunk_key_encoding"] =
      Json{{"name", "v2"}, {"configuration", {{"separator", std::string(1, separator)}}}};
}

// Keeps the documents that a view may pass through: not those of sharded arrays.
void Keep(StoredDocuments documents, NodeMetadata& metadata) {
  const auto keep = [&](auto& of_node) {
    of_node.stored = std::make_shared<const StoredDocuments>(std::move(documents));
  };
  if (auto* array = std::get_if<ArrayMetadata>(&metadata)) {
    if (std::ranges::find(array->codecs, "sharding_indexed", &CodecSpec::name) ==
        array->codecs.end()) {
      keep(*array);
    }
  } else {
    keep(std::get<GroupMetadata>(metadata));
  }
}

// Errors that are facts about the documents, not about reading them.
bool IsVerdict(ErrorCode code) {
  return code == ErrorCode::kDamaged || code == ErrorCode::kUnsupported ||
         code == ErrorCode::kTooLarge;
}

}  // namespace

Hierarchy::Hierarchy(std::shared_ptr<const Store> store, HierarchyOptions options, Report report)
    : store_(std::move(store)),
      options_(std::move(options)),
      report_(report ? std::move(report) : [](const Error&) {}),
      index_cache_(
          std::make_shared<IndexCache>(store_, options_.index_cache_bytes, kIndexCacheParts)),
      nodes_(options_.node_cache_bytes),
      newest_(options_.node_cache_bytes),  // mostly the same ones
      consolidated_(kConsolidatedBytes),
      texts_(kTextsBytes),
      shared_(kSharedBytes) {}

Result<NodePtr> Hierarchy::Get(const std::string& path, Age max_age) const {
  NodePtr cached = nodes_.Get(path);
  if (cached != nullptr && IsFresh(*cached, max_age)) return cached;

  bool parent_below_ome = false;
  if (!path.empty()) {
    const size_t slash = path.rfind('/');
    const std::string_view name = std::string_view(path).substr(slash + 1);
    if (!IsNodeName(name)) return Fail(ErrorCode::kNotFound, "{}: no name of a node", path);
    auto parent = Get(slash == std::string::npos ? "" : path.substr(0, slash), max_age);
    if (!parent) return parent;
    // Perhaps being rewritten: what lies below is not known to be absent.
    if (!(*parent)->metadata) return tl::unexpected(*(*parent)->views[0].hidden);
    if ((*parent)->group() == nullptr) {
      return Fail(ErrorCode::kNotFound, "{}: nothing lies below an array", path);
    }
    if (!IsNodeNameBelow(**parent, name)) {
      return Fail(ErrorCode::kNotFound, "{}: no name of a node", path);
    }
    parent_below_ome = (*parent)->below_ome;
  }

  const Moment asked = Moment::Now(*store_);
  const Validity watched =
      max_age == kAnyAge ? Validity() : asked.validity() & Validity::Watch(*store_, path);
  const auto set_checked = [&](const Node& node) {
    // What makes an implicit group one may lie far below.
    const bool is_covered =
        !node.implicit && !node.info.may_change_elsewhere && !node.folder_info.may_change_elsewhere;
    node.freshness.Set(asked, is_covered ? watched : Validity());
  };
  for (int attempt = 1;; ++attempt) {
    if (cached != nullptr) {
      const auto is_current = IsCurrent(*cached);
      if (!is_current) return Fail(is_current);
      if (*is_current && !cached->racy && parent_below_ome == cached->parent_below_ome) {
        set_checked(*cached);
        return cached;
      }
      nodes_.Erase(path, cached);
    }
    bool is_ours = false;  // not what another thread has loaded or is loading
    auto node = nodes_.GetOrLoad(path, [&]() -> Result<LruCache<std::string, Node>::Loaded> {
      is_ours = true;
      auto loaded = Load(path, parent_below_ome, newest_.Get(path));
      if (!loaded) {
        if (loaded.error().code == ErrorCode::kNotFound) newest_.Erase(path);
        return Fail(loaded);
      }
      set_checked(**loaded);
      const size_t bytes = (*loaded)->bytes_in_memory = SizeInMemory(**loaded);
      newest_.Put(path, *loaded, bytes);
      return LruCache<std::string, Node>::Loaded{std::move(*loaded), bytes};
    });
    if (!node) {
      const bool only_they_may_not_wait =
          node.error().code == ErrorCode::kWouldBlock && !is_ours && MayWait();
      if (!only_they_may_not_wait) return node;
      cached = nullptr;
      continue;
    }
    if (is_ours || IsFresh(**node, max_age) || attempt >= kAttempts) return node;
    // They began before we were asked, perhaps longer ago than the answer may be old.
    cached = std::move(*node);
  }
}

Result<std::shared_ptr<Node>> Hierarchy::Load(const std::string& path, bool parent_below_ome,
                                              const NodePtr& before) const {
  auto folder = store_->Stat(path);
  // (No socket, FIFO or device is a node either.)
  if (!folder && (folder.error().code == ErrorCode::kZarrfsMount ||
                  folder.error().code == ErrorCode::kUnsupported)) {
    return Fail(ErrorCode::kNotFound, "{}", folder.error().message);
  }
  if (!folder) return Fail(folder);
  if (!folder->is_folder) return Fail(ErrorCode::kNotFound, "{} is no folder", path);
  // (Not in one piece with its counts, which weak pointers would keep it by.)
  const std::shared_ptr<Node> node(new Node);
  node->path = path;
  node->folder_info = *folder;
  node->parent_below_ome = parent_below_ome;
  node->below_ome = parent_below_ome;

  auto metadata = ReadMetadata(*node);
  if (!metadata && metadata.error().code == ErrorCode::kNotFound) {
    int budget = kMaxImplicitFolders;
    const auto below = HasNodeBelow(path, 0, budget);
    if (!below) return Fail(below);
    if (!*below) return Fail(metadata);
    metadata = GroupMetadata{};
    node->implicit = true;
    node->info = *folder;
  } else if (!metadata && !IsVerdict(metadata.error().code)) {
    return Fail(metadata);
  }
  node->racy = node->racy || IsRacy(*store_, node->info);

  if (!metadata) {
    ReportOnce(*node,
               {metadata.error().code, fmt::format("not shown: {}", metadata.error().message)});
    for (NodeView& view : node->views) view.hidden = metadata.error();
    return node;
  }
  node->metadata = std::move(*metadata);
  for (const std::string& note :
       std::visit([](const auto& one) { return std::span(one.notes); }, *node->metadata)) {
    ReportOnce(*node, {ErrorCode::kUnsupported, note});
  }
  if (node->array() != nullptr) {
    FillArray(*node, before);
  } else {
    node->below_ome = parent_below_ome || IsOme(node->group()->attributes);
    for (size_t v = 0; v < AllViews().size(); ++v) {
      node->views[v].documents = AllViews()[v]->ShowGroup(*node->group());
      if (options_.consolidated_max > 0 || node->has_zmetadata()) {
        node->views[v].consolidated = AllViews()[v]->ConsolidatedName(*node->group());
      }
    }
  }
  for (NodeView& view : node->views) view.fingerprint = FingerprintOf(view.documents);
  ReportName(*node);
  return node;
}

Result<NodeMetadata> Hierarchy::ReadMetadata(Node& node) const {
  const auto zarr_json = ReadSource(node, kZarrJson);
  if (!zarr_json) return Fail(zarr_json);
  if (*zarr_json) {
    auto metadata = ParseZarrJson(**zarr_json, JoinKey(node.path, kZarrJson));
    if (!metadata) return Fail(metadata);
    StoredDocuments stored;
    stored.document = **zarr_json;
    Keep(std::move(stored), *metadata);
    return metadata;
  }
  for (const std::string_view name : {kZarray, kZgroup}) {
    const auto text = ReadSource(node, name);
    if (!text) return Fail(text);
    if (!*text) continue;
    node.document = name;
    const auto attributes = ReadSource(node, kZattrs);
    // (What they hold, or that they are too large, hides no node.)
    if (!attributes && !IsVerdict(attributes.error().code)) return Fail(attributes);
    const std::string key = JoinKey(node.path, name);
    const std::string attributes_key = JoinKey(node.path, kZattrs);
    std::optional<NamedText> zattrs;
    if (attributes && *attributes) zattrs = NamedText{attributes_key, **attributes};
    const auto add_note = [&](std::vector<std::string>& notes) {
      if (attributes) return;
      notes.push_back(fmt::format("{}; the attributes are left out", attributes.error().message));
    };
    // (One by one: to convert a whole expected leaks in libexpected 1.0.)
    StoredDocuments stored;
    stored.is_v2 = true;
    stored.document = **text;
    if (attributes) stored.zattrs = *attributes;
    if (name == kZgroup) {
      auto group = ParseZgroup({key, **text}, zattrs);
      if (!group) return Fail(group);
      add_note(group->notes);
      const auto has_zmetadata = HasSource(node, kZmetadata);
      if (!has_zmetadata) return Fail(has_zmetadata);
      stored.has_zmetadata = *has_zmetadata;
      NodeMetadata metadata(std::in_place_type<GroupMetadata>, std::move(*group));
      Keep(std::move(stored), metadata);
      return metadata;
    }
    // Without its attributes an array may be read as other values (scale_factor). They are perhaps
    // half written this moment.
    if (!attributes) return Fail(attributes);
    if (zattrs) {
      if (auto json = ParseJson(zattrs->text, zattrs->key); !json) return Fail(json);
    }
    auto array = ParseZarray({key, **text}, zattrs);
    if (!array) {
      auto grid = ParseZarrayGrid({key, **text}, array.error());
      if (!grid) return Fail(array);
      array = std::move(grid);
    }
    // Old writers of nested chunks (zarr-python's NestedDirectoryStore) do not say so.
    if (array->rank() > 1 && (*text)->find("\"dimension_separator\"") == std::string::npos) {
      const auto first = store_->Stat(JoinKey(node.path, "0"));
      if (first && first->is_folder) SetSeparator(*array, '/');
    }
    NodeMetadata metadata(std::in_place_type<ArrayMetadata>, std::move(*array));
    Keep(std::move(stored), metadata);
    return metadata;
  }
  return Fail(ErrorCode::kNotFound, "{}: no zarr.json, .zarray or .zgroup, here or below",
              node.path);
}

Result<std::optional<std::string>> Hierarchy::ReadSource(Node& node, std::string_view name) const {
  const std::string key = JoinKey(node.path, name);
  SourceDocument& source = node.sources.emplace_back(SourceDocument{name, std::nullopt});
  const auto add = [&](const ObjectInfo& info) {
    source.version = info.version;
    const bool elsewhere = node.info.may_change_elsewhere || info.may_change_elsewhere;
    if (name != kZattrs) {
      node.info = info;
    } else {
      node.attributes_mode = info.mode;
      if (info.version.ctime_ns >= node.info.version.ctime_ns) node.info.version = info.version;
    }
    node.info.may_change_elsewhere = elsewhere;
    node.racy = node.racy || IsRacy(*store_, info);
  };
  auto whole = ReadWhole(*store_, key, kMaxMetadataBytes);
  if (whole) {
    add(whole->object->info());
    node.source_bytes += whole->bytes.size();
    return std::move(whole->bytes);
  }
  if (whole.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (IsVerdict(whole.error().code)) {
    // Perhaps of a later version than the one refused: looked at again each time.
    if (const auto info = store_->Stat(key)) add(*info);
    node.racy = true;
    if (name != kZattrs) node.document = name;
  }
  return Fail(whole);
}

Result<bool> Hierarchy::HasSource(Node& node, std::string_view name) const {
  SourceDocument& source = node.sources.emplace_back(SourceDocument{name, std::nullopt});
  const auto info = store_->Stat(JoinKey(node.path, name));
  if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
  if (!info || info->is_folder) return false;
  source.version = info->version;
  node.info.may_change_elsewhere = node.info.may_change_elsewhere || info->may_change_elsewhere;
  node.racy = node.racy || IsRacy(*store_, *info);
  return true;
}

Result<bool> Hierarchy::IsCurrent(const Node& node) const {
  if (node.implicit) {
    const auto folder = store_->Stat(node.path);
    if (!folder && folder.error().code != ErrorCode::kNotFound) return Fail(folder);
    if (!folder || folder->version != node.info.version) return false;
  }
  for (const SourceDocument& source : node.sources) {
    const auto info = store_->Stat(JoinKey(node.path, source.name));
    if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
    std::optional<Version> version;
    if (info && !info->is_folder) version = info->version;
    if (version != source.version) return false;
  }
  return true;
}

void Hierarchy::FillArray(Node& node, const NodePtr& before) const {
  const ArrayMetadata& metadata = *node.array();
  node.chunks_fingerprint = ChunksFingerprint(metadata);
  if (before != nullptr && before->chunks != nullptr &&
      before->chunks_fingerprint == node.chunks_fingerprint) {
    node.chunks = before->chunks;
  } else {
    auto chunks = ChunkSource::Make(store_, node.path, metadata, index_cache_, report_,
                                    options_.on_superseded);
    if (!chunks) {
      ReportOnce(node, {chunks.error().code,
                        fmt::format("{}: not shown: {}", node.path, chunks.error().message)});
      for (NodeView& view : node.views) view.hidden = chunks.error();
      return;
    }
    node.chunks = std::move(*chunks);
  }
  const ViewContext context{options_.forced_separator, node.parent_below_ome, options_.fill,
                            node.path.find('/') == std::string::npos};
  std::map<std::string, std::string> views_by_reason;
  bool is_shown = false;  // in some view
  for (size_t v = 0; v < AllViews().size(); ++v) {
    NodeView& shown = node.views[v];
    auto view = AllViews()[v]->ShowArray(metadata, node.chunks->layout(), context);
    if (view) {
      is_shown = true;
      shown.documents = std::move(view->documents);
      const uint64_t files = node.chunks->layout().inner_grid.size();
      if (view->fill_chunk != nullptr && files > kManyFiles) {
        Note(node, {ErrorCode::kUnsupported,
                    fmt::format("{}: {}: all {} chunks are files, stored or not; a copy makes them "
                                "all, which fill=keep avoids",
                                node.path, AllViews()[v]->name(), files)});
      }
      for (const std::string& note : view->notes) {
        ReportOnce(node, {ErrorCode::kUnsupported,
                          fmt::format("{}: {}: {}", node.path, AllViews()[v]->name(), note)});
      }
      shown.array = std::move(*view);
    } else {
      std::string& views = views_by_reason[view.error().message];
      views += fmt::format("{}{}", views.empty() ? "" : ", ", AllViews()[v]->name());
      shown.hidden = std::move(view.error());
    }
  }
  const ErrorCode code = metadata.grid_only ? metadata.grid_only->code : ErrorCode::kUnsupported;
  for (const auto& [reason, views] : views_by_reason) {
    const Error not_shown{code, fmt::format("{}: not shown in {}: {}", node.path, views, reason)};
    // That a reader has no such type is a property of the array. What nobody can read here, or only
    // those who need not decode it, is a fault.
    const bool is_decodable =
        !metadata.grid_only &&
        (metadata.data_type.item_size == 0 || node.chunks->layout().inner_pipeline.has_value());
    if (is_shown && is_decodable) {
      Note(node, not_shown);
    } else {
      ReportOnce(node, not_shown);
    }
  }
}

bool Hierarchy::IsFirst(const Node& node, const Error& message) const {
  const size_t hash = HashOf(
      fmt::format("{}\n{}\n{}", node.path, node.info.version.Fingerprint(), message.message));
  const std::lock_guard lock(told_mutex_);
  if (told_.size() >= kMaxTold) told_.clear();
  return told_.insert(hash).second;
}

void Hierarchy::ReportOnce(const Node& node, const Error& reason) const {
  if (IsFirst(node, reason)) report_(reason);
}

void Hierarchy::Note(const Node& node, const Error& property) const {
  if (options_.on_note && IsFirst(node, property)) options_.on_note(property);
}

void Hierarchy::ReportName(const Node& node) const {
  if (node.path.empty()) return;
  const std::string_view name = std::string_view(node.path).substr(node.path.rfind('/') + 1);
  std::string views;
  for (const View* view : AllViews()) {
    if (view->AllowsNodeName(name)) continue;
    views += fmt::format("{}{}", views.empty() ? "" : ", ", view->name());
  }
  if (views.empty()) return;
  ReportOnce(node, {ErrorCode::kUnsupported,
                    fmt::format("{}: not shown in {}: their readers cannot take its name",
                                node.path, views)});
}

Result<void> Hierarchy::ReportRefusedName(const Node& group, const ListEntry& folder) const {
  if (folder.is_refused) return {};
  const std::string path = JoinKey(group.path, folder.name);
  int budget = kMaxImplicitFolders;
  const auto is_node = HasNodeBelow(path, 1, budget);
  if (!is_node && is_node.error().code == ErrorCode::kWouldBlock) return Fail(is_node);
  if (is_node && *is_node) {
    ReportOnce(group, {ErrorCode::kUnsupported,
                       fmt::format("{}: not shown: no name of a group or array", path)});
  }
  return {};
}

Result<bool> Hierarchy::HasNodeBelow(const std::string& folder, int depth, int& budget) const {
  const auto entries = store_->List(folder);
  if (!entries && entries.error().code == ErrorCode::kNotFound) return false;
  if (!entries) return Fail(entries);
  for (const ListEntry& entry : *entries) {
    if (!entry.is_folder && IsNodeDocument(entry.name) && depth > 0) return true;
  }
  if (depth == kMaxImplicitDepth) return false;
  Result<bool> none = false;  // or what could not be looked into
  for (const ListEntry& entry : *entries) {
    if (!entry.is_folder || entry.is_refused || !IsNodeName(entry.name)) continue;
    if (--budget < 0) break;
    const auto below = HasNodeBelow(JoinKey(folder, entry.name), depth + 1, budget);
    if (below && *below) return true;
    if (!below) none = Fail(below);
  }
  return none;
}

Result<Valid<std::vector<std::string>>> Hierarchy::Children(const Node& node, Age max_age) const {
  std::vector<std::string> names;
  Validity validity = Moment::Now(*store_).validity() & node.freshness.validity();
  if (node.group() == nullptr) return Valid{std::move(names), validity};
  const auto entries = store_->List(node.path);
  if (!entries) return Fail(entries);
  for (const ListEntry& entry : *entries) {
    if (!(entry.is_folder || entry.is_refused)) continue;
    if (!IsNodeNameBelow(node, entry.name)) {
      if (const auto told = ReportRefusedName(node, entry); !told) return Fail(told);
      continue;
    }
    const std::string path = JoinKey(node.path, entry.name);
    if (entry.is_folder && entry.is_refused) {
      Note(node, {ErrorCode::kZarrfsMount, fmt::format("{}: not shown: a zarrfs mount", path)});
      continue;
    }
    const auto child = Get(path, max_age);
    if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
    // A node that cannot be read now is listed: using it gives the error.
    if (child || child.error().code != ErrorCode::kNotFound) names.push_back(entry.name);
    if (!validity.is_known()) continue;
    if (child) {
      validity &= (*child)->freshness.validity();
    } else {
      // It becomes a node once there is a document in it, or anywhere below: only its own names
      // are watched.
      const bool is_absent = child.error().code == ErrorCode::kNotFound;
      validity &= is_absent ? Validity::Watch(*store_, path) : Validity();
      const auto below = validity.is_known() ? store_->List(path) : entries;
      if (!below || std::ranges::any_of(*below, &ListEntry::is_folder)) validity = Validity();
    }
  }
  std::ranges::sort(names);
  return Valid{std::move(names), validity};
}

Result<ConsolidatedPtr> Hierarchy::Consolidate(const NodePtr& group, size_t view,
                                               Age max_age) const {
  const ConsolidatedPtr known = KnownConsolidated(*group, view);
  if (known != nullptr && known->nodes.front() == FingerprintOf(*group, view) &&
      known->freshness.IsFresh(*store_, max_age)) {
    return known;
  }
  return MakeConsolidated(group, view, max_age, known);
}

Result<ConsolidatedPtr> Hierarchy::MakeConsolidated(const NodePtr& group, size_t view, Age max_age,
                                                    const ConsolidatedPtr& known) const {
  const Moment asked = Moment::Now(*store_);
  Validity validity = asked.validity();
  auto made = std::make_shared<Consolidated>();
  uint64_t bytes = 0;
  struct Shown {
    std::string path;  // from the group on
    std::vector<Document> documents;
  };
  std::vector<Shown> shown;
  std::vector<std::string> pending;
  NodePtr node = group;
  while (!made->is_too_large) {
    made->nodes.push_back(FingerprintOf(*node, view));
    std::string below = node->path.substr(group->path.size());
    if (below.starts_with('/')) below.erase(0, 1);
    shown.push_back({std::move(below), node->views[view].documents});
    if (node->info.version.ctime_ns >= made->newest.ctime_ns) made->newest = node->info.version;
    for (const Document& document : shown.back().documents) bytes += document.bytes.size();
    made->is_too_large =
        bytes > kMaxMetadataBytes ||
        (!group->has_zmetadata() && made->nodes.size() > options_.consolidated_max + 1);
    const auto names = Children(*node, max_age);
    validity &= names ? names->validity : Validity();
    if (names) {
      for (auto name = names->value.rbegin(); name != names->value.rend(); ++name) {
        pending.push_back(JoinKey(node->path, *name));
      }
    } else if (names.error().code != ErrorCode::kPermissionDenied) {
      return Fail(names);
    } else {
      Note(*group, {ErrorCode::kPermissionDenied,
                    fmt::format("{}: left out of the consolidated metadata in {}: what lies below "
                                "(permission denied)",
                                node->path, AllViews()[view]->name())});
    }
    // The next one that the view shows.
    node = nullptr;
    while (node == nullptr && !pending.empty()) {
      const std::string path = std::move(pending.back());
      pending.pop_back();
      auto child = Get(path, kAnyAge);
      if (!child && child.error().code == ErrorCode::kNotFound) continue;
      if (const auto reason = WhyLeftOut(*group, child); !reason.empty()) {
        if (!child) validity = Validity();
        Note(*group, {ErrorCode::kPermissionDenied,
                      fmt::format("{}: left out of the consolidated metadata in {}: {}", path,
                                  AllViews()[view]->name(), reason)});
        continue;
      }
      if (!child) return Fail(child);
      if ((*child)->unreadable() != nullptr) return tl::unexpected(*(*child)->unreadable());
      const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
      if (Shows(**child, name, view)) node = std::move(*child);
    }
    if (node == nullptr) break;
  }
  made->freshness.Set(asked, validity);
  if (known != nullptr && known->nodes == made->nodes) {
    known->freshness.Set(asked, validity);
    return known;
  }
  if (made->is_too_large) {
    ReportOnce(*group,
               {ErrorCode::kTooLarge,
                fmt::format("{}: no consolidated metadata in {}: more than {} nodes or {} MiB",
                            group->path.empty() ? "/" : group->path, AllViews()[view]->name(),
                            options_.consolidated_max, kMaxMetadataBytes >> 20)});
    made->nodes.resize(1);
  } else {
    std::vector<NodeBelow> nodes;
    for (const Shown& one : shown) {
      nodes.push_back({one.path, one.documents});
      made->paths.push_back(JoinKey(group->path, one.path));
    }
    auto text = std::make_shared<const std::string>(AllViews()[view]->Consolidate(nodes));
    made->text_number = TextNumber(*text);
    made->size = text->size();
    texts_.Put(made->text_number, text, text->size());
  }
  consolidated_.Put(ConsolidatedKey(*group, view), made,
                    sizeof(Consolidated) + made->nodes.size() * sizeof(made->nodes[0]));
  return made;
}

std::string Hierarchy::WhyLeftOut(const Node& group, const Result<NodePtr>& below) const {
  if (!below) {
    return below.error().code == ErrorCode::kPermissionDenied ? "permission denied" : "";
  }
  ObjectInfo info = (*below)->info;
  info.mode &= (*below)->attributes_mode;
  const bool is_hidden = options_.is_for_others && IsLessOpen(info, group.info);
  return is_hidden ? "fewer people may read it than the group" : "";
}

ConsolidatedPtr Hierarchy::KnownConsolidated(const Node& group, size_t view) const {
  return consolidated_.Get(ConsolidatedKey(group, view));
}

uint64_t Hierarchy::TextNumber(std::string_view text) const {
  DigestBuilder digest;
  digest.Add(text);
  const std::lock_guard lock(text_numbers_mutex_);
  // (A text that is forgotten gets another number, as if it had changed.)
  if (text_numbers_.size() >= kMaxTold) text_numbers_.clear();
  const auto [known, is_new] = text_numbers_.try_emplace(std::move(digest).Finish(), 0);
  if (is_new) known->second = ++last_text_number_;
  return known->second;
}

Result<std::shared_ptr<const std::string>> Hierarchy::ConsolidatedText(const NodePtr& group,
                                                                       size_t view,
                                                                       uint64_t text_number) const {
  if (auto text = texts_.Get(text_number)) return text;
  const auto made = MakeConsolidated(group, view, kAnyAge, nullptr);
  if (!made) return Fail(made);
  auto text = (*made)->text_number == text_number ? texts_.Get(text_number) : nullptr;
  if (text == nullptr) {
    return Fail(ErrorCode::kStale, "{}: the consolidated metadata have changed", group->path);
  }
  return text;
}

bool Hierarchy::IsFresh(const Node& node, Age max_age) const {
  return node.freshness.IsFresh(*store_, max_age);
}

bool Hierarchy::Shows(const Node& child, std::string_view name, size_t view) {
  return !child.views[view].hidden && AllViews()[view]->AllowsNodeName(name);
}

}  // namespace zarrfs
