// JSON as written by Zarr's writers: keeps the order of keys, and Python's NaN and Infinity
// literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json_allocator.h"

namespace zarrfs {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// Deeper documents are refused.
inline constexpr int kMaxJsonDepth = 256;

/// Documents with more values are refused: a value may be two bytes of text and 64 bytes of memory.
/// Consolidated metadata of 100,000 arrays have about 5 million.
inline constexpr size_t kMaxJsonValues = size_t{1} << 23;

/// Parses `text`. Accepts the bare literals NaN, Infinity and -Infinity outside strings, and
/// integers beyond 64 bits: they become marked strings (see NonFinite) that DumpJson writes as the
/// literals again. Skips a byte order mark; for equal keys, takes the last value, at the position
/// of the first. kDamaged with `key`, line and column if the text is not JSON; kTooLarge if it is
/// nested too deeply or has too many values.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key);

/// As ParseJson(), but lenient where Python's reader is, and where one bad value should not cost
/// all others: replaces half a surrogate pair and bytes that are not UTF-8 by U+FFFD, a number
/// beyond the range of a double by Infinity, and values nested too deeply by null. Each kind adds a
/// line, beginning with `key`, to `notes`.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key,
                                     std::vector<std::string>& notes);

/// The value of a bare NaN, Infinity or -Infinity, or of an integer beyond 64 bits (the nearest
/// double), which are marked strings here. nullopt for any other value, including the string "NaN".
[[nodiscard]] std::optional<double> NonFinite(const Json& json);

/// The text of a string that does not stand for such a number; null for any other value.
[[nodiscard]] const std::string* TextOf(const Json& json);

/// A JSON integer, or an integral float up to 2^53, of 1 to 64 `bits`; negative ones are
/// sign-extended. nullopt for anything else and for integers that do not fit.
[[nodiscard]] std::optional<uint64_t> ParseInteger(const Json& json, size_t bits, bool is_signed);

/// The member of an object, or null if it is absent (for members where both mean the same) or
/// `object` is not an object.
[[nodiscard]] const Json& MemberOrNull(const Json& object, std::string_view name);

/// The name of the first member of `object` that is not in `known`; nullopt if it is not an object.
[[nodiscard]] std::optional<std::string> UnknownMember(
    const Json& object, std::initializer_list<std::string_view> known);

enum class JsonEncoding { kAscii, kUtf8 };  // kAscii: everything else is \uXXXX

/// Two-space indented, with a newline at the end; the inverse of ParseJson. On one line if the
/// indentation would take many megabytes.
[[nodiscard]] std::string DumpJson(const Json& json, JsonEncoding encoding = JsonEncoding::kAscii);

/// `text` as JSON, quoted, in pure ASCII; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string JsonText(std::string_view text);

/// Approximate upper bound of the memory for parsing `text`, or for the result and a copy of it.
/// Looks only at the characters.
[[nodiscard]] uint64_t MemoryToParse(std::string_view text);

/// Approximate upper bound of the memory for DumpJson() in ASCII.
[[nodiscard]] uint64_t MemoryToDump(const Json& json);

/// Approximate memory of a value, excluding the Json object itself.
[[nodiscard]] size_t MemoryOf(const Json& json);

/// The value on one short line of printable ASCII, for error messages.
[[nodiscard]] std::string Excerpt(const Json& json);

}  // namespace zarrfs
