#include "zarrcore/hierarchy/node_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <span>
#include <utility>

#include "zarrcore/hierarchy/source_documents.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {
namespace {

// The number of parts of the shard index cache. Each part has its own lock; all share the capacity.
constexpr size_t kIndexCacheParts = 4;
// If a view shows missing chunks as files and an array has more chunks than this, users are told
// that a copy of the view contains a file for every chunk.
constexpr uint64_t kManyFiles = 100'000;

Digest DigestOf(const std::vector<Document>& documents) {
  DigestBuilder all;
  for (const Document& document : documents) all.Add(document.name).Add(document.bytes);
  return all.Finish();
}

// Approximate memory of a node, in bytes. Parsed values take many times the size of their JSON.
size_t SizeInMemory(const Node& node) {
  size_t bytes = 8u << 10;
  const auto add_metadata = [&](const auto& metadata) {
    bytes += MemoryOf(metadata.document) + MemoryOf(metadata.attributes);
    if (metadata.stored != nullptr) {
      bytes += metadata.stored->document.capacity();
      if (metadata.stored->zattrs) bytes += metadata.stored->zattrs->capacity();
    }
  };
  if (node.metadata) std::visit(add_metadata, *node.metadata);
  if (const ArrayMetadata* array = node.array()) {
    // The layout, the pipeline and each view also hold copies of the codecs and the fill value.
    bytes += 4 * array->fill_value.size();
    for (const CodecSpec& codec : array->codecs) bytes += 4 * MemoryOf(codec.configuration);
    // Counts the chunk edges three times, to include their copies in the layout.
    for (const auto& edges : array->chunk_edges) bytes += 3 * edges.size() * sizeof(EdgeRun);
  }
  for (const NodeView& view : node.views) {
    for (const Document& document : view.documents) bytes += document.bytes.capacity();
    if (view.array) bytes += MemoryOf(view.array->attributes);
  }
  return bytes;
}

// Makes `node` a file in an OME group that is not part of Zarr. The file's bytes are read on
// demand.
void ShowFile(const Store& store, Node& node) {
  node.is_file = true;
  node.info = node.folder_info;
  node.racy = IsRacy(store, node.info);
  node.metadata = Fail(ErrorCode::kUnsupported, "{}: not part of Zarr", node.path);
  DigestBuilder content;
  content.Add(node.info.version.Fingerprint());
  // If the version is racy, the contents may still change without a new version, so the digest must
  // be unique.
  if (node.racy) content.Add(node.number);
  const Digest digest = content.Finish();
  for (size_t v = 0; v < AllViews().size(); ++v) {
    if (AllViews()[v]->shows_files()) {
      node.views[v].documents.emplace_back();
      node.views[v].documents_digest = digest;
    } else {
      node.views[v].hidden = node.metadata.error();
    }
  }
  node.bytes_in_memory = SizeInMemory(node);
}

// Metadata up to this size need no separate reservation, because memory for them is reserved for
// every node.
constexpr uint64_t kSmallMetadata = 64u << 10;

// Reserves the memory that is needed to make the documents of all views from large metadata: for
// changed attributes, and for the new documents, the last of which is still growing.
Result<void> TakeMemoryToShow(Node& node) {
  const auto needed = [](const auto& metadata) -> uint64_t {
    if (MemoryOf(metadata.document) <= kSmallMetadata) return 0;
    return 3 * MemoryOf(metadata.attributes) + (kMaxViews - 1) * MemoryToDump(metadata.document);
  };
  const uint64_t bytes = std::visit(needed, *node.metadata);
  if (bytes == 0) return {};
  // Releases the memory that was needed only for parsing.
  node.memory.ShrinkTo(SizeInMemory(node));
  auto memory = ProcessMemory().Take(bytes, node.memory.bytes());
  if (!memory) {
    return Fail(memory.error().code, "{}: {}", JoinKey(node.path, node.document),
                memory.error().message);
  }
  node.memory.Add(std::move(*memory));
  return {};
}

}  // namespace

