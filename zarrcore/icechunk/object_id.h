// The names of an Icechunk repository's objects. A name is 12 random bytes, or 8 for nodes. In
// keys, it is written in Crockford's base 32: upper case, most significant bits first, padded with
// zero bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zarrfs {

/// IcechunkId is the id of a snapshot, manifest or chunk; IcechunkNodeId is the id of a node.
using IcechunkId = std::array<uint8_t, 12>;
using IcechunkNodeId = std::array<uint8_t, 8>;

/// A hash of an id. Ids are random, so some of their bytes suffice.
struct IcechunkIdHash {
  size_t operator()(const IcechunkId& id) const {
    size_t hash = 0;
    std::memcpy(&hash, id.data(), sizeof hash);
    return hash;
  }
};

/// The length of an IcechunkId as a string.
inline constexpr size_t kIcechunkIdText = 20;

[[nodiscard]] std::string IcechunkIdText(std::span<const uint8_t> id);

/// Parses an IcechunkId; nullopt for a string of any other form.
[[nodiscard]] std::optional<IcechunkId> ParseIcechunkId(std::string_view text);

}  // namespace zarrfs
