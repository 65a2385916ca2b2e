#include "zarrcore/hierarchy/node_reports.h"

#include <functional>
#include <string>

namespace zarrfs {
namespace {

constexpr size_t kMaxReported = 1u << 20;  // beyond this, everything is reported again

}  // namespace

bool NodeReports::IsNew(const Node& node, const Error& message) {
  const size_t hash = std::hash<std::string>()(
      fmt::format("{}\n{}\n{}", node.path, node.info.version.Fingerprint(), message.message));
  const std::lock_guard lock(mutex_);
  if (reported_.size() >= kMaxReported) reported_.clear();
  return reported_.insert(hash).second;
}

void NodeReports::ReportName(const Node& node) {
  if (node.path.empty()) return;
  const std::string_view name = NameOf(node.path);
  std::string views;
  for (const View* view : AllViews()) {
    if (!view->is_listed() || view->AllowsNodeName(name)) continue;
    views += fmt::format("{}{}", views.empty() ? "" : ", ", view->name());
  }
  if (views.empty()) return;
  ReportFault(node, {ErrorCode::kUnsupported,
                     fmt::format("{}: not shown in {}: its readers do not accept the name",
                                 node.path, views)});
}

}  // namespace zarrfs
