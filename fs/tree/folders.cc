#include "fs/tree/folders.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "fs/tree/chunk_files.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

constexpr NodeId kUnknownInode = 0xffffffff;  // the inode of a listed name whose inode is unknown

// A part of a folder that lists its entries by a function.
class FixedPart final : public FolderPart {
 public:
  using ListFrom = std::function<Result<bool>(uint64_t from, const AddEntry& add)>;
  explicit FixedPart(ListFrom list, std::function<Validity()> validity = nullptr)
      : list_(std::move(list)), validity_(std::move(validity)) {}
  Result<bool> List(uint64_t from, ListingOf /*what*/, const AddEntry& add) override {
    return list_(from, add);
  }
  Validity validity() const override { return validity_ ? validity_() : Validity(); }

 private:
  const ListFrom list_;
  const std::function<Validity()> validity_;
};

// Returns the maximum age of the answers that a listing accepts about nodes. A slow store is asked
// about all nodes when the folder is opened, so answers of any age are accepted later.
Age AgeOfListed(const Nodes& nodes) {
  return nodes.store().AnswersFast() ? nodes.check_age() : kAnyAge;
}

// Lists the folders of the views that the root shows. Positions are view numbers.
std::unique_ptr<FolderPart> ViewFolders(const Entries& entries, const CurrentNode& root,
                                        const ViewSet& listed) {
  return std::make_unique<FixedPart>(
      [&entries, root, listed](uint64_t from, const AddEntry& add) {
        for (size_t view = from; view < AllViews().size(); ++view) {
          if (!listed[view] || root.node->views[view].hidden) continue;
          const std::string name(AllViews()[view]->name());
          if (!add(name, entries.Folder(root, view), view + 1)) return false;
        }
        return true;
      },
      [node = root.node] { return node->freshness.validity(); });
}

// Decides whether a group has few enough nodes below it for a consolidated document. `takes_long`
// returns true if `ask`, which decides, may take long.
struct MayConsolidate {
  std::function<bool()> takes_long;
  std::function<Result<bool>()> ask;
};

// Returns whether a view shows a consolidated document of a node; nullopt if MayConsolidate must
// decide.
std::optional<bool> KnowsConsolidated(const Nodes& nodes, const Node& node, size_t view) {
  if (node.views[view].consolidated.empty()) return false;
  const auto known = nodes.consolidated().Known(node, view);
  if (known != nullptr) return !known->is_too_large;
  if (node.keeps_zmetadata(view)) return true;
  return std::nullopt;
}

// Lists the metadata files of a node in one view. The position of a file is its document number.
std::unique_ptr<FolderPart> DocumentFiles(const Nodes& nodes, const Contents& contents,
                                          const Entries& entries, const CurrentNode& node,
                                          size_t view, MayConsolidate may_consolidate) {
  return std::make_unique<FixedPart>([&nodes, &contents, &entries, node, view, may_consolidate](
                                         uint64_t from, const AddEntry& add) -> Result<bool> {
    // Making a document from several nodes is left to the lookup, because a listing may not need
    // the document. The entry has the inode of the latest known version, which is probably current.
    const auto made = [&](size_t document) {
      const uint32_t epoch = contents.made_documents().Current(
          node.record->DocumentId(view, VersionedDocument(document), 0));
      return NameOnly(node.record->DocumentId(view, document, epoch), S_IFREG);
    };
    const NodeView& shown = node.node->views[view];
    auto has_consolidated = KnowsConsolidated(nodes, *node.node, view);
    bool is_begun = false;
    // Whether the group has a consolidated document is decided last and in a separate reply,
    // because it may take long.
    const auto decide = [&]() -> Result<bool> {
      if (has_consolidated) return *has_consolidated;
      auto has = may_consolidate.ask();
      if (has) has_consolidated = *has;
      return has;
    };
    for (size_t d = from; d <= kConsolidatedDocument; ++d) {
      if (d == kConsolidatedDocument) {
        if (is_begun && !has_consolidated && may_consolidate.takes_long()) return false;
        const auto has = decide();
        if (!has) return Fail(has);
        if (*has && !add(shown.consolidated, made(d), d + 1)) return false;
        continue;
      }
      if (d >= shown.documents.size()) continue;
      const std::string& name = shown.documents[d].name;
      if (name.empty()) continue;
      if (name == shown.consolidated) {
        const auto has = decide();
        if (!has) return Fail(has);
        if (*has) continue;
      }
      const FileKind kind = KindOfDocument(node.node->path, view, d);
      if (kind == FileKind::kAssembledFile) {
        // Only a lookup checks whether the file can be shown. The listing omits the file if an
        // earlier check found that it cannot.
        const auto known = nodes.files().Known(node.node->path, view);
        if (known != nullptr && known->file.document.empty()) continue;
        if (!add(name, made(d), d + 1)) return false;
        is_begun = true;
        continue;
      }
      auto entry = kind == FileKind::kMadeDocument ? Result<Entry>(made(d))
                                                   : entries.Document(node, view, d);
      if (!entry) return Fail(entry);
      // The node may have been read a while ago. Its entry then has only the inode, so the kernel
      // must look up the name again.
      if (!nodes.hierarchy().IsFresh(*node.node, nodes.check_age())) {
        entry = NameOnly(entry->attributes.st_ino, S_IFREG);
      }
      if (!add(name, *entry, d + 1)) return false;
      is_begun = true;
    }
    return true;
  });
}

