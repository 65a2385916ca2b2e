#include "zarrcore/hierarchy/consolidated.h"

#include <algorithm>
#include <utility>

#include "zarrcore/hierarchy/remaker.h"
#include "zarrcore/metadata/consolidated_member.h"

namespace zarrfs {
namespace {

// Peak memory while a consolidated document is made, as a multiple of its size: the original
// documents, their copies in the new document, the growing string, and its conversion to ASCII.
constexpr uint64_t kCopiesOfDocuments = 8;
constexpr uint64_t kMemoryAtOnce = 64u << 10;

// Capacity of the cache of consolidated documents in bytes, excluding the documents' own bytes.
constexpr size_t kConsolidatedBytes = 8u << 20;

std::string ConsolidatedKey(const Node& group, size_t view) {
  return fmt::format("{}/{}", view, group.path);
}

// Returns a digest of a node's path and of its documents in a view.
Digest DigestOf(const Node& node, size_t view) {
  DigestBuilder all;
  all.Add(node.views[view].documents_digest).Add(node.path);
  return all.Finish();
}

// The reason why a consolidated document of `group` omits the node `below`; "" if it includes the
// node.
std::string_view WhyLeftOut(const Node& group, const Result<NodePtr>& below, bool is_for_others) {
  if (!below) {
    return below.error().code == ErrorCode::kPermissionDenied ? "permission denied" : "";
  }
  ObjectInfo info = (*below)->info;
  info.mode &= (*below)->attributes_mode;
  const bool is_hidden = is_for_others && IsLessOpen(info, group.info);
  return is_hidden ? "its permissions are stricter than the group's" : "";
}

}  // namespace

ConsolidatedDocuments::ConsolidatedDocuments(const Hierarchy& hierarchy, MadeTexts& texts)
    : hierarchy_(hierarchy),
      texts_(texts),
      documents_(hierarchy.shared_store(), kConsolidatedBytes) {}

ConsolidatedPtr ConsolidatedDocuments::Known(const Node& group, size_t view) const {
  return documents_.Find(ConsolidatedKey(group, view));
}

Result<ConsolidatedPtr> ConsolidatedDocuments::Get(const NodePtr& group, size_t view,
                                                   Age max_age) const {
  const std::string key = ConsolidatedKey(*group, view);
  const ConsolidatedPtr known = documents_.Find(key);
  if (known != nullptr && known->nodes.front() != DigestOf(*group, view)) {
    documents_.Erase(key, known);
  }
  Remaker<Cache> remaker(
      [&](const ConsolidatedPtr& before) { return Make(group, view, max_age, before); });
  return documents_.Get(key, max_age, remaker).value;
}

Result<Valid<ConsolidatedDocuments::Cache::Loaded>> ConsolidatedDocuments::Make(
    const NodePtr& group, size_t view, Age max_age, const ConsolidatedPtr& known,
    MadeTexts::Text* text) const {
  struct Shown {
    std::string path;  // relative to the group
    std::vector<Document> documents;
  };
  std::vector<Shown> shown;
  uint64_t bytes = 0;
  Result<MemoryBudget::Share> memory{};
  const auto take_memory = [&](uint64_t needed) {
    if (!memory || memory->bytes() >= needed) return memory.has_value();
    // Doubles the reservation each time, so few reservations are needed.
    auto more = ProcessMemory().Take(
        std::max({needed, 2 * memory->bytes(), kMemoryAtOnce}) - memory->bytes(), memory->bytes());
    if (more) {
      memory->Add(std::move(*more));
    } else {
      memory = Fail(more.error().code, "{}: consolidated metadata of {} bytes and more: {}",
                    group->path, bytes, more.error().message);
    }
    return memory.has_value();
  };
  auto made = std::make_shared<Consolidated>();
  bool has_too_many = false;
  const auto add = [&](const Node& node) {
    made->nodes.push_back(DigestOf(node, view));
    std::string below = node.path.substr(group->path.size());
    if (below.starts_with('/')) below.erase(0, 1);
    for (const Document& document : node.views[view].documents) bytes += document.bytes.size();
    if (!take_memory(bytes)) return false;
    shown.push_back({std::move(below), node.views[view].documents});
    TakeLater(made->version, node.info.version);
    has_too_many = !group->keeps_zmetadata(view) &&
                   made->nodes.size() > hierarchy_.options().consolidated_max + 1;
    made->is_too_large = has_too_many || bytes > kMaxConsolidatedBytes;
    return !made->is_too_large;
  };
  const auto leave_out = [&](const std::string& path, const Result<NodePtr>& node) {
    const std::string_view reason = WhyLeftOut(*group, node, hierarchy_.options().is_for_others);
    if (reason.empty()) return false;
    hierarchy_.reports().ReportNote(
        *group, {ErrorCode::kPermissionDenied,
                 fmt::format("{}: left out of the consolidated metadata in {}: {}", path,
                             AllViews()[view]->name(), reason)});
    return true;
  };
  const auto walked = hierarchy_.Walk(group, view, max_age, leave_out, add);
  if (!walked) return Fail(walked);
  if (!memory) return Fail(memory);
  const auto loaded = [&](const ConsolidatedPtr& value) {
    size_t charge = sizeof(Consolidated) + value->nodes.capacity() * sizeof(Digest) +
                    value->paths.capacity() * sizeof(std::string);
    for (const std::string& path : value->paths) charge += path.capacity();
    return Valid{Cache::Loaded{value, charge}, *walked};
  };
  if (made->is_too_large) made->nodes.resize(1);
  if (known != nullptr && known->nodes == made->nodes &&
      known->is_too_large == made->is_too_large) {
    return loaded(known);
  }
  if (made->is_too_large) {
    const std::string why = has_too_many
                                ? fmt::format("more than {} nodes, which consolidated_max= allows",
                                              hierarchy_.options().consolidated_max)
                                : fmt::format("more than {} MiB", kMaxConsolidatedBytes >> 20);
    hierarchy_.reports().ReportFault(
        *group, {ErrorCode::kTooLarge, fmt::format("{}: no consolidated metadata in {}: {}",
                                                   group->path.empty() ? "/" : group->path,
                                                   AllViews()[view]->name(), why)});
    return loaded(made);
  }
  if (!take_memory(bytes * kCopiesOfDocuments)) return Fail(memory);
  std::vector<NodeBelow> nodes;
  for (const Shown& one : shown) {
    nodes.push_back({one.path, one.documents});
    made->paths.push_back(JoinKey(group->path, one.path));
  }
  auto kept = texts_.Keep(AllViews()[view]->Consolidate(nodes), *made, std::move(*memory));
  if (text != nullptr) *text = std::move(kept);
  return loaded(made);
}

Result<MadeTexts::Text> ConsolidatedDocuments::Text(const NodePtr& group, size_t view,
                                                    uint64_t text_number) const {
  return texts_.Get(text_number, group->path, [&](MadeTexts::Text& text) {
    return Make(group, view, kAnyAge, nullptr, &text).map([](const auto& made) {
      return made.value.value->text_number;
    });
  });
}

}  // namespace zarrfs
