// Integers of JSON documents.
#ifndef ZARRCORE_METADATA_INTEGER_H_
#define ZARRCORE_METADATA_INTEGER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// A JSON integer, or an integral float up to 2^53, of 1 to 64 `bits`; negative ones are
/// sign-extended. nullopt for anything else and for integers that do not fit.
[[nodiscard]] std::optional<uint64_t> ParseInteger(const Json& json, size_t bits, bool is_signed);

}  // namespace zarrfs

#endif  // ZARRCORE_METADATA_INTEGER_H_
