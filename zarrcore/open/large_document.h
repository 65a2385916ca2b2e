// Reads documents that may contain consolidated metadata of many nodes.
#pragma once

#include <string>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct LargeDocument {
  std::string text;
  MemoryBudget::Share memory;  // the memory for the document
  ObjectInfo info;
};

/// kTooLarge if it exceeds kMaxConsolidatedBytes or the memory budget.
[[nodiscard]] Result<LargeDocument> ReadLarge(const Store& store, const std::string& key);

/// The document after EraseConsolidated(); kTooLarge if that exceeds kMaxMetadataBytes.
[[nodiscard]] Result<std::string> ReadWithoutNodes(const Store& store, const std::string& key);

}  // namespace zarrfs
