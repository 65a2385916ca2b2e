// The names of an Icechunk repository's objects: 12 random bytes (nodes: 8), in keys as Crockford's
// base 32, upper case, most significant bits first, zero bits appended.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// The id of a snapshot, a manifest or a chunk; the other one is that of a node.
using IcechunkId = std::array<uint8_t, 12>;
using IcechunkNodeId = std::array<uint8_t, 8>;

/// Length of the text of an IcechunkId.
inline constexpr size_t kIcechunkIdText = 20;

[[nodiscard]] std::string IcechunkIdText(std::span<const uint8_t> id);

/// The inverse for an IcechunkId; nullopt for anything else.
[[nodiscard]] std::optional<IcechunkId> ParseIcechunkId(std::string_view text);

}  // namespace zarrfs
