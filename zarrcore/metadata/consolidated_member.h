// Consolidated metadata: the member consolidated_metadata of a group's zarr.json, and the
// .zmetadata of Zarr v2. In a store with many nodes, these documents are far larger than any other,
// so they are scanned instead of parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Maximum size of a document with consolidated metadata. Enough for the metadata of 250,000
/// arrays.
inline constexpr uint64_t kMaxConsolidatedBytes = 512u << 20;

/// Empties the object consolidated_metadata in `text`, the zarr.json of a group, because the nodes'
/// own documents take precedence. Leaves `text` unchanged if it is not plain JSON, so ParseJson()
/// reports the error.
void EraseConsolidated(std::string& text);

/// Returns the names in consolidated metadata, in document order: the paths of nodes in a
/// zarr.json, or the keys of documents in a .zmetadata. nullopt if the document has no consolidated
/// metadata. If the fast scanner cannot read the document, ParseJson() parses it, and its errors
/// (kDamaged, kTooLarge) are returned with `key`.
[[nodiscard]] Result<std::optional<std::vector<std::string>>> ConsolidatedNames(
    std::string_view text, std::string_view key);

}  // namespace zarrfs
