#include "zarrcore/hierarchy/node_reports.h"

#include <functional>
#include <string>

namespace zarrfs {
namespace {

// Maximum number of recorded reports. At this number, all records are cleared, so problems may be
// reported again.
constexpr size_t kMaxReported = 1u << 20;

}  // namespace

bool NodeReports::IsNew(const NodeSource& node, const Error& message) {
  const size_t hash = std::hash<std::string>()(
      fmt::format("{}\n{}\n{}", node.path, node.info.version.Fingerprint(), message.message));
  const MutexLock lock(mutex_);
  if (reported_.size() >= kMaxReported) reported_.clear();
  return reported_.insert(hash).second;
}

void NodeReports::ReportName(const NodeSource& node) {
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
