// JSON as Zarr's writers write it: order kept, NaN and Infinity literals (Python writes them) kept.
#ifndef ZARRCORE_METADATA_JSON_H_
#define ZARRCORE_METADATA_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// Deepest nesting of a document that is read; deeper ones are refused.
inline constexpr int kMaxJsonDepth = 256;

/// Parses `text`. The bare literals NaN, Infinity and -Infinity outside strings are accepted; they
/// become marked strings that DumpJson writes as the bare literals again.
/// kDamaged with line and column, named after `key`, if the text is not JSON.
[[nodiscard]] Result<Json> ParseJson(std::string_view text, std::string_view key);

/// Two-space indented, pure ASCII (\uXXXX), with a newline at the end; the inverse of ParseJson.
[[nodiscard]] std::string DumpJson(const Json& json);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_JSON_H_