// Returns the names below a group that belong or may belong to nodes or files. Sets `has_others` if
// the group's folder has or may have names that are not returned.
Result<Valid<std::vector<std::string>>> NamesBelow(const Nodes& nodes, const Node& group,
                                                   bool& has_others) {
  const Hierarchy& hierarchy = nodes.hierarchy();
  Valid<std::vector<std::string>> names;
  if (nodes.store().AnswersFast()) {
    // ChildFolders will check which of the names are nodes.
    has_others = true;
    names.validity = Moment::Now(nodes.store()).validity() & group.freshness.validity();
    auto below = hierarchy.CandidateNames(group);
    if (!below) return Fail(below);
    names.value = std::move(*below);
  } else {
    auto children = hierarchy.Children(group, nodes.check_age(), /*listed=*/true, &has_others);
    if (!children) return Fail(children);
    names = std::move(*children);
    has_others |= names.value.empty();
  }
  const auto files = hierarchy.Files(group, nodes.check_age());
  if (!files) return Fail(files);
  names.value.insert(names.value.end(), files->value.begin(), files->value.end());
  names.validity &= files->validity;
  return names;
}

// Lists the nodes and files below a group. The position of an entry is the index of its name in
// `names_`. Names that do not belong to a node or file are skipped.
class ChildFolders final : public FolderPart {
 public:
  ChildFolders(Nodes& nodes, const Entries& entries, FailureLog& failures, const CurrentNode& group,
               size_t view)
      : nodes_(nodes),
        entries_(entries),
        failures_(failures),
        age_(AgeOfListed(nodes)),
        group_(group.node),
        view_(view) {}

  Result<void> Prepare() override {
    const MutexLock lock(mutex_);
    return Load();
  }

  Result<bool> List(uint64_t from, ListingOf /*what*/, const AddEntry& add) override {
    const MutexLock lock(mutex_);
    if (const auto loaded = Load(); !loaded) return Fail(loaded);
    for (uint64_t i = from; i < names_.size(); ++i) {
      auto added = Add(i, add);
      if (!added || !*added) return added;
      if (i == checked_) ++checked_;
    }
    // Names that were not found were skipped. If the group itself no longer exists, the listing
    // fails. If a name was not found, or there are no names, the group must have been seen after
    // the listing.
    const Age max_age = has_vanished_ || names_.empty() ? Age{0} : nodes_.check_age();
    const auto gone = has_others_ ? nodes_.WhyGone(*group_, max_age) : std::nullopt;
    if (gone) return tl::unexpected(*gone);
    return true;
  }

  // Returns the validity of the listing; unknown unless all names were listed.
  Validity validity() const override {
    const MutexLock lock(mutex_);
    return are_loaded_ && checked_ == names_.size() ? validity_ & group_->freshness.validity()
                                                    : Validity();
  }

  // True if the group has more than `most` names, including names that may not belong to nodes.
  bool MayHaveMoreThan(size_t most) const {
    const MutexLock lock(mutex_);
    return names_.size() > most;
  }

