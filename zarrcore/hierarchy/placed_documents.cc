// The part of SharedDocuments that finds the coordinate system of an array in other nodes; see
// gdal_crs.h.
#include <utility>

#include "zarrcore/hierarchy/shared_documents.h"
#include "zarrcore/hierarchy/source_documents.h"
#include "zarrcore/view/gdal_crs.h"
#include "zarrcore/view/v2_attributes.h"

namespace zarrfs {
namespace {

// Peak memory to make the attributes, as a multiple of the document's size: the parsed attributes,
// the changed attributes, and the growing document.
constexpr uint64_t kCopiesOfPlaced = 6;

bool HasDimensions(const Node& node) { return node.array() != nullptr && node.array()->rank() > 0; }

// True if the value of an attribute may be the name of a node in a folder.
bool MayBeName(const std::string& name) {
  constexpr size_t kMaxLength = 255;
  return IsNodeName(name) && name.size() <= kMaxLength &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

bool HasLength(const Node* node, uint64_t length) {
  return node != nullptr && node->array() != nullptr && node->array()->rank() == 1 &&
         node->array()->shape[0] == length;
}

}  // namespace

bool PlacedArrays::Note(const std::string& path) {
  const MutexLock lock(mutex_);
  if (paths_.size() >= kMaxPaths && !paths_.contains(path)) return false;
  paths_.insert(path);
  return true;
}

std::vector<std::string> PlacedArrays::Below(std::string_view folder) const {
  const std::string prefix = folder.empty() ? "" : std::string(folder) + "/";
  const MutexLock lock(mutex_);
  std::vector<std::string> below;
  for (auto path = paths_.lower_bound(prefix); path != paths_.end() && path->starts_with(prefix);
       ++path) {
    below.push_back(*path);
  }
  return below;
}

Result<Valid<MadeDocument>> SharedDocuments::PlaceArray(const NodePtr& node, size_t view,
                                                        Age max_age, MadeTexts::Text* text) const {
  const Document& document = node->views[view].documents[kSharedDocument];
  Sources made{{}, node->freshness.validity()};
  made.value.version = node->info.version;
  Json crs;
  Json names;
  if (HasDimensions(*node)) {
    if (!placed_.Note(node->path)) made.validity = {};
    auto found = CrsFromAbove(*node, max_age, made);
    if (!found) return Fail(found);
    crs = std::move(*found);
    auto shared = NamesInPyramid(*node, max_age, made);
    if (!shared) return Fail(shared);
    names = std::move(*shared);
  }
  const bool is_plain = crs.is_null() && names.is_null();
  const uint64_t bytes = document.bytes.size() + MemoryOf(crs) + MemoryOf(names);
  auto memory = ProcessMemory().Take(
      is_plain ? bytes : MemoryToParse(document.bytes) + kCopiesOfPlaced * bytes);
  if (!memory) return Fail(memory);
  auto bytes_now =
      is_plain ? Result<std::string>(document.bytes) : WithPlace(document.bytes, crs, names);
  if (!bytes_now) return Fail(bytes_now);
  auto kept = texts_.Keep(*std::move(bytes_now), made.value, std::move(*memory));
  if (text != nullptr) *text = std::move(kept);
  return made;
}

Result<Json> SharedDocuments::CrsFromAbove(const Node& array, Age max_age, Sources& sources) const {
  const Json& attributes = array.array()->attributes;
  const bool has_own = attributes.contains("_CRS") || !GdalCrsOf(attributes).is_null();
  if (has_own || array.array()->rank() < 2) return Json();
  auto crs = CrsOfGridMapping(array, max_age, sources);
  return crs && crs->is_null() ? CrsOfGroups(array, max_age, sources) : crs;
}

Result<Json> SharedDocuments::CrsOfGridMapping(const Node& array, Age max_age,
                                               Sources& sources) const {
  const std::string name = GridMappingOf(array.array()->attributes);
  if (!MayBeName(name)) return Json();
  for (std::string folder(array.path); !folder.empty();) {
    folder = FolderOf(folder);
    const auto found = SourceAt(JoinKey(folder, name), max_age, sources);
    if (!found) return Fail(found);
    if (*found == nullptr || (*found)->array() == nullptr) continue;
    if (!MayRepeat(**found, array)) return Json();
    Json crs = GdalCrsOf((*found)->array()->attributes);
    if (!crs.is_null()) TakeLater(sources.value.version, (*found)->info.version);
    return crs;
  }
  return Json();
}

Result<Json> SharedDocuments::CrsOfGroups(const Node& array, Age max_age, Sources& sources) const {
  const Json dimensions = DimensionNames(*array.array(), /*plain=*/false, /*with_lengths=*/false);
  for (std::string folder(array.path); !folder.empty();) {
    folder = FolderOf(folder);
    const auto group = SourceAt(folder, max_age, sources);
    if (!group) return Fail(group);
    if (*group == nullptr || (*group)->group() == nullptr || !MayRepeat(**group, array)) continue;
    const auto below = std::string_view(array.path).substr(folder.empty() ? 0 : folder.size() + 1);
    Json crs = GdalCrsOfGroup((*group)->group()->attributes, below, dimensions);
    if (crs.is_null()) continue;
    TakeLater(sources.value.version, (*group)->info.version);
    return crs;
  }
  return Json();
}

Result<Json> SharedDocuments::NamesInPyramid(const Node& array, Age max_age,
                                             Sources& sources) const {
  if (array.from_parent.below_ome) return Json();
  const std::string folder(FolderOf(array.path));
  const auto group = SourceAt(folder, max_age, sources);
  if (!group) return Fail(group);
  const bool is_size = *group != nullptr && (*group)->group() != nullptr &&
                       IsSizeOf((*group)->group()->attributes, NameOf(array.path));
  if (!is_size) return Json();
  const ArrayMetadata& metadata = *array.array();
  Json names = DimensionNames(metadata, /*plain=*/false, /*with_lengths=*/true);
  const Json plain = DimensionNames(metadata, /*plain=*/false, /*with_lengths=*/false);
  for (size_t d = 0; d < metadata.rank(); ++d) {
    const std::string name = plain[d].get<std::string>();
    if (!MayBeName(name)) continue;
    const auto coordinate = SourceAt(JoinKey(folder, name), max_age, sources);
    if (!coordinate) return Fail(coordinate);
    if (HasLength(coordinate->get(), metadata.shape[d])) names[d] = name;
  }
  TakeLater(sources.value.version, (*group)->info.version);
  return names;
}

Result<NodePtr> SharedDocuments::SourceAt(const std::string& path, Age max_age,
                                          Sources& sources) const {
  auto node = hierarchy_.Get(path, max_age);
  sources.validity &=
      node ? (*node)->freshness.validity() : hierarchy_.ValidityOfAbsence(path, node.error());
  if (node) return (*node)->metadata ? *node : NodePtr();
  const bool is_none = node.error().code == ErrorCode::kNotFound ||
                       node.error().code == ErrorCode::kPermissionDenied;
  if (!is_none) return Fail(node);
  return NodePtr();
}

bool SharedDocuments::MayRepeat(const Node& source, const Node& array) const {
  ObjectInfo info = source.info;
  info.mode &= source.attributes_mode;
  return !hierarchy_.options().is_for_others || !IsLessOpen(info, array.info);
}

}  // namespace zarrfs