std::string ChunksText(const ArrayMetadata& array, bool without_rows) {
  const auto shape = std::span(array.shape).subspan(without_rows && !array.shape.empty() ? 1 : 0);
  std::string edges;
  for (const auto& of_axis : array.chunk_edges) {
    for (const EdgeRun& run : of_axis) edges += fmt::format(" {}:{}", run.first, run.length);
    edges += " /";
  }
  return fmt::format("{} {}{} {} {}{} {} {}", shape, array.chunk_shape, edges,
                     DumpJson(array.data_type.document), static_cast<int>(array.key_encoding.kind),
                     array.key_encoding.is_undecided ? '?' : array.key_encoding.separator,
                     array.key_encoding.suffix, DumpJson(ToJson(array.codecs)));
}

NodeReader::NodeReader(std::shared_ptr<const Store> store, const HierarchyOptions& options,
                       Report report, NodeReports& reports)
    : store_(std::move(store)),
      options_(options),
      report_(report ? std::move(report) : [](const Error&) {}),
      reports_(reports),
      index_cache_(std::make_shared<IndexCache>(store_, options.index_cache_bytes, kIndexCacheParts,
                                                options.reuse)) {
  index_cache_->KeepLatestLarge();
}

Result<std::shared_ptr<const Node>> NodeReader::Read(const std::string& path,
                                                     FromParent from_parent, const NodePtr& before,
                                                     const Store* listed) const {
  const Store& documents = listed != nullptr ? *listed : *store_;
  // Not make_shared, because weak pointers would keep the memory of the node allocated.
  const std::shared_ptr<Node> node(new Node);
  node->path = path;
  node->is_provisional = listed != nullptr;
  // If folders are only prefixes of keys, a document proves that its folder exists.
  const auto implied = store_->FolderOfKeys();
  if (implied) node->metadata = ReadMetadata(documents, *node);
  const bool is_implied =
      implied && (node->metadata || node->metadata.error().code != ErrorCode::kNotFound);
  if (implied && !is_implied && IsNameOfV2Document(NameOf(path))) return Fail(node->metadata);
  auto folder = is_implied ? Result<ObjectInfo>(*implied) : store_->Stat(path);
  // Sockets, FIFOs, devices and zarrfs mounts are not nodes.
  if (!folder && (folder.error().code == ErrorCode::kZarrfsMount ||
                  folder.error().code == ErrorCode::kUnsupported)) {
    return Fail(ErrorCode::kNotFound, "{}", folder.error().message);
  }
  if (!folder) return Fail(folder);
  const bool is_file = !folder->is_folder;
  if (is_file && !(from_parent.below_ome && IsFileName(NameOf(path)))) {
    return Fail(ErrorCode::kNotFound, "{}: not a folder", path);
  }
  static std::atomic<uint64_t> last_number;
  node->number = ++last_number;
  node->folder_info = *folder;
  node->below_ome = from_parent.below_ome;
  node->from_parent = std::move(from_parent);
  if (is_file) {
    node->sources.clear();
    ShowFile(*store_, *node);
    return node;
  }

  if (!implied) node->metadata = ReadMetadata(documents, *node);
  if (!node->metadata && node->metadata.error().code == ErrorCode::kNotFound) {
    const auto below =
        IsNameOfV2Document(NameOf(path)) ? Result<bool>(false) : HasNodeBelow(*store_, path);
    if (!below) return Fail(below);
    if (!*below) return Fail(node->metadata);
    node->metadata = GroupMetadata{};
    node->implicit = true;
    node->info = *folder;
  } else if (!node->metadata && !IsVerdict(node->metadata.error().code)) {
    return Fail(node->metadata);
  }
  node->racy = node->racy || IsRacy(*store_, node->info);
  if (node->metadata) {
    const auto taken = TakeMemoryToShow(*node);
    if (!taken && !IsVerdict(taken.error().code)) return Fail(taken);
    if (!taken) node->metadata = Fail(taken);
  }
  if (!node->metadata) {
    const Error& reason = node->metadata.error();
    ReportFault(*node, {reason.code, fmt::format("not shown: {}", reason.message)});
    for (NodeView& view : node->views) view.hidden = reason;
  } else {
    for (const std::string& note :
         std::visit([](const auto& one) { return std::span(one.notes); }, *node->metadata)) {
      ReportFault(*node, {ErrorCode::kUnsupported, note});
    }
    node->array() != nullptr ? ShowArray(*node, before) : ShowGroup(*node);
    for (NodeView& view : node->views) view.documents_digest = DigestOf(view.documents);
    reports_.ReportName(*node);
  }
  node->bytes_in_memory = SizeInMemory(*node);
  node->memory.ShrinkTo(node->bytes_in_memory);
  return node;
}