  // True if at most `most` of the names belong to nodes.
  Result<bool> HasAtMost(size_t most) {
    const MutexLock lock(mutex_);
    if (const auto loaded = Load(); !loaded) return Fail(loaded);
    if (names_.size() <= most) return true;
    size_t found = 0;
    for (const std::string& name : names_) {
      const auto child = nodes_.hierarchy().GetOutline(JoinKey(group_->path, name), age_,
                                                       /*listed=*/true);
      if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
      const bool is_node = child ? !(*child)->is_file : child.error().code != ErrorCode::kNotFound;
      if (is_node && ++found > most) return false;
    }
    return true;
  }

 private:
  Result<void> Load() REQUIRES(mutex_) {
    if (are_loaded_) return {};
    auto names = NamesBelow(nodes_, *group_, has_others_);
    if (!names) return Fail(names);
    names_ = std::move(names->value);
    validity_ = names->validity;
    are_loaded_ = true;
    return {};
  }

  Result<bool> Add(uint64_t i, const AddEntry& add) REQUIRES(mutex_) {
    const std::string& name = names_[i];
    const std::string path = JoinKey(group_->path, name);
    const auto child = nodes_.List(path, view_, age_);
    if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
    if (validity_.is_known() && i == checked_) {
      validity_ &= child ? child->outline->freshness.validity()
                         : nodes_.hierarchy().ValidityOfAbsence(path, child.error());
    }
    if (!child && child.error().code == ErrorCode::kNotFound) {
      has_others_ = has_vanished_ = true;
      return true;
    }
    if (!child) failures_.OnFailure("readdir", child.error());
    if (!AllViews()[view_]->AllowsNodeName(name)) return true;
    if (!child || child->outline->is_unreadable) {
      return add(name, NameOnly(kUnknownInode, S_IFDIR), i + 1);
    }
    if (!Hierarchy::Shows(*child->outline, name, view_)) return true;
    if (!child->outline->is_file) return add(name, entries_.Folder(*child, view_), i + 1);
    const auto file = nodes_.RefreshListed(path, view_, kAnyAge);
    if (!file && file.error().code == ErrorCode::kWouldBlock) return Fail(file);
    return add(name, file ? entries_.FolderOrFile(*file, view_) : NameOnly(kUnknownInode, S_IFREG),
               i + 1);
  }

  Nodes& nodes_;
  const Entries& entries_;
  FailureLog& failures_;
  const Age age_;
  const NodePtr group_;
  const size_t view_;
  mutable Mutex mutex_;
  bool are_loaded_ GUARDED_BY(mutex_) = false;
  bool has_others_ GUARDED_BY(mutex_) = false;    // true if the folder may have unlisted names
  bool has_vanished_ GUARDED_BY(mutex_) = false;  // true if a name was not found when it was listed
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  // The number of names, from the first one on, that were listed.
  uint64_t checked_ GUARDED_BY(mutex_) = 0;
  Validity validity_ GUARDED_BY(mutex_);  // the validity of the first `checked_` names
};

// Lists the assembled files of a group and of the nodes below it, and the folders of the groups
// below it, in a view that shows assembled files. The position of a file is twice the index of its
// node's name in `names`. The position of a folder is one more.
std::unique_ptr<FolderPart> AssembledFileNames(Nodes& nodes, const Contents& contents,
                                               const Entries& entries, FailureLog& failures,
                                               const CurrentNode& group, size_t view,
                                               std::vector<std::string> names) {
  const Age age = AgeOfListed(nodes);
  const auto add_file = [&nodes, &contents, view, age](const std::string& path, const AddEntry& add,
                                                       uint64_t next) -> Result<bool> {
    const auto name = nodes.files().Name(path, view, age);
    if (!name) return Fail(name);
    const auto record = nodes.table().RecordOf(path);
    if (!record) return Fail(record);
    // The file's sources are read at lookup, so the entry has the latest known inode.
    const uint32_t epoch = contents.made_documents().Current((*record)->DocumentId(view, 0, 0));
    return add(*name, NameOnly((*record)->DocumentId(view, 0, epoch), S_IFREG), next);
  };
  return std::make_unique<FixedPart>(
      [&nodes, &entries, &failures, add_file, age, node = group.node, view,
       names = std::move(names)](uint64_t from, const AddEntry& add) -> Result<bool> {
        for (uint64_t at = from; at < 2 * names.size(); ++at) {
          const std::string& name = names[at / 2];
          const std::string path = name.empty() ? node->path : JoinKey(node->path, name);
          const auto child = nodes.List(path, view, age);
          if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
          if (!child && child.error().code == ErrorCode::kNotFound) {
            if (path == node->path) return Fail(child);
            continue;
          }
          if (!child) failures.OnFailure("readdir", child.error());
          const bool is_readable = child && !child->outline->is_unreadable;
          if (is_readable && child->outline->hidden[view]) continue;
          Result<bool> added = true;
          if (at % 2 == 0) {
            const auto has_file = nodes.files().HasFileOrFolder(path, view, /*file=*/true, age);
            if (!has_file) return Fail(has_file);
            if (*has_file) added = add_file(path, add, at + 1);
          } else if (!is_readable && !name.empty()) {
            // An unreadable node may be a group, so it is listed as a folder, which a lookup finds,
            // too.
            added = add(name, NameOnly(kUnknownInode, S_IFDIR), at + 1);
          } else if (!name.empty() && child->outline->is_group) {
            added = add(name, entries.Folder(*child, view), at + 1);
          }
          if (!added || !*added) return added;
        }
        if (const auto gone = nodes.WhyGone(*node)) return tl::unexpected(*gone);
        return true;
      });
}

