// ConsolidatedNodes: what the consolidated metadata of a group in the store say of the nodes below.
//
// A listing of a store behind a network is made of it, with one request instead of one for each
// node. Nothing else is: the documents of a node take precedence over it, and are asked for once
// the node is used.
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
  /// Of the document: longer ones are not made use of.
  static constexpr size_t kMaxBytes = 8u << 20;

  std::string group;     // its path
  std::string document;  // the key of the document
  ObjectInfo info;       // likewise; of no size if it cannot be used
  /// Texts of the nodes' documents, by key.
  std::map<std::string, std::string, std::less<>> texts = {};

  mutable Freshness freshness = {};  // set by the cache that keeps it, and nobody else

  /// Whether it says anything of the node at `path`.
  [[nodiscard]] bool Has(std::string_view path) const;
  [[nodiscard]] size_t bytes_in_memory() const;
};

/// Reads those of a group that has them: in zarr.json, or in .zmetadata. What cannot be used (too
/// large, damaged) names no nodes.
[[nodiscard]] Result<std::shared_ptr<const ConsolidatedNodes>> ReadConsolidatedNodes(
    const Store& store, const Node& group);

/// A store that answers for the documents of the node at `path` with what `nodes` have of them.
[[nodiscard]] std::shared_ptr<const Store> WithDocumentsOf(
    std::shared_ptr<const Store> store, std::shared_ptr<const ConsolidatedNodes> nodes,
    const std::string& path);

}  // namespace zarrfs
