#include "zarrcore/icechunk/differences.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace zarrfs {
namespace {

// The maximum number of references that are compared in total, which takes a fraction of a second.
constexpr size_t kMaxReferences = 200'000;

bool IsSameNode(const IcechunkNode* a, const IcechunkNode* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->id == b->id && a->document == b->document && a->is_array == b->is_array;
}

}  // namespace

Changes FindIcechunkChanges(IcechunkChunkFinder& finder, const IcechunkSnapshot& before,
                            const IcechunkSnapshot& next) {
  Changes changes{.keys = {}, .folders = {}, .all = true};
  const auto nodes = next.nodes();
  bool is_same =
      before.nodes().size() == nodes.size() && IsSameNode(before.Find(""), next.Find(""));
  std::vector<const IcechunkNode*> arrays;
  if (next.Find("") != nullptr) arrays.push_back(next.Find(""));
  for (const IcechunkNode& node : nodes) {
    is_same = is_same && IsSameNode(before.Find(node.path), &node);
    arrays.push_back(&node);
  }
  for (const IcechunkNode* const node : arrays) {
    const IcechunkNode* const old = before.Find(node->path);
    if (!node->is_array || old == nullptr || old->id != node->id || old->rank != node->rank)
      continue;
    const auto differ = finder.Differences(*old, *node, kMaxReferences);
    is_same = is_same && differ && changes.keys.size() + differ->size() <= kMaxReferences;
    if (!is_same) continue;
    for (const std::vector<uint32_t>& at : *differ) {
      std::string key = JoinKey(node->path, "c");
      for (const uint32_t index : at) key += "/" + std::to_string(index);
      changes.keys.push_back(std::move(key));
    }
  }
  if (!is_same) return changes;
  changes.all = false;
  return changes;
}

}  // namespace zarrfs