// Lists the chunk folders for the axis after `prefix`: those with the sorted `coordinates`, or all
// with coordinates below `count`. The position of a folder is its coordinate.
std::unique_ptr<FolderPart> ChunkFolders(const Entries& entries, const ChunkPrefix& prefix,
                                         std::vector<uint64_t> coordinates, uint64_t count) {
  return std::make_unique<FixedPart>([&entries, prefix, coordinates = std::move(coordinates),
                                      count](uint64_t from, const AddEntry& add) {
    const auto add_folder = [&](uint64_t coordinate) {
      ChunkCoordinates at = prefix.at;
      at[prefix.level] = coordinate;
      return add(std::to_string(coordinate),
                 entries.ChunkFolder(prefix.node, prefix.view, {at.data(), prefix.level + 1}),
                 coordinate + 1);
    };
    for (; from < count; ++from) {
      if (!add_folder(from)) return false;
    }
    return std::all_of(std::ranges::lower_bound(coordinates, from), coordinates.end(), add_folder);
  });
}

// Lists the folder "c" that contains all chunks of an array. Its position is 0.
std::unique_ptr<FolderPart> ChunkRoot(const Entries& entries, const CurrentNode& node,
                                      size_t view) {
  return std::make_unique<FixedPart>([&entries, node, view](uint64_t from, const AddEntry& add) {
    return from > 0 || add("c", entries.ChunkFolder(node, view, {}), 1);
  });
}

// Lists the files of the status folder. Positions are indexes of `names`.
std::unique_ptr<FolderPart> StatusNames(std::vector<std::string> names) {
  return std::make_unique<FixedPart>(
      [names = std::move(names)](uint64_t from, const AddEntry& add) {
        for (uint64_t i = from; i < names.size(); ++i) {
          if (!add(names[i], NameOnly(kUnknownInode, S_IFREG), i + 1)) return false;
        }
        return true;
      });
}

}  // namespace

std::unique_ptr<Folder> Folders::OpenStatus(const StatusFiles& files) const {
  return std::make_unique<Folder>(StatusFiles::kFolderId, 0, timeouts_, nullptr,
                                  StatusNames(files.names()));
}

