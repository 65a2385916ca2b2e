// ConsolidatedNodes: the nodes in the stored consolidated metadata of a group.
//
// For a store behind a network they replace one request per node of a listing by a single one. They
// serve no other purpose: the documents of a node take precedence, and are read once the node is
// used.
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
  /// Longer documents are ignored.
  static constexpr size_t kMaxBytes = 8u << 20;

  std::string group;     // its path
  std::string document;  // the key of the document
  ObjectInfo info;       // likewise; of size 0 if it cannot be used
  /// Texts of the nodes' documents, by key.
  std::map<std::string, std::string, std::less<>> texts = {};

  mutable Freshness freshness = {};  // set only by the cache that owns it

  /// Whether it has the node at `path`.
  [[nodiscard]] bool Has(std::string_view path) const;
  [[nodiscard]] size_t bytes_in_memory() const;
};

/// Reads the document of a group that has one: zarr.json, or .zmetadata. An unusable one (too
/// large, damaged) has no nodes.
[[nodiscard]] Result<std::shared_ptr<const ConsolidatedNodes>> ReadConsolidatedNodes(
    const Store& store, const Node& group);

/// A store that answers requests for the documents of the node at `path` from `nodes`.
[[nodiscard]] std::shared_ptr<const Store> WithDocumentsOf(
    std::shared_ptr<const Store> store, std::shared_ptr<const ConsolidatedNodes> nodes,
    const std::string& path);

}  // namespace zarrfs
