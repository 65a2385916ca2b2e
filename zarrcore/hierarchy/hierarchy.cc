#include "zarrcore/hierarchy/hierarchy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/hierarchy/source_documents.h"
#include "zarrcore/metadata/ome.h"

namespace zarrfs {
namespace {

constexpr size_t kListedBytes = 32u << 20;
constexpr size_t kOutlineBytes = 96u << 20;
// Maximum attempts to get a node. An attempt fails if a concurrent listing replaces the node with
// one from consolidated metadata (Node::is_provisional).
constexpr int kMaxAttempts = 8;
// Number of nodes requested concurrently from a slow store.
constexpr size_t kAtOnce = 64;

}  // namespace

class Hierarchy::NodeLoader final : public NodeCache::Loader {
 public:
  /// `listed`: a store that returns the node's documents from consolidated metadata; null to read
  /// the node's own documents.
  NodeLoader(const Hierarchy& hierarchy, const std::string& path,
             std::shared_ptr<const Store> listed = nullptr)
      : hierarchy_(hierarchy),
        path_(path),
        listed_(std::move(listed)),
        before_(Moment::Now(*hierarchy.store_).validity()) {}

  // Gets the parent node. Fails if no node can exist at the path.
  Result<void> AskParent(Age max_age) {
    if (path_.empty()) return {};
    const std::string_view name = NameOf(path_);
    const auto no_name = [&] { return Fail(ErrorCode::kNotFound, "{}: not a node name", path_); };
    if (!IsNodeName(name)) return no_name();
    const auto parent = hierarchy_.Get(std::string(FolderOf(path_)), max_age);
    if (!parent) return Fail(parent);
    // A writer may be replacing the parent's metadata now, so it is unknown whether nodes below it
    // exist.
    if (!(*parent)->metadata) return Fail((*parent)->metadata);
    if ((*parent)->group() == nullptr) {
      if (!IsNodeNameBelowArray(name)) return no_name();
      from_parent_ = {};
      return {};
    }
    if (!IsNodeNameBelow(**parent, name)) return no_name();
    from_parent_.below_ome = (*parent)->below_ome;
    const GroupMetadata& group = *(*parent)->group();
    if (group.is_stored_as_v2()) from_parent_.axes = AxesIn04(group.attributes, name);
    return {};
  }

  [[nodiscard]] const FromParent& from_parent() const { return from_parent_; }

  // A node depends on its parent, so the validity of the answer must begin before the parent is
  // read.
  Validity Watch() override {
    const Validity watched = before_ & Validity::Watch(*hierarchy_.store_, path_);
    if (!from_parent_.below_ome || !IsFileName(NameOf(path_))) return watched;
    return watched & Validity::WatchAllNames(*hierarchy_.store_, FolderOf(path_));
  }

  Result<Revalidation> Revalidate(const NodePtr& known) override {
    if (known->is_provisional) return Revalidation::kReplaced;
    return Revalidate(*known);
  }
  Result<Revalidation> Revalidate(const NodeSource& known) const {
    const auto is_current = IsCurrent(*hierarchy_.store_, known);
    if (!is_current) return Fail(is_current);
    const bool is_same = *is_current && !known.racy && known.from_parent == from_parent_;
    return is_same ? Revalidation::kCurrent : Revalidation::kReplaced;
  }

  Result<NodeCache::Loaded> Load() override {
    auto node =
        hierarchy_.reader_.Read(path_, from_parent_, hierarchy_.newest_.Get(path_), listed_.get());
    if (!node) {
      if (node.error().code == ErrorCode::kNotFound) hierarchy_.newest_.Erase(path_);
      return Fail(node);
    }
    const size_t bytes = (*node)->bytes_in_memory;
    hierarchy_.newest_.Put(path_, *node, bytes);
    return NodeCache::Loaded{std::move(*node), bytes};
  }