Result<std::unique_ptr<Folder>> Folders::Open(const Target& target) const {
  const uint64_t count = nodes_.store().change_count();
  auto node = nodes_.Refresh(target.record->path);
  if (!node) return Fail(node);
  if (node->node->unreadable() != nullptr) return tl::unexpected(*node->node->unreadable());
  NodeId id = kRootId;
  std::unique_ptr<FolderPart> documents;
  std::unique_ptr<FolderPart> rest;
  if (target.kind == Target::Kind::kRoot) {
    rest = ViewFolders(entries_, *node, nodes_.listed_views());
  } else if (target.kind == Target::Kind::kFolder && HasFiles(target.view)) {
    auto children = nodes_.hierarchy().Children(*node->node, nodes_.check_age());
    if (!children) return Fail(children);
    // The file of the root itself comes first, if the root has one.
    if (target.record->path.empty()) children->value.emplace(children->value.begin());
    id = nodes_.FolderId(*node->record, target.view);
    rest = AssembledFileNames(nodes_, contents_, entries_, failures_, *node, target.view,
                              std::move(children->value));
  } else if (target.kind == Target::Kind::kFolder && node->node->group() != nullptr) {
    id = nodes_.FolderId(*node->record, target.view);
    auto children = std::make_unique<ChildFolders>(nodes_, entries_, failures_, *node, target.view);
    const auto takes_long = [&children = *children, most = consolidated_max_] {
      return children.MayHaveMoreThan(most);
    };
    const auto ask = [&children = *children, most = consolidated_max_] {
      return children.HasAtMost(most);
    };
    documents = DocumentFiles(nodes_, contents_, entries_, *node, target.view, {takes_long, ask});
    rest = std::move(children);
  } else if (target.kind == Target::Kind::kFolder || target.kind == Target::Kind::kChunkFolder) {
    if (target.kind == Target::Kind::kFolder) {
      id = nodes_.FolderId(*node->record, target.view);
      documents = DocumentFiles(nodes_, contents_, entries_, *node, target.view,
                                {[] { return false; }, [] { return Result<bool>(true); }});
    } else if (node->range == nullptr || node->range->rank() != target.range->rank()) {
      return Fail(ErrorCode::kStale, "{}: the rank of the array has changed", target.record->path);
    } else {
      id = target.range->FolderId(target.view, {target.prefix.data(), target.level});
    }
    auto chunks = ChunksBelow(*node, target);
    if (!chunks) return Fail(chunks);
    rest = std::move(*chunks);
  } else {
    return Fail(ErrorCode::kNotADirectory, "{}: not a folder", target.record->path);
  }
  return std::make_unique<Folder>(id, count, timeouts_, std::move(documents), std::move(rest));
}

Result<std::unique_ptr<FolderPart>> Folders::ChunksBelow(const CurrentNode& node,
                                                         const Target& target) const {
  if (node.range == nullptr || !node.range->views[target.view].shown) return nullptr;
  const auto& part = node.range->views[target.view];
  const ChunkSource& chunks = *node.range->chunks;
  const auto& layout = chunks.layout();
  const size_t rank = node.range->rank();
  const ChunkPrefix prefix{node, target.view, target.prefix, target.level};
  for (size_t d = 0; d < prefix.level; ++d) {
    // The folder may be from an older layout. If its coordinates are outside the current array, it
    // is empty.
    if (prefix.at[d] >= layout.inner_grid.counts()[d]) return nullptr;
  }
  if (layout.inner_grid.size() == 0) return nullptr;
  const bool is_root = target.kind == Target::Kind::kFolder && part.naming.nested() &&
                       part.naming.prefix_c && rank > 0;
  const bool has_folders = part.naming.nested() && prefix.level + 1 < rank;
  // If missing chunks also have files, the folder contains all chunks of the array below `prefix`.
  const bool has_all = part.fill_chunk != nullptr;
  if (is_root) {
    const auto any = has_all ? Valid<bool>{true, {}} : chunks.AnyChunk({}, nodes_.check_age());
    if (!any) return Fail(any);
    if (!any->value) return nullptr;
    return ChunkRoot(entries_, node, target.view);
  }
  if (has_folders && has_all) {
    return ChunkFolders(entries_, prefix, {}, layout.inner_grid.counts()[prefix.level]);
  }
  if (has_folders) {
    auto coordinates = chunks.NextCoordinates(prefix.fixed(), nodes_.check_age());
    if (!coordinates) return Fail(coordinates);
    return ChunkFolders(entries_, prefix, std::move(*coordinates), 0);
  }
  if (has_all) {
    // The stored objects below `prefix` have consecutive numbers, because `prefix` fixes all axes
    // except the last one, or none.
    ChunkCoordinates at{};
    for (size_t d = 0; d < prefix.level; ++d) at[d] = layout.PlaceOf(d, prefix.at[d]).outer;
    const uint64_t first = layout.outer_grid.Linear({at.data(), rank});
    const uint64_t count =
        prefix.level == 0 ? layout.outer_grid.size() : layout.outer_grid.counts()[rank - 1];
    return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, nullptr, first, count);
  }
  auto objects = chunks.OuterCursor(prefix.fixed());
  if (!objects) return Fail(objects);
  const auto first = (*objects)->Get();
  if (!first) return Fail(first);
  return std::make_unique<ChunkFiles>(entries_, nodes_, prefix, *std::move(objects));
}

}  // namespace zarrfs
