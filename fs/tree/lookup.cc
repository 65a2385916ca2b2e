#include "fs/tree/lookup.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/hierarchy/source_documents.h"

namespace zarrfs {
namespace {

// The maximum number of attempts if a shard is replaced during a lookup.
constexpr int kMaxAttempts = 3;

// True if `name` could be a chunk, or the folder of all chunks, of an array whose metadata have not
// been read yet.
bool MayBeChunk(std::string_view name) {
  const bool has_c = name == "c" || name.starts_with("c.");
  return has_c || (name.find_first_not_of("0123456789.") == name.npos && !name.starts_with('.'));
}

Error Absent(std::string_view what) { return {ErrorCode::kNotFound, std::string(what)}; }

}  // namespace

Result<Entry> Lookup::Find(const Target& folder, const std::string& name) const {
  if (folder.kind == Target::Kind::kRoot) return InRootOfViews(name);
  if (folder.kind != Target::Kind::kFolder && folder.kind != Target::Kind::kChunkFolder) {
    return Fail(ErrorCode::kNotADirectory, "{}: not a folder", folder.record->path);
  }
  const auto known = nodes_.Know(folder.record->path);
  if (!known) {
    // The node was only listed, or its metadata were evicted. It may have been an array with any
    // chunk.
    const bool is_gone = known.error().code == ErrorCode::kNotFound;
    if (!is_gone || !MayBeChunk(name)) return Fail(known);
    const CurrentNode node{folder.record, nullptr, 0, folder.range};
    return MaybeChunk(folder, node, known.error(), name);
  }
  Result<Entry> entry = folder.kind == Target::Kind::kChunkFolder
                            ? InChunkFolder(folder, *known, name)
                        : known->error ? InUnreadable(*known, folder.view, name)
                                       : InNode(*known, folder.view, name);
  const bool is_unknown =
      !entry && entry.error().code != ErrorCode::kWouldBlock && known->error.has_value();
  if (!is_unknown) return entry;
  // An unreadable node may have names that it did not have when it was last read.
  const CurrentNode& node = known->current;
  const bool is_gone = known->error->code == ErrorCode::kNotFound;
  bool may_be_array = node.node == nullptr || node.node->group() == nullptr;
  if (is_gone && MayBeChunk(name)) {
    // If only this node was deleted, it had just the names that it was last seen with. If the whole
    // store is gone, the node may have been replaced before it disappeared.
    const AcceptedAnswers accepted(Age{0}, {});
    const auto root = nodes_.Refresh("", Age{0});
    if (!root && root.error().code == ErrorCode::kWouldBlock) return Fail(root);
    may_be_array = !root || root->node->unreadable() != nullptr;
  }
  if (may_be_array && MayBeChunk(name)) return MaybeChunk(folder, node, *known->error, name);
  if (entry.error().code == ErrorCode::kNotFound) return tl::unexpected(*known->error);
  return entry;
}

Result<Entry> Lookup::MaybeChunk(const Target& folder, const CurrentNode& node, Error error,
                                 std::string_view name) const {
  const bool is_file = folder.kind == Target::Kind::kFolder && name != "c";
  if (is_file && !HasFiles(folder.view)) return entries_.UnreadableDocument(node, folder.view, 0);
  if (error.code == ErrorCode::kNotFound && !HasFiles(folder.view)) error.code = ErrorCode::kIo;
  return tl::unexpected(std::move(error));
}

Result<Entry> Lookup::FindInterrupted(const Target& folder, const std::string& name) const {
  const Error error{ErrorCode::kInterrupted, name + ": interrupted"};
  KnownNode known = nodes_.LastKnown(folder, error);
  if (known.current.node == nullptr && folder.range == nullptr) return tl::unexpected(error);
  Result<Entry> entry = tl::unexpected(error);
  if (folder.kind == Target::Kind::kRoot) {
    if (const auto view = ViewNumber(name)) entry = entries_.UnreadableFolder(known, *view);
  } else if (folder.kind == Target::Kind::kChunkFolder) {
    known.current.range = folder.range;
    entry = ChunkPath(known.current, folder.view, folder.prefix, folder.level, /*in_array=*/false,
                      name, &error);
  } else {
    entry = InUnreadable(known, folder.view, name);
  }
  if (entry) {
    entry->name_timeout = Timeouts::kUnreadableName;
    // With a timeout of 0, the kernel would immediately request the attributes, and the request
    // would fail.
    entry->attribute_timeout = Timeouts::kUnreadableAttributes;
  }
  return entry;
}

Result<Entry> Lookup::InRootOfViews(const std::string& name) const {
  const auto view = ViewNumber(name);
  if (!view) return tl::unexpected(Absent("no such view"));
  const auto root = nodes_.Know("");
  if (!root) return Fail(root);
  if (root->error) return entries_.UnreadableFolder(*root, *view);
  if (root->current.node->views[*view].hidden) return tl::unexpected(Absent("hidden"));
  return entries_.Folder(root->current, *view);
}

Result<Entry> Lookup::InNode(const KnownNode& known, size_t view, const std::string& name) const {
  const CurrentNode& node = known.current;
  const NodeView& shown = node.node->views[view];
  if (shown.hidden) return tl::unexpected(Absent("hidden"));
  if (HasFiles(view)) return InFolderOfFiles(node, view, name);
  if (!name.empty() && name == shown.consolidated) {
    return entries_.Document(node, view, kConsolidatedDocument);
  }
  for (size_t d = 0; d < shown.documents.size() && !name.empty(); ++d) {
    if (shown.documents[d].name == name) return entries_.Document(node, view, d);
  }
  if (node.node->chunks != nullptr && !IsNodeNameBelowArray(name)) {
    return ChunkPath(node, view, {}, 0, /*in_array=*/true, name, nullptr);
  }
  // Names that no node can have in this view are absent without a request to the store, which may
  // be behind a network. Readers look up `.zarray` in each group.
  if (!AllViews()[view]->AllowsNodeName(name))
    return tl::unexpected(Absent("no node has such a name in this view"));
  return Child(JoinKey(node.node->path, name), view, name);
}

Result<Entry> Lookup::Child(const std::string& path, size_t view, const std::string& name) const {
  // Uses only the outline of the node, as a listing does, so that lookups and listings return equal
  // entries for a readable node.
  if (nodes_.store().AnswersFast()) {
    const auto listed = nodes_.List(path, view, nodes_.check_age());
    const bool is_absent = !listed && listed.error().code == ErrorCode::kNotFound;
    if (is_absent && nodes_.LastSeen(path).node == nullptr) return Fail(listed);
    if (listed && !listed->outline->is_unreadable && !listed->outline->is_file) {
      if (Hierarchy::Shows(*listed->outline, name, view)) return entries_.Folder(*listed, view);
      return tl::unexpected(Absent("hidden"));
    }
  }
  const auto child = nodes_.KnowListed(path, view);
  if (!child) return Fail(child);
  if (child->error && child->current.node != nullptr && child->current.node->is_file) {
    return tl::unexpected(*child->error);  // readers do not replace stored files with fill values
  }
  if (child->error) return entries_.UnreadableFolder(*child, view);
  if (!Hierarchy::Shows(*child->current.node, name, view)) return tl::unexpected(Absent("hidden"));
  return entries_.FolderOrFile(child->current, view);
}

Result<Entry> Lookup::InFolderOfFiles(const CurrentNode& group, size_t view,
                                      const std::string& name) const {
  const WholeFiles& files = nodes_.files();
  const std::string& folder = group.node->path;
  const auto is_folder =
      files.HasFileOrFolder(JoinKey(folder, name), view, /*file=*/false, nodes_.check_age());
  if (!is_folder) return Fail(is_folder);
  if (*is_folder) {
    const auto child = nodes_.Know(JoinKey(folder, name));
    if (!child) return Fail(child);
    return child->error ? entries_.UnreadableFolder(*child, view)
                        : entries_.Folder(child->current, view);
  }
  const auto path = files.PathOf(folder, view, name, nodes_.check_age());
  if (!path) return Fail(path);
  if (!*path) return tl::unexpected(Absent("no such file"));
  const auto known = nodes_.Know(**path);
  if (!known) return Fail(known);
  if (known->error) return entries_.UnreadableDocument(known->current, view, 0);
  if (known->current.node->views[view].hidden) return tl::unexpected(Absent("hidden"));
  return entries_.Document(known->current, view, 0);
}

CurrentNode Lookup::LastSeenFile(const std::string& folder, size_t view,
                                 std::string_view name) const {
  if (folder.empty()) {
    const auto called = nodes_.files().Name("", view, kAnyAge);
    if (called && *called == name) return nodes_.LastSeen("");
  }
  const std::string_view suffix = AllViews()[view]->suffix();
  if (!name.ends_with(suffix)) return {};
  return nodes_.LastSeen(JoinKey(folder, name.substr(0, name.size() - suffix.size())));
}

Result<Entry> Lookup::InUnreadable(const KnownNode& known, size_t view,
                                   const std::string& name) const {
  const CurrentNode& node = known.current;
  const bool is_gone = known.error->code == ErrorCode::kNotFound;
  if (!is_gone) {
    // Documents that the node had, or that an array would have, become files whose READ fails with
    // the reason.
    static const NodeView kNever;
    const NodeView& shown = node.node != nullptr ? node.node->views[view] : kNever;
    for (size_t d = 0; d < shown.documents.size(); ++d) {
      if (shown.documents[d].name == name) return entries_.UnreadableDocument(node, view, d);
    }
    if (!shown.consolidated.empty() && name == shown.consolidated) {
      return entries_.UnreadableDocument(node, view, kConsolidatedDocument);
    }
    if (shown.documents.empty() && name == AllViews()[view]->ArrayDocumentName()) {
      return entries_.UnreadableDocument(node, view, 0);
    }
    if (HasFiles(view)) {
      const CurrentNode file = LastSeenFile(node.record->path, view, name);
      if (file.record != nullptr) return entries_.UnreadableDocument(file, view, 0);
    }
  }
  if (node.range != nullptr) {
    return ChunkPath(node, view, {}, 0, /*in_array=*/true, name, known.why());
  }
  // Below an unreadable group, a name is known to belong to a node only if that node was used
  // before.
  const CurrentNode child = nodes_.LastSeen(JoinKey(node.record->path, name));
  if (child.record == nullptr) return tl::unexpected(*known.error);
  return entries_.UnreadableFolder({child, known.error}, view);
}

Result<Entry> Lookup::InChunkFolder(const Target& folder, const KnownNode& known,
                                    std::string_view name) const {
  CurrentNode node = known.current;
  if (known.error && node.range == nullptr) node.range = folder.range;
  // The folder may belong to an older layout of the array. Its coordinates still identify the same
  // chunks, if these exist.
  if (node.range != nullptr && node.range->rank() != folder.range->rank()) {
    return Fail(ErrorCode::kStale, "{}: the rank of the array has changed", folder.record->path);
  }
  return ChunkPath(node, folder.view, folder.prefix, folder.level, /*in_array=*/false, name,
                   known.why());
}

Result<Entry> Lookup::ChunkPath(const CurrentNode& node, size_t view, ChunkCoordinates prefix,
                                size_t level, bool in_array, std::string_view name,
                                const Error* error) const {
  const Error absent = Absent("no such chunk");
  if (node.range == nullptr || !node.range->views[view].shown) return tl::unexpected(absent);
  const ArrayRange& range = *node.range;
  const auto& grid = range.chunks->layout().inner_grid;
  bool is_outside = grid.size() == 0;
  for (size_t d = 0; d < level; ++d) {
    // The folder may belong to an older layout. Outside the current array, it has no chunks.
    is_outside = is_outside || prefix[d] >= grid.counts()[d];
  }
  if (is_outside || !range.views[view].naming.Parse(grid.counts(), name, in_array, prefix, level)) {
    const bool may_be_chunk =
        name.starts_with('c') || name.find_first_not_of("0123456789.") == name.npos;
    if (error != nullptr || !may_be_chunk) return tl::unexpected(absent);
    Entry beyond;
    beyond.name_timeout = timeouts_.BeyondGrid();
    return beyond;
  }
  const std::span<const uint64_t> coordinates{prefix.data(), level};
  if (level == grid.rank()) {
    const ChunkName chunk{node, view, InnerIndex{grid.Linear(coordinates)}};
    if (error == nullptr) return Chunk(chunk);
    auto entry = entries_.UnreadableChunk(chunk, *error);
    // The array's metadata may be repaired at any moment.
    if (entry) entry->name_timeout = Timeouts::kUnreadableName;
    return entry;
  }
  // The folder exists in any case if missing chunks also have files, if the array cannot be read,
  // or if only requests for all of its chunks could show that it is empty.
  if (range.views[view].fill_chunk != nullptr || error != nullptr ||
      nodes_.store().ListsByAsking()) {
    return entries_.ChunkFolder(node, view, coordinates);
  }
  const auto any = range.chunks->AnyChunk(coordinates, nodes_.check_age());
  if (!any && any.error().code == ErrorCode::kWouldBlock) return Fail(any);
  if (any && !any->value) {
    const auto gone = nodes_.WhyGone(*node.node);
    if (!gone) return tl::unexpected(absent);
    if (gone->code == ErrorCode::kWouldBlock) return tl::unexpected(*gone);
    return entries_.ChunkFolder(node, view, coordinates);
  }
  return entries_.ChunkFolder(node, view, coordinates, any ? any->validity : Validity{});
}

Result<Entry> Lookup::Chunk(const ChunkName& chunk) const {
  const ChunkSource& chunks = *chunk.node.range->chunks;
  const auto& part = chunk.part();
  for (int attempt = 1;; ++attempt) {
    const auto found = chunks.Locate(chunk.chunk, nodes_.check_age(),
                                     part.encoding.must_be_read_for_size(), part.sizes());
    Result<Entry> entry = Entry{};
    if (!found) {
      entry = Fail(found);
    } else if (found->location) {
      entry = entries_.Chunk(chunk, *found->location, found->validity);
    } else if (const auto gone = nodes_.WhyGone(*chunk.node.node)) {
      return entries_.UnreadableChunk(chunk, *gone);
    } else if (part.fill_chunk != nullptr) {
      entry = entries_.FillChunk(chunk, found->validity);
    } else {
      entry->name_timeout =
          std::min(timeouts_.Absence(found->validity), timeouts_.Node(*chunk.node.node));
    }
    if (entry) return entry;
    if (entry.error().code != ErrorCode::kStale || attempt == kMaxAttempts) {
      return entries_.UnreadableChunk(chunk, entry.error());
    }
    chunks.Forget(chunks.OuterOf(chunk.chunk));
  }
}

}  // namespace zarrfs
