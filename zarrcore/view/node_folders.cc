#include "zarrcore/view/node_folders.h"

namespace zarrfs {
namespace {

constexpr int kMaxImplicitDepth = 16;
constexpr int kMaxImplicitFolders = 4096;

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
  Result<bool> none = false;  // or what could not be looked into
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

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.find_first_not_of('.') != std::string_view::npos &&
         name != kZarrJson;
}

bool IsNodeNameBelow(const Node& group, std::string_view name) {
  return IsNodeName(name) && !(group.is_v2() && name.starts_with(".z"));
}

Result<bool> HasNodeBelow(const Store& store, const std::string& folder) {
  int budget = kMaxImplicitFolders;
  return FindNode(store, folder, 0, budget);
}

Result<bool> HasNodeInOrBelow(const Store& store, const std::string& folder) {
  int budget = kMaxImplicitFolders;
  return FindNode(store, folder, 1, budget);
}

}  // namespace zarrfs