  Validity ValidityOf(const Node& node, Validity watched) override {
    return ValidityOf(static_cast<const NodeSource&>(node), watched);
  }
  static Validity ValidityOf(const NodeSource& node, Validity watched) {
    // A group without a document exists because of a node that may be many folders below it. That
    // node is not watched, so the group's validity is unknown.
    const bool is_elsewhere =
        node.implicit || node.info.may_change_elsewhere || node.folder_info.may_change_elsewhere;
    return is_elsewhere ? Validity() : watched;
  }
  std::optional<int64_t> ChangedNs(const Node& node) override { return node.info.version.ctime_ns; }

 private:
  const Hierarchy& hierarchy_;
  const std::string& path_;
  const std::shared_ptr<const Store> listed_;
  const Validity before_;
  FromParent from_parent_;
};

class Hierarchy::OutlineLoader final : public OutlineCache::Loader {
 public:
  OutlineLoader(const Hierarchy& hierarchy, const std::string& path, Age max_age)
      : hierarchy_(hierarchy), path_(path), max_age_(max_age), node_(hierarchy, path) {}

  Result<void> AskParent() { return node_.AskParent(max_age_); }

  Validity Watch() override { return node_.Watch(); }
  Result<Revalidation> Revalidate(const OutlinePtr& known) override {
    return node_.Revalidate(static_cast<const NodeSource&>(*known));
  }

  Result<OutlineCache::Loaded> Load() override {
    OutlineKey key;
    auto outline = hierarchy_.reader_.ReadOutline(path_, node_.from_parent(), key);
    if (!outline) return Fail(outline);
    if (*outline == nullptr) {
      // Unless any age is accepted, the node must be checked after the watch for this outline has
      // started.
      const auto node = hierarchy_.Get(path_, max_age_ == kAnyAge ? kAnyAge : Age{0});
      if (!node) return Fail(node);
      hierarchy_.reader_.Remember(key, **node);
      outline = OutlineOf(**node);
    }
    const size_t bytes = MemoryOf(**outline);
    auto memory = ProcessMemory().Take(bytes);
    if (!memory) return Fail(memory);
    (*outline)->memory = std::move(*memory);
    return OutlineCache::Loaded{*std::move(outline), bytes};
  }

  Validity ValidityOf(const Outline& outline, Validity watched) override {
    return NodeLoader::ValidityOf(static_cast<const NodeSource&>(outline), watched);
  }
  std::optional<int64_t> ChangedNs(const Outline& outline) override {
    return outline.info.version.ctime_ns;
  }

 private:
  const Hierarchy& hierarchy_;
  const std::string& path_;
  const Age max_age_;
  NodeLoader node_;
};

Hierarchy::Hierarchy(std::shared_ptr<const Store> store, HierarchyOptions options,
                     const Report& report)
    : store_(std::move(store)),
      options_(std::move(options)),
      reports_(report, options_.on_note),
      reader_(store_, options_, report, reports_),
      nodes_(store_, options_.node_cache_bytes, 16, options_.reuse),
      newest_(options_.node_cache_bytes),  // mostly contains the same nodes as nodes_
      outlines_(store_, kOutlineBytes),
      listed_(store_, kListedBytes, 1, options_.reuse) {}

class Hierarchy::ListedLoader final : public ListedCache::Loader {
 public:
  ListedLoader(const Store& store, const Node& group) : store_(store), group_(group) {}

  Result<Revalidation> Revalidate(const std::shared_ptr<const ConsolidatedNodes>& known) override {
    const auto info = store_.Stat(known->document);
    if (!info) return Fail(info);
    return info->version == known->info.version ? Revalidation::kCurrent : Revalidation::kReplaced;
  }
  Result<ListedCache::Loaded> Load() override {
    auto nodes = ReadConsolidatedNodes(store_, group_);
    if (!nodes) return Fail(nodes);
    const size_t bytes = (*nodes)->bytes_in_memory();
    return ListedCache::Loaded{*std::move(nodes), bytes};
  }
  std::optional<int64_t> ChangedNs(const ConsolidatedNodes& nodes) override {
    return nodes.info.version.ctime_ns;
  }

