// Reads documents that may contain consolidated metadata of many nodes.
#pragma once

#include <string>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct LargeDocument {
  std::string text;
  MemoryBudget::Share memory;  // the memory reserved for the document
  ObjectInfo info;
};

/// Reads a document. kTooLarge if it exceeds kMaxConsolidatedBytes. Returns the error of
/// MemoryBudget::Take() if the document does not fit into the memory budget.
[[nodiscard]] Result<LargeDocument> ReadLarge(const Store& store, const std::string& key);

/// Reads a document and removes its consolidated metadata (EraseConsolidated()). kTooLarge if the
/// document without this metadata exceeds kMaxMetadataBytes.
[[nodiscard]] Result<std::string> ReadWithoutNodes(const Store& store, const std::string& key);

}  // namespace zarrfs
