// Consolidated metadata in the store: the member consolidated_metadata of a group's zarr.json, and
// .zmetadata. With many nodes they are far larger than any other document, so they are scanned
// instead of parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Maximum size of a document with consolidated metadata. The metadata of 250,000 arrays fit.
inline constexpr uint64_t kMaxConsolidatedBytes = 512u << 20;

/// Empties the object consolidated_metadata in the zarr.json of a group, because the nodes' own
/// documents take precedence. Leaves `text` unchanged if it is not plain JSON, so ParseJson()
/// reports the error.
void EraseConsolidated(std::string& text);

/// The names in consolidated metadata, in document order: paths of nodes in a zarr.json, keys of
/// documents in a .zmetadata. nullopt if the document has no consolidated metadata. A document that
/// the fast scanner cannot read is given to ParseJson(), whose errors (kDamaged, kTooLarge) are
/// returned with `key`.
[[nodiscard]] Result<std::optional<std::vector<std::string>>> ConsolidatedNames(
    std::string_view text, std::string_view key);

}  // namespace zarrfs
