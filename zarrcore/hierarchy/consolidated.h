// ConsolidatedDocuments: the documents of a group and of all nodes below it, as one document per
// view. Thread-safe. Calls may wait for the store, like those of Hierarchy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/hierarchy/made_documents.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// A consolidated document: the documents of a group and of all nodes below it, in one view.
struct Consolidated : MadeDocument {
  // Digests of the nodes that the document was made from: the group, and the nodes below it that
  // the view shows. Digests take less memory than nodes.
  std::vector<Digest> nodes;
  bool is_too_large = false;       // the document has too many nodes or bytes, so the view omits it
  std::vector<std::string> paths;  // the paths of the nodes in the document

  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

class ConsolidatedDocuments {
 public:
  /// `texts` caches the bytes of the documents. Both arguments must outlive this object.
  ConsolidatedDocuments(const Hierarchy& hierarchy, MadeTexts& texts);

  /// The consolidated document of a group in view number `view`. NodeView::consolidated must not be
  /// empty. Omits nodes that the mount may not read. If other users may access the mount, also
  /// omits nodes with stricter permissions than the group. Fails if any other node cannot be read.
  [[nodiscard]] Result<ConsolidatedPtr> Get(const NodePtr& group, size_t view, Age max_age) const;
  /// The cached consolidated document, or null. Makes no requests to the store.
  [[nodiscard]] ConsolidatedPtr Known(const Node& group, size_t view) const;
  /// The bytes of version `text_number` of a group's consolidated document. kStale if the document
  /// has changed.
  [[nodiscard]] Result<MadeTexts::Text> Text(const NodePtr& group, size_t view,
                                             uint64_t text_number) const;

 private:
  using Cache = RevalidatingCache<std::string, Consolidated>;

  // Makes the consolidated document; returns `known` (may be null) if nothing has changed. Stores
  // the bytes of a new document in `text` unless it is null.
  [[nodiscard]] Result<Valid<Cache::Loaded>> Make(const NodePtr& group, size_t view, Age max_age,
                                                  const ConsolidatedPtr& known,
                                                  MadeTexts::Text* text = nullptr) const;

  const Hierarchy& hierarchy_;
  MadeTexts& texts_;
  mutable Cache documents_;  // keyed by view and path
};

}  // namespace zarrfs
