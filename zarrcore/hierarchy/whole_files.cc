#include "zarrcore/hierarchy/whole_files.h"

#include <algorithm>
#include <set>
#include <utility>

#include "zarrcore/hierarchy/remaker.h"
#include "zarrcore/hierarchy/source_documents.h"
#include "zarrcore/local/path_modes.h"
#include "zarrcore/open/source.h"

namespace zarrfs {
namespace {

// Approximate memory of a file without its header, and of each array in it.
constexpr size_t kBytesOfFile = 1024;
constexpr size_t kBytesOfPart = 512;

constexpr size_t kFilesBytes = 16u << 20;  // cache capacity, used mainly by the headers of files

constexpr size_t kMaxNameLength = 255;

constexpr size_t kMaxArrays = 4096;  // used if HierarchyOptions::consolidated_max is 0

std::string NameOfSource(std::string_view source) {
  std::string name = NameOfStore(source);
  return name.empty() ? "root" : name;
}

bool MakesFile(const NodeSource& node, bool is_array, bool is_group, FileOf of) {
  if (of == FileOf::kArrays) return is_array;
  // An array at the root has no parent group, so it gets its own file.
  return of == FileOf::kGroups && (is_group || node.path.empty());
}
bool MakesFile(const Node& node, FileOf of) {
  return MakesFile(node, node.array() != nullptr, node.group() != nullptr, of);
}

Digest DigestOfFile(const Assembled& made) {
  DigestBuilder all;
  all.Add(made.file.header).Add(made.file.size).Add(made.file.document);
  for (const FilePart& part : made.file.parts) {
    all.Add(part.offset).Add(part.elements).Add(part.array).Add(part.form.type.name);
    all.Add(part.form.item_size());
    all.Add(uint64_t{part.form.is_wide}).Add(uint64_t{part.form.is_big_endian});
    all.Add(uint64_t{part.form.is_converted});
  }
  for (const NodePtr& array : made.arrays) {
    all.Add(array->path).Add(ChunksText(*array->array())).Add(array->array()->fill_value);
  }
  for (const uint64_t each : {made.info.mode, made.info.uid, made.info.gid}) all.Add(each);
  return all.Finish();
}

// True for arrays of variable-length strings.
bool HasTexts(const Node& node) {
  return node.array() != nullptr && node.array()->data_type.kind == DataKind::kString;
}

// True if `node` is a one-dimensional array with the coordinates of the dimension `name`.
bool IsCoordinate(const Node& node, const std::string& name, uint64_t length) {
  const ArrayMetadata* const array = node.array();
  if (array == nullptr || array->rank() != 1 || array->shape[0] != length) return false;
  // An array that is named after one dimension but extends along another is not a coordinate.
  return array->dimension_names && array->dimension_names->front() == name;
}

// The key in the cache of the file that a view makes from the node at `path`.
std::string KeyOfFile(const std::string& path, size_t view) {
  return fmt::format("{} {}", view, path);
}

// True if the scanned arrays of both files have the same stored chunks.
bool HaveSameScans(const Assembled& a, const Assembled& b) {
  return std::ranges::equal(a.scans, b.scans, [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.objects == other.second.objects;
  });
}

// Removes permissions from `info` that the documents of `node` do not grant. Sets info.version to
// the version of `node` if that is later.
void Restrict(ObjectInfo& info, const Node& node) {
  ObjectInfo other = node.info;
  other.mode &= node.attributes_mode & ~0111u;
  if (other.version.ctime_ns > info.version.ctime_ns) info.version = other.version;
  const bool has_same_owner = other.uid == info.uid && other.gid == info.gid;
  // If the owners differ and not everybody may read the document, nobody may read the file.
  info.mode &= has_same_owner || (other.mode & 0444) == 0444 ? other.mode : 0;
}

}  // namespace

WholeFiles::WholeFiles(const Hierarchy& hierarchy)
    : hierarchy_(hierarchy), files_(hierarchy.shared_store(), kFilesBytes) {}

Result<bool> WholeFiles::HasFileOrFolder(const std::string& path, size_t view, bool file,
                                         Age max_age) const {
  const FileOf of = AllViews()[view]->file_of();
  const auto node = hierarchy_.GetOutline(path, max_age);
  if (!node && node.error().code == ErrorCode::kNotFound) return false;
  if (!node && node.error().code == ErrorCode::kWouldBlock) return Fail(node);
  // A node that cannot be read may be an array or a group, so both are assumed.
  if (!node || (*node)->is_unreadable) return true;
  const bool is_group = (*node)->is_group;
  return file ? MakesFile(**node, (*node)->is_array, is_group, of) : is_group;
}

Result<std::string> WholeFiles::Name(const std::string& path, size_t view, Age max_age) const {
  const std::string suffix(AllViews()[view]->suffix());
  const std::string folder(FolderOf(path));
  const std::string name =
      path.empty() ? NameOfSource(hierarchy_.store().name()) : std::string(NameOf(path));
  std::optional<Result<std::vector<std::string>>> listed;
  const auto has = [&](const std::string& base, bool file) -> Result<bool> {
    const std::string node = file ? base : base + suffix;
    auto has_it = HasFileOrFolder(JoinKey(folder, node), view, file, max_age);
    if (!has_it || !*has_it) return has_it;
    // HasFileOrFolder() also returns true for a node that cannot be read, so a listing must prove
    // that the node exists.
    if (!listed) {
      const auto group = hierarchy_.Get(folder, max_age);
      listed = group ? hierarchy_.CandidateNames(**group)
                     : Result<std::vector<std::string>>(Fail(group));
    }
    if (!*listed && listed->error().code == ErrorCode::kWouldBlock) return Fail(*listed);
    if (!*listed) return false;
    return std::ranges::find(**listed, node) != (*listed)->end();
  };
  const auto has_folder = has(name, false);
  if (!has_folder) return Fail(has_folder);
  const auto has_file = path.empty() ? has(name, true) : Result<bool>(false);
  if (!has_file) return Fail(has_file);
  if (!*has_folder && !*has_file) return name + suffix;

  // Resolves conflicts between nodes whose names differ only by trailing `_`. A file keeps its
  // node's name if that name is free. The other files choose names in order: the longest name
  // first, the root's file last.
  std::set<std::string> taken;
  std::vector<std::string> without;  // nodes whose files need another name
  for (std::string base = name; base.size() + suffix.size() <= kMaxNameLength; base += '_') {
    const auto is_folder = has(base, false);
    if (!is_folder) return Fail(is_folder);
    const auto is_file = has(base, true);
    if (!is_file) return Fail(is_file);
    if (*is_folder) taken.insert(base);
    if (*is_file && *is_folder) without.push_back(base);
    if (*is_file && !*is_folder) taken.insert(base);
  }
  if (path.empty()) without.insert(without.begin(), name);
  std::string base = name;
  for (; !without.empty(); without.pop_back()) {
    base = without.back();
    while (!taken.insert(base).second) base += '_';
  }
  return base + suffix;
}

Result<std::optional<std::string>> WholeFiles::PathOf(const std::string& folder, size_t view,
                                                      std::string_view name, Age max_age) const {
  const std::string_view suffix = AllViews()[view]->suffix();
  if (!name.ends_with(suffix) || name.size() == suffix.size()) return std::nullopt;
  std::string base(name.substr(0, name.size() - suffix.size()));
  for (;;) {
    const std::string path = JoinKey(folder, base);
    const auto has_file = HasFileOrFolder(path, view, true, max_age);
    if (!has_file) return Fail(has_file);
    const auto called = *has_file ? Name(path, view, max_age) : Result<std::string>("");
    if (!called) return Fail(called);
    if (*called == name) return path;
    if (!base.ends_with('_') || base.size() == 1) break;
    base.pop_back();
  }
  if (!folder.empty()) return std::nullopt;
  const auto root = hierarchy_.Get("", max_age);
  if (!root) return Fail(root);
  if (!MakesFile(**root, AllViews()[view]->file_of())) return std::nullopt;
  const auto called = Name("", view, max_age);
  if (!called) return Fail(called);
  return *called == name ? std::optional<std::string>("") : std::nullopt;
}

Result<Valid<std::vector<NodePtr>>> WholeFiles::ArraysOf(const NodePtr& node, size_t view,
                                                         Age max_age) const {
  std::vector<NodePtr> arrays;
  Validity validity = node->freshness.validity();
  if (node->array() != nullptr) {
    if (const auto& hidden = node->views[view].hidden) return tl::unexpected(*hidden);
    arrays.push_back(node);
    return Valid{std::move(arrays), validity};
  }
  if (!MakesFile(*node, AllViews()[view]->file_of())) {
    return Fail(ErrorCode::kStale, "{}: no longer an array", node->path);
  }
  const size_t allowed = hierarchy_.options().consolidated_max;
  const size_t most = allowed > 0 ? allowed : kMaxArrays;
  Result<void> added;
  const auto add = [&](const std::string& /*name*/, const Result<NodePtr>& child) {
    // A node that cannot be read may be an array. A file without that array would claim that the
    // array does not exist.
    const Error* const error = child ? (*child)->unreadable() : &child.error();
    if (error != nullptr) {
      added = tl::unexpected(*error);
    } else if ((*child)->array() != nullptr && !(*child)->views[view].hidden) {
      arrays.push_back(*child);
    }
    if (arrays.size() > most) {
      added = Fail(ErrorCode::kTooLarge, "{}: no file in {}: more than {} arrays",
                   node->path.empty() ? "/" : node->path, AllViews()[view]->name(), most);
    }
    return added.has_value();
  };
  const auto visited = hierarchy_.VisitChildren(
      *node, max_age, [](const std::vector<std::string>& /*names*/) {}, add);
  if (!visited) return Fail(visited);
  if (!added) return Fail(added);
  validity &= *visited;
  const auto above = AddCoordinatesAbove(node, view, max_age, arrays);
  if (!above) return Fail(above);
  return Valid{std::move(arrays), validity & *above};
}

// xarray writes shared coordinates only to the nearest common ancestor of the groups that use them.
Result<Validity> WholeFiles::AddCoordinatesAbove(const NodePtr& group, size_t view, Age max_age,
                                                 std::vector<NodePtr>& arrays) const {
  Validity validity = Moment::Now(hierarchy_.store()).validity();
  std::set<std::string> present;
  std::set<std::pair<std::string, uint64_t>> wanted;
  for (const NodePtr& array : arrays) {
    present.emplace(NameOf(array->path));
    const ArrayMetadata& metadata = *array->array();
    if (!metadata.dimension_names) continue;
    for (size_t d = 0; d < metadata.rank(); ++d) {
      const auto& name = (*metadata.dimension_names)[d];
      if (name) wanted.emplace(*name, metadata.shape[d]);
    }
  }
  std::erase_if(wanted, [&](const auto& each) { return present.contains(each.first); });
  const size_t allowed = hierarchy_.options().consolidated_max;
  const size_t most = allowed > 0 ? allowed : kMaxArrays;
  if (wanted.size() > most) {
    return Fail(ErrorCode::kTooLarge, "{}: no file in {}: more than {} dimensions", group->path,
                AllViews()[view]->name(), most);
  }
  for (std::string path = group->path; !path.empty() && !wanted.empty();) {
    path = FolderOf(path);
    const auto above = hierarchy_.Get(path, kAnyAge);
    if (!above) return Fail(above);
    validity &= (*above)->freshness.validity();
    for (auto each = wanted.begin(); each != wanted.end();) {
      const auto& [name, length] = *each;
      auto found = IsNodeNameBelow(**above, name)
                       ? hierarchy_.Get(JoinKey(path, name), max_age)
                       : Result<NodePtr>(Fail(ErrorCode::kNotFound, "{}: no node", name));
      if (!found && found.error().code != ErrorCode::kNotFound) return Fail(found);
      validity &= found ? (*found)->freshness.validity()
                        : hierarchy_.ValidityOfAbsence(JoinKey(path, name), found.error());
      if (found && (*found)->unreadable() != nullptr) {
        return tl::unexpected(*(*found)->unreadable());
      }
      if (found && IsCoordinate(**found, name, length) && !(*found)->views[view].hidden) {
        present.insert(name);
        arrays.push_back(*std::move(found));
        std::erase_if(wanted,
                      [&](const auto& one) { return one.first == NameOf(arrays.back()->path); });
        each = wanted.lower_bound({std::string(NameOf(arrays.back()->path)), 0});
      } else {
        ++each;
      }
    }
  }
  std::ranges::sort(arrays, {}, [](const NodePtr& array) { return NameOf(array->path); });
  return validity;
}

AssembledPtr WholeFiles::Known(const std::string& path, size_t view) const {
  return files_.Find(KeyOfFile(path, view));
}

Result<AssembledPtr> WholeFiles::Assemble(const std::string& path, size_t view, Age max_age) const {
  const std::string key = KeyOfFile(path, view);
  Remaker<Cache> remaker(
      [&](const AssembledPtr& known) { return Make(path, view, max_age, known); });
  return files_.Get(key, max_age, remaker).value;
}

Scan WholeFiles::ScanFor(const Node& array, size_t view, Age max_age,
                         const AssembledPtr& known) const {
  const Scan* before = nullptr;
  if (known != nullptr) {
    const auto found = known->scans.find(array.path);
    if (found != known->scans.end()) before = &found->second;
  }
  Scan scan =
      ScanElements(hierarchy_.store(), array, max_age, hierarchy_.options().string_scan, before);
  const bool is_told = !scan.range && !scan.failure && HasTexts(array);
  if (is_told && !array.views[view].has_texts) ReportLeftOut(array, view, scan.why_not);
  return scan;
}

void WholeFiles::ReportLeftOut(const Node& node, size_t view, std::string_view note) const {
  const std::string_view what =
      node.views[view].has_texts ? "not shown in" : "left out of the file in";
  const Error error{ErrorCode::kUnsupported,
                    fmt::format("{}: {} {}: {}", node.path.empty() ? "/" : node.path, what,
                                AllViews()[view]->name(), note)};
  // Strings that cannot be shown are a fault. A type that the file format lacks is not a fault of
  // the store.
  if (HasTexts(node)) {
    hierarchy_.reports().ReportFault(node, error);
  } else {
    hierarchy_.reports().ReportNote(node, error);
  }
}

Result<Valid<WholeFiles::Cache::Loaded>> WholeFiles::Make(const std::string& path, size_t view,
                                                          Age max_age,
                                                          const AssembledPtr& known) const {
  const auto node = hierarchy_.Get(path, max_age);
  if (!node) return Fail(node);
  if (const Error* const error = (*node)->unreadable()) return tl::unexpected(*error);
  auto made = std::make_shared<Assembled>();
  made->info = (*node)->info;
  made->info.mode &= (*node)->attributes_mode & ~0111u;
  auto found = ArraysOf(*node, view, max_age);
  if (!found) return Fail(found);
  made->arrays = std::move(found->value);
  Validity validity = found->validity;

  std::vector<FileSource::Array> arrays;
  for (const NodePtr& array : made->arrays) {
    arrays.push_back({NameOf(array->path), array->array()});
    Restrict(made->info, *array);
  }
  std::optional<Error> failed;
  const auto scan = [&](size_t a) {
    const Node& array = *made->arrays[a];
    const auto [at, is_new] = made->scans.try_emplace(array.path);
    if (is_new) at->second = ScanFor(array, view, max_age, known);
    const Scan& seen = at->second;
    validity &= seen.validity;
    if (seen.range) return Result<ElementRange>(*seen.range);
    // If the scan fails, strings cannot be shown. Numbers can, because a type exists that holds all
    // values.
    if (seen.failure && (HasTexts(array) || seen.failure->code == ErrorCode::kWouldBlock)) {
      failed = seen.failure;
    }
    return Result<ElementRange>(Fail(ErrorCode::kUnsupported, "{}", seen.why_not));
  };
  const FileSource source{(*node)->group(), arrays, NameOf(path), scan,
                          hierarchy_.options().netcdf};
  auto file = AllViews()[view]->Assemble(source);
  if (failed) return tl::unexpected(*failed);
  if (!file) return Fail(file.error().code, "{}: {}", path, file.error().message);
  made->file = std::move(*file);
  for (const std::string& note : made->file.notes) ReportLeftOut(**node, view, note);
  if (!made->file.why_cdf5.empty()) {
    hierarchy_.reports().ReportNote(
        **node,
        {ErrorCode::kUnsupported, fmt::format("{}: the file in {} is {}", path.empty() ? "/" : path,
                                              AllViews()[view]->name(), made->file.why_cdf5)});
  }
  made->digest = DigestOfFile(*made);
  const size_t charge =
      kBytesOfFile + made->file.header.capacity() + made->file.parts.size() * kBytesOfPart;
  if (known != nullptr && known->digest == made->digest && known->arrays == made->arrays &&
      HaveSameScans(*known, *made)) {
    return Valid{Cache::Loaded{known, charge}, validity};
  }
  auto memory = ProcessMemory().Take(charge);
  if (!memory) return Fail(memory);
  made->memory = std::move(*memory);
  return Valid{Cache::Loaded{made, charge}, validity};
}

}  // namespace zarrfs
