#include "zarrcore/hierarchy/source_documents.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/array/stored_objects.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/metadata/consolidated_member.h"
#include "zarrcore/metadata/v2_metadata.h"

namespace zarrfs {
namespace {

constexpr int kMaxImplicitDepth = 16;
constexpr int kMaxImplicitFolders = 4096;

using Text = std::optional<std::string>;  // nullopt if the document does not exist

// Keeps the documents that a view may pass through unchanged. Documents of sharded arrays and
// documents with consolidated metadata are always rewritten, so they are not kept.
void Keep(StoredDocuments documents, NodeMetadata& metadata) {
  const auto* group = std::get_if<GroupMetadata>(&metadata);
  if (group != nullptr && group->consolidated_metadata != Json::value_t::null) {
    documents.document.clear();
  }
  const auto* array = std::get_if<ArrayMetadata>(&metadata);
  const auto is_sharding = [](const CodecSpec& codec) { return codec.name == "sharding_indexed"; };
  if (array != nullptr && std::ranges::any_of(array->codecs, is_sharding)) return;
  auto stored = std::make_shared<const StoredDocuments>(std::move(documents));
  std::visit([&](auto& node) { node.stored = std::move(stored); }, metadata);
}

// Finds the separator of an array's chunk keys in `folder` if the .zarray does not state it.
Result<void> DecideSeparator(const Store& store, const std::string& folder, ArrayMetadata& array) {
  ChunkKeyEncoding& encoding = array.key_encoding;
  encoding.is_undecided = true;
  const ObjectNaming naming(encoding);
  const auto grid = ChunkGrid::Make(array.shape, array.chunk_shape);
  if (!grid) return {};  // an array without a valid grid is not shown
  const ChunkCoordinates first{};
  for (const ChunkNaming& form : naming.candidates()) {
    std::array<std::byte, 1> byte{};
    const std::string key = JoinKey(folder, form.Path({first.data(), grid->rank()}));
    const auto found = store.Read(key, ByteRange::At(0, byte.size()), byte);
    if (found) naming.Decide(form);
    if (found) break;
    if (IsTemporary(found.error().code)) return Fail(found);
    // Any other error is ignored, because reading the chunk returns the same error.
    if (found.error().code != ErrorCode::kNotFound) break;
  }
  // A slow store is not listed, because a listing needs many requests. Its chunks are looked up
  // with both separators instead.
  if (!naming.is_decided() && store.AnswersFast()) {
    const auto listed = DecideByListing(store, folder, *grid, naming);
    if (!listed && IsTemporary(listed.error().code)) return Fail(listed);
  }
  encoding.is_undecided = !naming.is_decided();
  encoding.separator = naming.current().separator;
  array.document["chunk_key_encoding"] =
      Json{{"name", "v2"}, {"configuration", {{"separator", std::string(1, encoding.separator)}}}};
  return {};
}

// Adds `bytes` to the memory reserved for a node. `name`: the document that needs the memory, for
// the error message.
Result<void> TakeMemory(Node& node, std::string_view name, uint64_t bytes) {
  auto memory = ProcessMemory().Take(bytes, node.memory.bytes());
  if (!memory) {
    return Fail(memory.error().code, "{}: {}", JoinKey(node.path, name), memory.error().message);
  }
  node.memory.Add(std::move(*memory));
  return {};
}

// Memory reserved to read any node. Large documents need more.
constexpr uint64_t kMemoryOfSmallNode = 256u << 10;
constexpr uint64_t kSmallDocument = 4u << 10;

// Reserves memory to parse a document and to keep its bytes.
Result<void> TakeMemoryToParse(Node& node, std::string_view name, std::string_view text) {
  if (text.size() <= kSmallDocument) return {};
  return TakeMemory(node, name, MemoryToParse(text) + text.size());
}

Result<Text> ReadSource(const Store& store, Node& node, std::string_view name) {
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
    node.racy = node.racy || IsRacy(store, info);
  };
  const bool may_have_nodes = name == kZarrJson;
  auto whole = ReadWhole(store, key, may_have_nodes ? kMaxConsolidatedBytes : kMaxMetadataBytes,
                         [&](uint64_t size) { return TakeMemory(node, name, size); });
  if (whole) {
    if (may_have_nodes) EraseConsolidated(whole->bytes);
    if (auto taken = TakeMemoryToParse(node, name, whole->bytes); !taken) whole = Fail(taken);
  }
  if (whole) {
    add(whole->object->info());
    return std::move(whole->bytes);
  }
  if (whole.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (IsVerdict(whole.error().code)) {
    // The version from Stat() may be later than the rejected bytes, so the node is racy, and each
    // revalidation reads it again.
    if (const auto info = store.Stat(key)) add(*info);
    node.racy = true;
    if (name != kZattrs) node.document = name;
  }
  // The document is not a regular file but, for example, a FIFO. The node must not look absent,
  // because an array may exist here.
  if (whole.error().code == ErrorCode::kUnsupported) {
    return Fail(ErrorCode::kDamaged, "{}", whole.error().message);
  }
  return Fail(whole);
}

// True if the document exists, regardless of its content.
Result<bool> HasSource(const Store& store, Node& node, std::string_view name) {
  SourceDocument& source = node.sources.emplace_back(SourceDocument{name, std::nullopt});
  const auto info = store.Stat(JoinKey(node.path, name));
  if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
  if (!info || info->is_folder) return false;
  source.version = info->version;
  node.info.may_change_elsewhere = node.info.may_change_elsewhere || info->may_change_elsewhere;
  node.racy = node.racy || IsRacy(store, *info);
  return true;
}

// The contents of a v2 node's documents.
struct V2Texts {
  std::string key;
  std::string text;  // the contents of .zarray or .zgroup
  std::string attributes_key;
  Result<Text> attributes;