 private:
  const Store& store_;
  const Node& group_;
};

Result<NodePtr> Hierarchy::Get(const std::string& path, Age max_age) const {
  NodeLoader loader(*this, path);
  for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    NodePtr known = nodes_.Find(path);
    if (known != nullptr && known->is_provisional) {
      nodes_.Erase(path, known);
    } else if (known != nullptr && IsFresh(*known, max_age)) {
      return known;
    }
    if (const auto asked = loader.AskParent(max_age); !asked) return Fail(asked);
    auto node = nodes_.Get(path, max_age, loader).value;
    if (!node || !(*node)->is_provisional) return node;
  }
  return loader.Load().map([](const NodeCache::Loaded& loaded) { return loaded.value; });
}

std::shared_ptr<const ConsolidatedNodes> Hierarchy::ListedNodesWith(const std::string& path,
                                                                    Age max_age) const {
  const auto nodes = path.empty() ? nullptr : ListedNodesFor(FolderOf(path), max_age);
  return nodes != nullptr && nodes->Has(path) ? nodes : nullptr;
}

std::shared_ptr<const ConsolidatedNodes> Hierarchy::ListedNodesFor(std::string_view folder,
                                                                   Age max_age) const {
  for (std::string above(folder);; above = FolderOf(above)) {
    const NodePtr group = nodes_.Find(above);
    // Consolidated metadata must not be used if permissions differ per object, because these
    // metadata could reveal a document that the caller may not read.
    if (!store_->FolderOfKeys() || group == nullptr || group->group() == nullptr) return nullptr;
    const bool has_them =
        group->has_zmetadata() || group->group()->consolidated_metadata == Json::value_t::object;
    if (has_them) {
      ListedLoader loader(*store_, *group);
      return listed_.Get(above, max_age, loader).value.value_or(nullptr);
    }
    if (above.empty()) return nullptr;
  }
}

Result<NodePtr> Hierarchy::GetListed(const std::string& path, Age max_age) const {
  const NodePtr known = nodes_.Find(path);
  if (known != nullptr && IsFresh(*known, max_age)) return known;
  const bool may_list = known == nullptr || known->is_provisional;
  const auto listed = may_list ? ListedNodesWith(path, max_age) : nullptr;
  if (listed == nullptr) return Get(path, max_age);
  NodeLoader loader(*this, path, WithDocumentsOf(store_, listed, path));
  if (const auto asked = loader.AskParent(max_age); !asked) return Fail(asked);
  auto node = nodes_.Get(path, max_age, loader).value;
  // Consolidated metadata cannot prove that a node is unusable, so the node's own documents are
  // read.
  return node && (*node)->unusable() == nullptr ? node : Get(path, max_age);
}

Result<OutlinePtr> Hierarchy::GetOutline(const std::string& path, Age max_age, bool listed) const {
  if (!store_->AnswersFast()) {
    const auto node = listed ? GetListed(path, max_age) : Get(path, max_age);
    return node.map([](const NodePtr& found) -> OutlinePtr { return OutlineOf(*found); });
  }
  OutlinePtr known = outlines_.Find(path);
  if (known != nullptr && known->freshness.IsFresh(*store_, max_age)) return known;
  OutlineLoader loader(*this, path, max_age);
  if (const auto asked = loader.AskParent(); !asked) return Fail(asked);
  return outlines_.Get(path, max_age, loader).value;
}

Result<void> Hierarchy::ReportRefusedName(const Node& group, const ListEntry& folder) const {
  if (folder.is_refused) return {};
  const std::string path = JoinKey(group.path, folder.name);
  const auto is_node = HasNodeBelow(*store_, path, /*or_in=*/true);
  if (!is_node && is_node.error().code == ErrorCode::kWouldBlock) return Fail(is_node);
  if (is_node && *is_node) {
    reports_.ReportFault(group, {ErrorCode::kUnsupported,
                                 fmt::format("{}: not shown: not a valid node name", path)});
  }
  return {};
}

