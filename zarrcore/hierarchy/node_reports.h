// NodeReports: reports about the nodes of a store, once per problem and version of a node.
#pragma once

#include <mutex>
#include <unordered_set>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/hierarchy/node.h"

namespace zarrfs {

/// Thread-safe. Calls its reports without a lock, on the calling thread.
class NodeReports {
 public:
  /// `report`: called with faults; `note`: with other findings. Either may be empty.
  NodeReports(Report report, Report note) : report_(std::move(report)), note_(std::move(note)) {}

  /// Reports a fault of the node. The message names the node.
  void ReportFault(const Node& node, const Error& fault) {
    if (report_ && IsNew(node, fault)) report_(fault);
  }
  /// A property of the node that users may want to know.
  void ReportNote(const Node& node, const Error& note) {
    if (note_ && IsNew(node, note)) note_(note);
  }
  /// Reports a fault if the node's name hides it in a view.
  void ReportName(const Node& node);

 private:
  [[nodiscard]] bool IsNew(const Node& node, const Error& message);

  const Report report_;
  const Report note_;
  std::mutex mutex_;
  std::unordered_set<size_t> reported_;  // hashes
};

}  // namespace zarrfs
