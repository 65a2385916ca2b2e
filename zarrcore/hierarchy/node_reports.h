// NodeReports: reports problems of the nodes of a store, once per problem and version of a node.
#pragma once

#include <unordered_set>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/hierarchy/node.h"

namespace zarrfs {

/// Thread-safe. Calls its callbacks on the calling thread, with no lock held.
class NodeReports {
 public:
  /// `report` is called with faults, `note` with other findings. Either may be empty.
  NodeReports(Report report, Report note) : report_(std::move(report)), note_(std::move(note)) {}

  /// Reports a fault of the node. The message must name the node.
  void ReportFault(const NodeSource& node, const Error& fault) {
    if (report_ && IsNew(node, fault)) report_(fault);
  }
  /// Reports a property of the node that users may want to know. The message must name the node.
  void ReportNote(const NodeSource& node, const Error& note) {
    if (note_ && IsNew(node, note)) note_(note);
  }
  /// Reports a fault if a listed view hides the node because of its name.
  void ReportName(const NodeSource& node);

 private:
  [[nodiscard]] bool IsNew(const NodeSource& node, const Error& message);

  const Report report_;
  const Report note_;
  Mutex mutex_;
  // Hashes of the path, version and message of each report.
  std::unordered_set<size_t> reported_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