Validity Hierarchy::ValidityOfAbsence(const std::string& path, const Error& error) const {
  if (error.code != ErrorCode::kNotFound) return {};
  const Validity watched = Validity::Watch(*store_, path);
  if (!watched.is_known()) return {};
  // The folder becomes a node when a document appears in it or in any folder below it. Only the
  // names in the folder itself are watched, so the validity is known only if it contains no folder.
  const auto below = store_->List(path);
  return below && std::ranges::none_of(*below, &ListEntry::is_folder) ? watched : Validity();
}

Result<std::vector<std::string>> Hierarchy::NamesOfNodes(const Node& group) const {
  std::vector<std::string> names;
  const auto entries = store_->List(group.path);
  if (!entries) return Fail(entries);
  for (const ListEntry& entry : *entries) {
    if (!(entry.is_folder || entry.is_refused)) continue;
    if (!IsNodeNameBelow(group, entry.name)) {
      if (const auto reported = ReportRefusedName(group, entry); !reported) return Fail(reported);
    } else if (entry.is_folder && entry.is_refused) {
      reports_.ReportNote(
          group, {ErrorCode::kZarrfsMount,
                  fmt::format("{}: not shown: a zarrfs mount", JoinKey(group.path, entry.name))});
    } else {
      names.push_back(entry.name);
    }
  }
  return names;
}

std::vector<Result<OutlinePtr>> Hierarchy::GetSome(const std::string& folder,
                                                   std::span<const std::string> names, Age max_age,
                                                   bool listed) const {
  std::vector<Result<OutlinePtr>> nodes(names.size(), OutlinePtr());
  AtOnce(names.size(), kAtOnce,
         [&](size_t i) { nodes[i] = GetOutline(JoinKey(folder, names[i]), max_age, listed); });
  return nodes;
}

Result<std::vector<std::string>> Hierarchy::CandidateNames(const Node& group) const {
  auto names = NamesOfNodes(group);
  if (names) std::ranges::sort(*names);
  return names;
}

Result<Valid<std::vector<std::string>>> Hierarchy::Children(const Node& node, Age max_age,
                                                            bool listed, bool* has_others) const {
  std::vector<std::string> names;
  Validity validity = Moment::Now(*store_).validity() & node.freshness.validity();
  if (node.group() == nullptr) return Valid{std::move(names), validity};
  Result<std::vector<std::string>> below;
  std::shared_ptr<const ConsolidatedNodes> kept;
  // Loads the consolidated metadata before many threads need them, concurrently with the listing.
  AtOnce(listed && MayWait() ? 2 : 1, 2, [&](size_t part) {
    part == 0 ? void(below = NamesOfNodes(node)) : void(kept = ListedNodesFor(node.path, max_age));
  });
  if (!below) return Fail(below);
  const size_t step = store_->AnswersFast() || !MayWait() ? 1 : kAtOnce;
  for (size_t from = 0; from < below->size(); from += step) {
    const auto some = std::span(*below).subspan(from, std::min(step, below->size() - from));
    const auto children = GetSome(node.path, some, max_age, listed);
    for (size_t i = 0; i < some.size(); ++i) {
      const auto& child = children[i];
      if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
      // A node that cannot be read now is listed, so an error is returned when it is used.
      const bool is_other = !child && child.error().code == ErrorCode::kNotFound;
      if (!is_other) names.push_back(some[i]);
      if (is_other && has_others != nullptr) *has_others = true;
      if (!validity.is_known()) continue;
      validity &= child ? (*child)->freshness.validity()
                        : ValidityOfAbsence(JoinKey(node.path, some[i]), child.error());
    }
  }
  std::ranges::sort(names);
  return Valid{std::move(names), validity};
}

