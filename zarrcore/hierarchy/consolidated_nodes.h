// ConsolidatedNodes: the nodes in the stored consolidated metadata of a group.
//
// For stores behind a network, a listing reads the consolidated metadata instead of one document
// per node. Only listings use it: a node's own documents are authoritative, and are read when the
// node is used.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

struct ConsolidatedNodes {
  /// Consolidated documents with more bytes than this are ignored.
  static constexpr size_t kMaxBytes = 8u << 20;

  std::string group;     // the path of the group
  std::string document;  // the key of the consolidated document
  // The attributes and version of the consolidated document. Not set if the document has more than
  // kMaxBytes.
  ObjectInfo info;
  /// The contents of the nodes' documents. The map's keys are the documents' keys in the store.
  std::map<std::string, std::string, std::less<>> texts = {};

  mutable Freshness freshness = {};  // set only by the cache that owns this object

  /// True if the consolidated document contains a node at `path`.
  [[nodiscard]] bool Has(std::string_view path) const;
  [[nodiscard]] size_t bytes_in_memory() const;
};

/// Reads the zarr.json or .zmetadata of a group that has consolidated metadata. If the document is
/// damaged or too large, the result contains no nodes.
[[nodiscard]] Result<std::shared_ptr<const ConsolidatedNodes>> ReadConsolidatedNodes(
    const Store& store, const Node& group);

/// Returns a store that reads the documents of the node at `path` from `nodes`, and everything else
/// from `store`.
[[nodiscard]] std::shared_ptr<const Store> WithDocumentsOf(
    std::shared_ptr<const Store> store, std::shared_ptr<const ConsolidatedNodes> nodes,
    const std::string& path);

}  // namespace zarrfs
