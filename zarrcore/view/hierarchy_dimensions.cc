// Hierarchy: documents that depend on a node's siblings, as shared_dimensions.h says.
#include <algorithm>
#include <chrono>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/view/hierarchy.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxNodes = 4096;  // where HierarchyOptions::consolidated_max says none

// A look at all siblings takes at most this share of the time, as long as it is repeated this
// often.
constexpr int64_t kMinPause = 10;  // times what it takes
constexpr int64_t kLongestPauseNs = 60'000'000'000;

std::string SharedKey(const Node& node, size_t view) {
  return fmt::format("{}/{}", view, node.path);
}

// Of the dimensions of one array: whether a sibling has a say in what they are called.
bool DependOnOthers(const ArrayDimensions& array, const SharedDimensions& shared) {
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const std::string& name = array.names[d];
    const auto first = shared.lower_bound({name, 0});
    if (first == shared.end() || first->first.first != name) continue;
    const auto second = std::next(first);
    if (first->second != name || (second != shared.end() && second->first.first == name)) {
      return true;
    }
  }
  return false;
}

void TakeLater(Version& newest, const Version& version) {
  if (version.ctime_ns >= newest.ctime_ns) newest = version;
}

}  // namespace

bool Hierarchy::DependsOnSiblings(std::string_view path, size_t view, size_t document) {
  return document == kSharedDocument && !path.empty() && path.find('/') == std::string_view::npos &&
         AllViews()[view]->shares_dimensions();
}

RootDimensionsPtr Hierarchy::KnownDimensions(size_t view) const {
  const std::lock_guard lock(dimensions_mutex_);
  return dimensions_[view];
}

Result<RootDimensionsPtr> Hierarchy::DimensionsOfRoot(size_t view, Age max_age) const {
  const RootDimensionsPtr known = KnownDimensions(view);
  if (known != nullptr) {
    if (max_age == kAnyAge) return known;
    const int64_t pause = std::min(kMinPause * known->take_ns, kLongestPauseNs);
    const Age age = max_age.count() == 0 ? max_age : std::max(max_age, Age(pause));
    if (known->freshness.IsFresh(*store_, age)) return known;
  }
  const Moment asked = Moment::Now(*store_);
  auto made = std::make_shared<RootDimensions>();
  const auto found = FindRootDimensions(view, max_age, *made);
  if (!found) {
    if (found.error().code == ErrorCode::kWouldBlock) return Fail(found);
    made->names = std::nullopt;
  }
  const Validity validity = found.value_or(Validity());
  const int64_t take_ns = SteadyNowNs() - asked.steady_ns;
  if (known != nullptr && known->arrays == made->arrays && known->names == made->names) {
    known->take_ns = take_ns;
    known->freshness.Set(asked, validity);
    return known;
  }
  made->take_ns = take_ns;
  made->freshness.Set(asked, validity);
  const std::lock_guard lock(dimensions_mutex_);
  dimensions_[view] = made;
  return made;
}

Result<Validity> Hierarchy::FindRootDimensions(size_t view, Age max_age,
                                               RootDimensions& made) const {
  const auto root = Get("", max_age);
  if (!root) return Fail(root);
  made.newest = (*root)->info.version;
  TakeLater(made.newest, (*root)->folder_info.version);
  const auto children = Children(**root, max_age);
  if (!children) return Fail(children);
  const std::vector<std::string>& names = children->value;
  Validity validity = children->validity;
  std::vector<std::string> groups;
  for (const std::string& name : names) {
    const auto child = Get(name, kAnyAge);
    if (!child) {
      // (Nobody here reads what may not be read.)
      if (child.error().code == ErrorCode::kNotFound ||
          child.error().code == ErrorCode::kPermissionDenied) {
        continue;
      }
      return Fail(child);
    }
    if ((*child)->unreadable() != nullptr) return tl::unexpected(*(*child)->unreadable());
    if (!Shows(**child, name, view)) continue;
    const auto& array = (*child)->views[view].array;
    if (!array) {
      groups.push_back(name);
      continue;
    }
    made.arrays.push_back(array->dimensions);
    made.arrays.back().array = name;
    TakeLater(made.newest, (*child)->info.version);
  }
  const size_t most = options_.consolidated_max > 0 ? options_.consolidated_max : kMaxNodes;
  if (names.size() > most) {
    ReportOnce(**root,
               {ErrorCode::kTooLarge,
                fmt::format("/: all dimensions carry their lengths in {}: more than {} nodes in "
                            "the root group",
                            AllViews()[view]->name(), most)});
    return validity;
  }
  const std::set<std::string> doubtful = NamesLikeThoseWithLengths(made.arrays);
  std::set<std::string> below;
  if (!doubtful.empty() && !groups.empty()) {
    auto found = NamesBelow(std::move(groups), doubtful, view, max_age, most);
    if (!found && found.error().code != ErrorCode::kTooLarge) return Fail(found);
    below = found ? std::move(found->value) : doubtful;
    validity &= found ? found->validity : Validity();
  }
  made.names = zarrfs::ShareDimensions(made.arrays, names, below);
  return validity;
}