Result<std::shared_ptr<Outline>> NodeReader::ReadOutline(const std::string& path,
                                                         FromParent from_parent,
                                                         OutlineKey& key) const {
  const auto folder = store_->Stat(path);
  const bool is_other = !folder && (folder.error().code == ErrorCode::kZarrfsMount ||
                                    folder.error().code == ErrorCode::kUnsupported);
  if (!folder && !is_other) return Fail(folder);
  if (is_other || !folder->is_folder) return nullptr;
  Node node;
  node.path = path;
  node.folder_info = *folder;
  node.below_ome = from_parent.below_ome;
  node.from_parent = std::move(from_parent);
  const auto text = ReadZarrJson(*store_, node);
  if (!text && text.error().code == ErrorCode::kWouldBlock) return Fail(text);
  if (!text || !*text) return nullptr;
  key = {node.sources.front().version, KnownKinds::KeyOf(**text, path, node.from_parent)};
  node.racy = node.racy || IsRacy(*store_, node.info);
  if (!key.kind) return nullptr;
  std::shared_ptr<Outline> outline(new Outline);
  static_cast<NodeSource&>(*outline) = std::move(static_cast<NodeSource&>(node));
  if (!kinds_.Complete(*key.kind, *outline)) return nullptr;
  reports_.ReportName(*outline);
  return outline;
}

void NodeReader::Remember(const OutlineKey& key, const Node& node) const {
  const bool is_same = key.kind && !node.racy && !node.sources.empty() &&
                       node.sources.front().name == kZarrJson &&
                       node.sources.front().version == key.version;
  if (is_same) kinds_.Add(*key.kind, node);
}

void NodeReader::ShowGroup(Node& node) const {
  const std::string_view name = std::string_view(node.path).substr(node.path.find_last_of('/') + 1);
  const OmePlace place{node.from_parent.below_ome, name};
  node.below_ome = place.below_ome || IsOme(node.group()->attributes, place);
  ViewContext context;
  context.below_ome = place.below_ome;
  context.group_name = name;
  context.keeps_ome = options_.keeps_ome;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    GroupView shown = AllViews()[v]->ShowGroup(*node.group(), context);
    node.views[v].documents = std::move(shown.documents);
    node.views[v].notes = std::move(shown.notes);
    if (options_.consolidated_max > 0 || node.keeps_zmetadata(v)) {
      node.views[v].consolidated = AllViews()[v]->ConsolidatedName(*node.group());
    }
    if (!AllViews()[v]->is_listed()) continue;  // an unlisted view may never be used
    for (const std::string& note : node.views[v].notes) {
      ReportNote(node, {ErrorCode::kUnsupported,
                        fmt::format("{}: {}: {}", node.path.empty() ? "/" : node.path,
                                    AllViews()[v]->name(), note)});
    }
  }
}

void NodeReader::ShowArray(Node& node, const NodePtr& before) const {
  if (const auto found = FindChunks(node, before); !found) {
    ReportFault(node, {found.error().code,
                       fmt::format("{}: not shown: {}", node.path, found.error().message)});
    for (NodeView& view : node.views) view.hidden = found.error();
    return;
  }
  for (size_t v = 0; v < AllViews().size(); ++v) ShowArrayIn(v, node);
  ReportHidden(node);
}

