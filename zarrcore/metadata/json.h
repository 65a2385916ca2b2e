// JSON as Zarr's writers write it: order kept, NaN and Infinity literals (Python writes them) kept.
#ifndef ZARRCORE_METADATA_JSON_H_
#define ZARRCORE_METADATA_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// Deepest nesting of a document that is read; deeper ones are refused.
inline constexpr int kMaxJsonDepth = 256;

/// Parses `text`. The bare literals NaN, Infinity and -Infinity outside strings are accepted, and
/// so are integers beyond 64 bits; they become marked strings (see NonFinite) that DumpJson writes
/// as the literals again. A byte order mark is skipped; of equal keys the last value counts, at the
/// place of the first. kDamaged with line and column, named after `key`, if the text is not JSON;
/// kTooLarge if it is nested too deeply.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key);

/// The same, but what Python's reader takes, or one value is no reason to lose all others for, is
/// replaced: half a surrogate pair and bytes that are not UTF-8 by U+FFFD, a number beyond the
/// range of a double by Infinity, what is nested too deeply by null. Each kind adds a line to
/// `notes`, named after `key`.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key,
                                     std::vector<std::string>& notes);

/// The number that a bare NaN, Infinity or -Infinity stood for, or an integer beyond 64 bits (the
/// nearest double): every number that is a marked string here. Nothing for any other value, also
/// not for the strings "NaN" and so on.
[[nodiscard]] std::optional<double> NonFinite(const Json& json);

/// The member of an object, or null if it is absent: for members where both mean the same.
[[nodiscard]] const Json& MemberOrNull(const Json& object, const char* name);

enum class JsonEncoding { kAscii, kUtf8 };  // kAscii: everything else is \uXXXX

/// Two-space indented, with a newline at the end; the inverse of ParseJson.
[[nodiscard]] std::string DumpJson(const Json& json, JsonEncoding encoding = JsonEncoding::kAscii);

/// `text` as JSON, quoted, in pure ASCII; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string JsonText(std::string_view text);

/// The value on one line of printable ASCII, cut short: what a message shows as found.
[[nodiscard]] std::string Excerpt(const Json& json);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_JSON_H_