  [[nodiscard]] NamedText document() const { return {key, text}; }
  [[nodiscard]] std::optional<NamedText> zattrs() const {
    if (!attributes || !*attributes) return std::nullopt;
    return NamedText{attributes_key, **attributes};
  }
  [[nodiscard]] StoredDocuments stored() const {
    StoredDocuments stored;
    stored.is_v2 = true;
    stored.document = text;
    if (attributes) stored.zattrs = *attributes;
    return stored;
  }
};

Result<NodeMetadata> ReadZgroup(const Store& store, Node& node, const V2Texts& texts) {
  auto group = ParseZgroup(texts.document(), texts.zattrs());
  if (!group) return Fail(group);
  // A group is shown even if its attributes are damaged or too large.
  if (!texts.attributes) {
    group->notes.push_back(
        fmt::format("{}; the attributes are left out", texts.attributes.error().message));
  }
  const auto has_zmetadata = HasSource(store, node, kZmetadata);
  if (!has_zmetadata) return Fail(has_zmetadata);
  StoredDocuments stored = texts.stored();
  stored.has_zmetadata = *has_zmetadata;
  // Moves the value in two steps, because converting a whole `expected` leaks memory in libexpected
  // 1.0.
  NodeMetadata metadata(std::in_place_type<GroupMetadata>, std::move(*group));
  Keep(std::move(stored), metadata);
  return metadata;
}

Result<NodeMetadata> ReadZarray(const Store& store, const Node& node, const V2Texts& texts) {
  // An array is not shown without its attributes, because readers would get wrong values without
  // scale_factor. The error may end soon, because a writer may be writing .zattrs now.
  if (!texts.attributes) return Fail(texts.attributes);
  if (const auto zattrs = texts.zattrs()) {
    if (auto json = ParseJson(zattrs->text, zattrs->key); !json) return Fail(json);
  }
  auto array = ParseZarray(texts.document(), texts.zattrs());
  if (!array) {
    auto grid = ParseZarrayGrid(texts.document(), array.error());
    if (!grid) return Fail(array);
    array = std::move(grid);
  }
  // Old writers of nested chunks, such as zarr-python's NestedDirectoryStore, omit
  // dimension_separator.
  if (array->rank() > 1 && texts.text.find("\"dimension_separator\"") == std::string::npos) {
    const auto asked = DecideSeparator(store, node.path, *array);
    if (!asked) return Fail(asked);
  }
  NodeMetadata metadata(std::in_place_type<ArrayMetadata>, std::move(*array));
  Keep(texts.stored(), metadata);
  return metadata;
}

bool IsNodeDocument(std::string_view name) {
  return name == kZarrJson || name == kZarray || name == kZgroup;
}

Result<bool> FindNode(const Store& store, const std::string& folder, int depth, int& budget) {
  const auto entries = store.List(folder);
  if (!entries && entries.error().code == ErrorCode::kNotFound) return false;
  if (!entries) return Fail(entries);
  for (const ListEntry& entry : *entries) {
    if (!entry.is_folder && IsNodeDocument(entry.name) && depth > 0) return true;
  }
  if (depth == kMaxImplicitDepth) return false;
  Result<bool> none = false;  // false, or the error of an unreadable folder
  for (const ListEntry& entry : *entries) {
    if (!entry.is_folder || entry.is_refused || !IsNodeName(entry.name)) continue;
    if (--budget < 0) break;
    const auto below = FindNode(store, JoinKey(folder, entry.name), depth + 1, budget);
    if (below && *below) return true;
    if (!below) none = Fail(below);
  }
  return none;
}

}  // namespace

Result<NodeMetadata> ReadMetadata(const Store& store, Node& node) {
  const auto zarr_json = ReadZarrJson(store, node);
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
    if (IsNameOfV2Document(NameOf(node.path))) break;
    auto text = ReadSource(store, node, name);
    if (!text) return Fail(text);
    if (!*text) continue;
    node.document = name;
    auto attributes = ReadSource(store, node, kZattrs);
    if (!attributes && !IsVerdict(attributes.error().code)) return Fail(attributes);
    const V2Texts texts{JoinKey(node.path, name), std::move(**text), JoinKey(node.path, kZattrs),
                        std::move(attributes)};
    return name == kZarray ? ReadZarray(store, node, texts) : ReadZgroup(store, node, texts);
  }
  return Fail(ErrorCode::kNotFound, "{}: no zarr.json, .zarray or .zgroup, here or below",
              node.path);
}