Result<Valid<std::set<std::string>>> Hierarchy::NamesBelow(std::vector<std::string> groups,
                                                           const std::set<std::string>& names,
                                                           size_t view, Age max_age,
                                                           size_t budget) const {
  std::set<std::string> found;
  Validity validity = Moment::Now(*store_).validity();
  while (!groups.empty()) {
    const std::string path = std::move(groups.back());
    groups.pop_back();
    const auto group = Get(path, kAnyAge);
    if (!group) return Fail(group);
    const auto children = Children(**group, max_age);
    if (!children && children.error().code == ErrorCode::kPermissionDenied) continue;
    if (!children) return Fail(children);
    validity &= children->validity;
    for (const std::string& name : children->value) {
      if (budget-- == 0) return Fail(ErrorCode::kTooLarge, "too many nodes below the root");
      const auto child = Get(JoinKey(path, name), kAnyAge);
      if (!child) {
        if (child.error().code == ErrorCode::kNotFound ||
            child.error().code == ErrorCode::kPermissionDenied) {
          continue;
        }
        return Fail(child);
      }
      if ((*child)->unreadable() != nullptr) return tl::unexpected(*(*child)->unreadable());
      if (!Shows(**child, name, view)) continue;
      const auto& array = (*child)->views[view].array;
      if (!array) {
        groups.push_back((*child)->path);
        continue;
      }
      const ArrayDimensions& dimensions = array->dimensions;
      for (size_t d = 0; d < dimensions.shape.size(); ++d) {
        std::string written = NameWithLength(dimensions.names[d], d, dimensions.shape[d]);
        if (names.contains(written)) found.insert(std::move(written));
      }
    }
  }
  return Valid{std::move(found), validity};
}

Result<SharedDocumentPtr> Hierarchy::ShareDimensions(const NodePtr& node, size_t view,
                                                     Age max_age) const {
  const NodeView& shown = node->views[view];
  if (shown.documents.size() <= kSharedDocument) {
    return Fail(ErrorCode::kNotFound, "{}: no such document", node->path);
  }
  const std::string key = SharedKey(*node, view);
  const bool is_shared = shown.array && !shown.array->attributes.is_null();
  auto made = std::make_shared<SharedDocument>();
  made->node_digest = shown.documents_digest;
  made->version = node->info.version;
  std::optional<std::vector<std::string>> names;
  if (is_shared) {
    const ArrayDimensions& dimensions = shown.array->dimensions;
    for (const Age age : {max_age, Age{0}}) {
      auto of_root = DimensionsOfRoot(view, age);
      if (!of_root) return Fail(of_root);
      made->dimensions = std::move(*of_root);
      if (!made->dimensions->names) break;
      names = NamesOf(dimensions, *made->dimensions->names);
      if (names) break;  // else the array is newer than what is known of its siblings
    }
    if (!names || DependOnOthers(dimensions, *made->dimensions->names)) {
      TakeLater(made->version, made->dimensions->newest);
    }
  }
  if (const auto known = shared_.Get(key);
      known != nullptr && known->node_digest == made->node_digest &&
      known->dimensions == made->dimensions && known->version == made->version) {
    return known;
  }
  auto text = std::make_shared<const std::string>(
      names ? AllViews()[view]->ShareDimensions(*shown.array, *names)
            : shown.documents[kSharedDocument].bytes);
  made->text_number = TextNumber(*text);
  made->size = text->size();
  texts_.Put(made->text_number, text, text->size());
  shared_.Put(key, made, sizeof(SharedDocument) + key.size());
  return made;
}

Result<std::shared_ptr<const std::string>> Hierarchy::SharedText(const NodePtr& node, size_t view,
                                                                 uint64_t text_number) const {
  if (auto text = texts_.Get(text_number)) return text;
  shared_.Erase(SharedKey(*node, view));  // the text is to be made
  const auto made = ShareDimensions(node, view, kAnyAge);
  if (!made) return Fail(made);
  auto text = (*made)->text_number == text_number ? texts_.Get(text_number) : nullptr;
  if (text == nullptr) {
    return Fail(ErrorCode::kStale, "{}: the names of its dimensions have changed", node->path);
  }
  return text;
}

}  // namespace zarrfs