Result<void> NodeReader::FindChunks(Node& node, const NodePtr& before) const {
  const bool has_before = before != nullptr && before->chunks != nullptr;
  // If the objects that revealed the separator of chunk keys were deleted, the separator is
  // undecided again, and the ChunkSource of `before` cannot be reused.
  const bool is_named_alike = has_before && (!node.array()->key_encoding.is_undecided ||
                                             !before->chunks->has_decided_naming());
  if (is_named_alike && ChunksText(*before->array()) == ChunksText(*node.array())) {
    node.chunks = before->chunks;
    return {};
  }
  const bool has_other_rows =
      is_named_alike && ChunksText(*before->array(), true) == ChunksText(*node.array(), true);
  auto chunks =
      ChunkSource::Make(store_, node.path, *node.array(), index_cache_, report_,
                        options_.on_superseded, has_other_rows ? before->chunks.get() : nullptr);
  if (!chunks) return Fail(chunks);
  node.chunks = std::move(*chunks);
  return {};
}

void NodeReader::ShowArrayIn(size_t view, Node& node) const {
  const ViewContext context{.forced_separator = options_.forced_separator,
                            .below_ome = node.from_parent.below_ome,
                            .fill = options_.fill,
                            .is_in_root = node.path.find('/') == std::string::npos,
                            .keeps_ome = options_.keeps_ome,
                            .compressors = options_.compressors,
                            .axes = node.from_parent.axes};
  NodeView& shown = node.views[view];
  auto array = AllViews()[view]->ShowArray(*node.array(), node.chunks->layout(), context);
  if (!array) {
    shown.hidden = std::move(array.error());
    return;
  }
  shown.documents = std::move(array->documents);
  shown.has_texts = array->has_texts;
  if (AllViews()[view]->is_listed()) ReportNotes(node, AllViews()[view]->name(), *array);
  // If the array is shown as one file, or all its strings are in one file, its chunks are not
  // files.
  if (AllViews()[view]->file_of() == FileOf::kNothing && !shown.has_texts)
    shown.array = std::move(*array);
}

void NodeReader::ReportNotes(Node& node, std::string_view view, const ArrayView& array) const {
  const uint64_t files = node.chunks->layout().inner_grid.size();
  if (array.fill_chunk != nullptr && files > kManyFiles) {
    const bool can_avoid = options_.fill != FillPolicy::kKeep;
    ReportNote(
        node, {ErrorCode::kUnsupported,
               fmt::format("{}: {}: all {} chunks are files, stored or not; a copy makes them "
                           "all{}",
                           node.path, view, files,
                           can_avoid ? ", which fill=keep avoids unless _FillValue is another value"
                                     : "")});
  }
  for (const std::string& note : array.notes) {
    ReportFault(node, {ErrorCode::kUnsupported, fmt::format("{}: {}: {}", node.path, view, note)});
  }
}

void NodeReader::ReportHidden(Node& node) const {
  const ArrayMetadata& metadata = *node.array();
  std::map<std::string, std::vector<std::string_view>> views_by_reason;
  for (size_t v = 0; v < AllViews().size(); ++v) {
    const std::optional<Error>& reason = node.views[v].hidden;
    if (reason && AllViews()[v]->is_listed())
      views_by_reason[reason->message].push_back(AllViews()[v]->name());
  }
  const bool is_shown =
      std::ranges::any_of(node.views, [](const NodeView& view) { return view.array.has_value(); });
  // A type that one reader does not support is a property of the array. A chunk encoding that
  // zarrfs itself cannot decode is a fault.
  const bool is_decodable =
      !metadata.grid_only &&
      (metadata.data_type.item_size == 0 || node.chunks->layout().inner_pipeline.has_value());
  const ErrorCode code = metadata.grid_only ? metadata.grid_only->code : ErrorCode::kUnsupported;
  for (const auto& [reason, views] : views_by_reason) {
    const Error not_shown{
        code, fmt::format("{}: not shown in {}: {}", node.path, fmt::join(views, ", "), reason)};
    if (is_shown && is_decodable) {
      ReportNote(node, not_shown);
    } else {
      ReportFault(node, not_shown);
    }
  }
}

}  // namespace zarrfs
