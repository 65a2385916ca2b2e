// DecisiveDigest: a digest of the parts of a zarr.json that decide which views show its node. For
// an array, these are all parts except the values of most attributes.
#pragma once

#include <optional>
#include <string_view>

#include "zarrcore/base/digest.h"

namespace zarrfs {

/// Maximum size in bytes of documents that have a DecisiveDigest().
inline constexpr size_t kMaxDecisiveText = 16u << 10;

/// A digest of a zarr.json, computed in one pass without parsing it. If two documents have equal
/// digests and one describes a usable array or group, so does the other, and the same views show
/// both. For an array, the digest covers all members except the values of most attributes. nullopt
/// for a document that is not plain JSON; use ParseJson() for it.
[[nodiscard]] std::optional<Digest> DecisiveDigest(std::string_view text);

}  // namespace zarrfs