Result<std::optional<std::string>> ReadZarrJson(const Store& store, Node& node) {
  if (auto taken = TakeMemory(node, kZarrJson, kMemoryOfSmallNode); !taken) return Fail(taken);
  return ReadSource(store, node, kZarrJson);
}

Result<bool> IsCurrent(const Store& store, const NodeSource& node) {
  if (node.implicit || node.is_file) {
    const auto info = store.Stat(node.path);
    if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
    if (!info || info->version != node.info.version) return false;
  }
  for (const SourceDocument& source : node.sources) {
    const auto info = store.Stat(JoinKey(node.path, source.name));
    if (!info && info.error().code != ErrorCode::kNotFound) return Fail(info);
    std::optional<Version> version;
    if (info && !info->is_folder) version = info->version;
    if (version != source.version) return false;
  }
  return true;
}

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.find_first_not_of('.') != std::string_view::npos &&
         name != kZarrJson;
}

bool IsNameOfV2Document(std::string_view name) {
  return name == kZarray || name == kZgroup || name == kZattrs || name == kZmetadata;
}

bool IsNodeNameBelow(const Node& group, std::string_view name) {
  return IsNodeName(name) && !(group.is_v2() && name.starts_with(".z"));
}

bool IsNodeNameBelowArray(std::string_view name) {
  const bool may_be_chunk = name == "c" || name.starts_with("c.") ||
                            name.find_first_not_of("0123456789.") == std::string_view::npos;
  return IsNodeName(name) && !name.starts_with('.') && !may_be_chunk;
}

bool IsFileName(std::string_view name) { return IsNodeName(name) && !name.starts_with('.'); }

Result<bool> HasNodeBelow(const Store& store, const std::string& folder, bool or_in) {
  int budget = kMaxImplicitFolders;
  return FindNode(store, folder, or_in ? 1 : 0, budget);
}

}  // namespace zarrfs
