#include "zarrcore/hierarchy/shared_documents.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/hierarchy/remaker.h"

namespace zarrfs {
namespace {

// Peak memory to make the attributes, as a multiple of the document's size: the parsed attributes,
// the renamed attributes, and the growing document.
constexpr uint64_t kCopiesOfAttributes = 6;

constexpr size_t kMaxNodes = 4096;  // used if HierarchyOptions::consolidated_max is 0

// Finding the dimension names of the root group requires reading all its nodes. The result is
// reused for kMinPause times the duration of the search, but at most for kMaxPauseNs.
constexpr int64_t kMinPause = 10;  // as a multiple of the duration of the search
constexpr int64_t kMaxPauseNs = 60'000'000'000;

// True if the array's dimension names depend on its siblings.
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

// True if the mount may not read the node, which is then omitted.
bool IsDenied(const std::string& /*path*/, const Result<NodePtr>& node) {
  return !node && node.error().code == ErrorCode::kPermissionDenied;
}

}  // namespace

SharedDocuments::SharedDocuments(const Hierarchy& hierarchy, MadeTexts& texts)
    : hierarchy_(hierarchy),
      texts_(texts),
      dimensions_(hierarchy.shared_store(), kMaxViews, 1) {}  // each entry is charged 1

bool SharedDocuments::DependsOnSiblings(std::string_view path, size_t view, size_t document) {
  if (document != kSharedDocument || path.empty()) return false;
  const View& shown = *AllViews()[view];
  return shown.places_arrays() ||
         (shown.shares_dimensions() && path.find('/') == std::string_view::npos);
}

RootDimensionsPtr SharedDocuments::KnownDimensions(size_t view) const {
  return dimensions_.Find(view);
}

Result<RootDimensionsPtr> SharedDocuments::DimensionsOfRoot(size_t view, Age max_age) const {
  Age age = max_age;
  if (const auto known = KnownDimensions(view); known != nullptr && max_age.count() > 0) {
    age = std::max(age, Age(std::min(kMinPause * known->take_ns, kMaxPauseNs)));
  }
  Remaker<DimensionsCache> remaker(
      [&](const RootDimensionsPtr& known) { return MakeDimensions(view, max_age, known); });
  return dimensions_.Get(view, age, remaker).value;
}

Result<Valid<SharedDocuments::DimensionsCache::Loaded>> SharedDocuments::MakeDimensions(
    size_t view, Age max_age, const RootDimensionsPtr& known) const {
  const int64_t begin_ns = SteadyNowNs();
  auto made = std::make_shared<RootDimensions>();
  const auto found = FindRootDimensions(view, max_age, *made);
  if (!found) {
    if (found.error().code == ErrorCode::kWouldBlock) return Fail(found);
    made->names = std::nullopt;
  }
  const bool is_same =
      known != nullptr && known->arrays == made->arrays && known->names == made->names;
  const RootDimensionsPtr& dimensions = is_same ? known : made;
  dimensions->take_ns = SteadyNowNs() - begin_ns;
  return Valid{DimensionsCache::Loaded{dimensions, 1}, found ? *found : Validity()};
}

Result<Validity> SharedDocuments::FindRootDimensions(size_t view, Age max_age,
                                                     RootDimensions& made) const {
  const auto root = hierarchy_.Get("", max_age);
  if (!root) return Fail(root);
  made.newest = (*root)->info.version;
  TakeLater(made.newest, (*root)->folder_info.version);
  const auto children = hierarchy_.Children(**root, max_age);
  if (!children) return Fail(children);
  const std::vector<std::string>& names = children->value;
  Validity validity = children->validity;
  std::vector<std::string> groups;
  for (const std::string& name : names) {
    auto child = hierarchy_.ShownNode(name, view, max_age, IsDenied);
    if (!child) return Fail(child);
    if (*child == nullptr) continue;
    validity &= (*child)->freshness.validity();
    const auto& array = (*child)->views[view].array;
    if (!array) {
      groups.push_back(name);
      continue;
    }
    made.arrays.push_back(array->dimensions);
    made.arrays.back().array = name;
    TakeLater(made.newest, (*child)->info.version);
  }
  const size_t allowed = hierarchy_.options().consolidated_max;
  const size_t most = allowed > 0 ? allowed : kMaxNodes;
  if (names.size() > most) {
    hierarchy_.reports().ReportFault(
        **root, {ErrorCode::kTooLarge,
                 fmt::format("/: all dimensions carry their lengths in {}: more than {} nodes in "
                             "the root group",
                             AllViews()[view]->name(), most)});
    return validity;
  }
  const std::set<std::string> doubtful = NamesLikeThoseWithLengths(made.arrays);
  std::set<std::string> below;
  if (!doubtful.empty() && !groups.empty()) {
    auto found = NamesBelow(groups, doubtful, view, max_age, most);
    if (!found && found.error().code != ErrorCode::kTooLarge) return Fail(found);
    below = found ? found->value : doubtful;
    validity &= found ? found->validity : Validity();
  }
  made.names = zarrfs::ShareDimensions(made.arrays, names, below);
  return validity;
}

Result<Valid<std::set<std::string>>> SharedDocuments::NamesBelow(
    const std::vector<std::string>& groups, const std::set<std::string>& names, size_t view,
    Age max_age, size_t budget) const {
  std::set<std::string> found;
  Validity validity = Moment::Now(hierarchy_.store()).validity();
  size_t nodes = 0;
  const auto add = [&](const Node& node) {
    if (const auto& array = node.views[view].array) {
      const ArrayDimensions& dimensions = array->dimensions;
      for (size_t d = 0; d < dimensions.shape.size(); ++d) {
        std::string written = NameWithLength(dimensions.names[d], d, dimensions.shape[d]);
        if (names.contains(written)) found.insert(std::move(written));
      }
    }
    return ++nodes <= budget + groups.size();
  };
  for (const std::string& path : groups) {
    const auto group = hierarchy_.Get(path, kAnyAge);
    if (!group) return Fail(group);
    const auto walked = hierarchy_.Walk(*group, view, max_age, IsDenied, add);
    if (!walked) return Fail(walked);
    if (nodes > budget + groups.size()) {
      return Fail(ErrorCode::kTooLarge, "too many nodes below the root");
    }
    validity &= *walked;
  }
  return Valid{std::move(found), validity};
}

Result<Valid<MadeDocument>> SharedDocuments::Get(const NodePtr& node, size_t view, Age max_age,
                                                 MadeTexts::Text* text) const {
  if (node->views[view].documents.size() <= kSharedDocument) {
    return Fail(ErrorCode::kNotFound, "{}: no such document", node->path);
  }
  return AllViews()[view]->places_arrays() ? PlaceArray(node, view, max_age, text)
                                           : ShareDimensions(node, view, max_age, text);
}

Result<Valid<MadeDocument>> SharedDocuments::ShareDimensions(const NodePtr& node, size_t view,
                                                             Age max_age,
                                                             MadeTexts::Text* text) const {
  const NodeView& shown = node->views[view];
  Valid<MadeDocument> made{{}, node->freshness.validity()};
  made.value.version = node->info.version;
  std::optional<std::vector<std::string>> names;
  if (shown.array && !shown.array->attributes.is_null()) {
    const ArrayDimensions& dimensions = shown.array->dimensions;
    RootDimensionsPtr of_root;
    for (const Age age : {max_age, Age{0}}) {
      auto found = DimensionsOfRoot(view, age);
      if (!found) return Fail(found);
      of_root = std::move(*found);
      if (!of_root->names) break;
      names = NamesOf(dimensions, *of_root->names);
      if (names) break;  // otherwise, the array is newer than the cached names
    }
    made.validity &= of_root->freshness.validity();
    if (!names || DependOnOthers(dimensions, *of_root->names)) {
      TakeLater(made.value.version, of_root->newest);
    }
  }
  auto memory =
      ProcessMemory().Take(kCopiesOfAttributes * shown.documents[kSharedDocument].bytes.size());
  if (!memory) return Fail(memory);
  auto kept = texts_.Keep(names ? AllViews()[view]->ShareDimensions(*shown.array, *names)
                                : shown.documents[kSharedDocument].bytes,
                          made.value, std::move(*memory));
  if (text != nullptr) *text = std::move(kept);
  return made;
}

Result<MadeTexts::Text> SharedDocuments::Text(const NodePtr& node, size_t view,
                                              uint64_t text_number) const {
  return texts_.Get(text_number, node->path, [&](MadeTexts::Text& text) {
    return Get(node, view, kAnyAge, &text).map([](const auto& made) {
      return made.value.text_number;
    });
  });
}

}  // namespace zarrfs