Result<Validity> Hierarchy::VisitChildren(const Node& node, Age max_age, const OnNames& on_names,
                                          const VisitChild& visit) const {
  Validity validity = Moment::Now(*store_).validity() & node.freshness.validity();
  if (node.group() == nullptr) return validity;
  const auto names = CandidateNames(node);
  if (!names) return Fail(names);
  on_names(*names);
  const bool is_slow = !store_->AnswersFast() && MayWait();
  // The outlines of the next kAtOnce children. Used only for slow stores, where requesting an
  // outline also caches the node.
  std::vector<Result<OutlinePtr>> outlines;
  for (size_t i = 0; i < names->size(); ++i) {
    if (is_slow && i % kAtOnce == 0) {
      const size_t count = std::min(kAtOnce, names->size() - i);
      outlines = GetSome(node.path, std::span(*names).subspan(i, count), max_age, false);
    }
    const std::string path = JoinKey(node.path, (*names)[i]);
    const bool has_failed = is_slow && !outlines[i % kAtOnce];
    const auto child =
        has_failed ? Result<NodePtr>(Fail(outlines[i % kAtOnce])) : Get(path, AgeBelow(max_age));
    if (!child && child.error().code == ErrorCode::kWouldBlock) return Fail(child);
    if (validity.is_known()) {
      validity &= child ? (*child)->freshness.validity() : ValidityOfAbsence(path, child.error());
    }
    if (!child && child.error().code == ErrorCode::kNotFound) continue;
    if (!visit((*names)[i], child)) return validity;
  }
  return validity;
}

Result<Valid<std::vector<std::string>>> Hierarchy::Files(const Node& node, Age max_age) const {
  std::vector<std::string> names;
  Validity validity = Moment::Now(*store_).validity() & node.freshness.validity();
  if (node.group() == nullptr || !node.below_ome) return Valid{std::move(names), validity};
  validity &= Validity::WatchAllNames(*store_, node.path);
  const auto entries = store_->List(node.path);
  if (!entries) return Fail(entries);
  for (const ListEntry& entry : *entries) {
    if (entry.is_folder || !IsFileName(entry.name)) continue;
    const auto file = Get(JoinKey(node.path, entry.name), max_age);
    if (!file && file.error().code == ErrorCode::kWouldBlock) return Fail(file);
    if (!file && file.error().code == ErrorCode::kNotFound) continue;
    names.push_back(entry.name);
    validity &= file ? (*file)->freshness.validity() : Validity();
  }
  std::ranges::sort(names);
  return Valid{std::move(names), validity};
}

bool Hierarchy::Shows(const Node& child, std::string_view name, size_t view) {
  return !child.views[view].hidden && AllViews()[view]->AllowsNodeName(name);
}

bool Hierarchy::Shows(const Outline& child, std::string_view name, size_t view) {
  return !child.hidden[view] && AllViews()[view]->AllowsNodeName(name);
}

Result<NodePtr> Hierarchy::ShownNode(const std::string& path, size_t view, Age max_age,
                                     const LeaveOut& leave_out) const {
  auto node = Get(path, AgeBelow(max_age));
  if (!node && node.error().code == ErrorCode::kNotFound) return nullptr;
  if (leave_out(path, node)) return nullptr;
  if (!node) return node;
  if (const Error* error = (*node)->unreadable()) return tl::unexpected(*error);
  if (!Shows(**node, NameOf(path), view)) return nullptr;
  return node;
}

Result<Validity> Hierarchy::Walk(const NodePtr& top, size_t view, Age max_age,
                                 const LeaveOut& leave_out, const Visit& visit) const {
  Validity validity = top->freshness.validity();
  const auto is_left_out = [&](const std::string& path, const Result<NodePtr>& node) {
    const bool is = leave_out(path, node);
    if (is && !node) validity = Validity();
    return is;
  };
  std::vector<std::string> pending;
  NodePtr node = top;
  while (visit(*node)) {
    if (const auto names = Children(*node, max_age); names) {
      validity &= names->validity;
      std::transform(names->value.rbegin(), names->value.rend(), std::back_inserter(pending),
                     [&](const std::string& name) { return JoinKey(node->path, name); });
    } else if (!is_left_out(JoinKey(node->path, "*"), Fail(names))) {
      return Fail(names);
    }
    node = nullptr;
    while (node == nullptr) {
      if (pending.empty()) return validity;
      const std::string path = std::move(pending.back());
      pending.pop_back();
      auto shown = ShownNode(path, view, max_age, is_left_out);
      if (!shown) return Fail(shown);
      node = std::move(*shown);
    }
    validity &= node->freshness.validity();
  }
  return validity;
}

}  // namespace zarrfs
