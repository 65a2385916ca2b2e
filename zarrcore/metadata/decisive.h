// DecisiveDigest: a digest of the parts of a zarr.json that decide which views show its node. For
// an array, these are all parts except the values of most attributes.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/digest.h"

namespace zarrfs {

/// Maximum size of a document in bytes. DecisiveDigest() returns nullopt for larger documents.
inline constexpr size_t kMaxDecisiveText = 16u << 10;

/// Returns a digest of a zarr.json, computed in one pass without parsing the document. If two
/// documents have equal digests and one describes a usable array or group, so does the other, and
/// the same views show both nodes. For an array, the digest covers all members except the values of
/// most attributes. nullopt if the document is larger than kMaxDecisiveText, or is not plain JSON
/// (see JsonScanner).
[[nodiscard]] std::optional<Digest> DecisiveDigest(std::string_view text);

}  // namespace zarrfs
