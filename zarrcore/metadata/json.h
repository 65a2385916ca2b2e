// JSON as Zarr writers produce it: with ordered keys, and with Python's literals NaN and Infinity.
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

/// A JSON value. Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// Maximum nesting depth. ParseJson() refuses deeper documents; the lenient ParseJson() replaces
/// the values below this depth with null.
inline constexpr int kMaxJsonDepth = 256;

/// Maximum number of values in a document. A value of two bytes of JSON can take 64 bytes of
/// memory. Consolidated metadata of 100,000 arrays have about 5 million values.
inline constexpr size_t kMaxJsonValues = size_t{1} << 23;

/// Parses `text`. Accepts the bare literals NaN, Infinity and -Infinity outside strings, and
/// integers beyond 64 bits. These become marked strings (see NonFinite), which DumpJson() turns
/// back into literals. Skips a byte order mark. If an object repeats a key, keeps the last value at
/// the position of the first key. kDamaged, with `key`, line and column, if `text` is not JSON;
/// kTooLarge if it is nested too deeply or has too many values.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key);

/// Like the overload above, but lenient: tolerates everything that Python's reader tolerates, so
/// one bad value does not make all others unusable. Replaces unpaired surrogates and bytes that are
/// not UTF-8 with U+FFFD, a number beyond the range of a double with Infinity, and values nested
/// too deeply with null. For each kind of replacement, adds a message that begins with `key` to
/// `notes`.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key,
                                     std::vector<std::string>& notes);

/// The value of a bare NaN, Infinity or -Infinity, or the double nearest to an integer beyond 64
/// bits. ParseJson() represents them as marked strings. nullopt for any other value, including the
/// string "NaN".
[[nodiscard]] std::optional<double> NonFinite(const Json& json);

/// The contents of a JSON string. Null for any other value, and for a marked string that represents
/// a number.
[[nodiscard]] const std::string* TextOf(const Json& json);

/// Parses an integer of `bits` bits (1 to 64): a JSON integer, or an integral float up to 2^53.
/// Negative integers are sign-extended. nullopt for anything else and for integers that do not fit.
[[nodiscard]] std::optional<uint64_t> ParseInteger(const Json& json, size_t bits, bool is_signed);

/// The member `name` of `object`. Null if it is absent or `object` is not an object; use this
/// function where an absent member and null mean the same.
[[nodiscard]] const Json& MemberOrNull(const Json& object, std::string_view name);

/// The name of the first member of `object` that is not in `known`; nullopt if all are known or
/// `object` is not an object.
[[nodiscard]] std::optional<std::string> UnknownMember(
    const Json& object, std::initializer_list<std::string_view> known);

enum class JsonEncoding { kAscii, kUtf8 };  // kAscii writes non-ASCII characters as \uXXXX

/// Writes a value as JSON, indented by two spaces, with a newline at the end. The inverse of
/// ParseJson(). The output is a single line if the indentation would exceed 16 MiB.
[[nodiscard]] std::string DumpJson(const Json& json, JsonEncoding encoding = JsonEncoding::kAscii);

/// Returns `text` as a quoted JSON string in ASCII. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string JsonText(std::string_view text);

/// Approximate upper bound, in bytes, of the memory needed to parse `text`, or to hold the parsed
/// value and a copy of it. Fast, because it only counts characters.
[[nodiscard]] uint64_t MemoryToParse(std::string_view text);

/// Approximate upper bound, in bytes, of the memory that DumpJson() needs to write `json` in ASCII.
[[nodiscard]] uint64_t MemoryToDump(const Json& json);

/// Approximate memory of a value in bytes, excluding the Json object itself.
[[nodiscard]] size_t MemoryOf(const Json& json);

/// Returns the beginning of a value as one short line of printable ASCII, for error messages.
[[nodiscard]] std::string Excerpt(const Json& json);

}  // namespace zarrfs
