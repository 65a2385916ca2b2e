// Reads members of a codec's configuration, with uniform error messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Returns a member of the codec's configuration, or null if the member is absent or the
/// configuration is not an object.
[[nodiscard]] const Json* FindMember(const CodecSpec& codec, std::string_view member);

/// Returns a kDamaged error such as "codec 'gzip': level is 12, expected an integer from 0 to 9".
[[nodiscard]] tl::unexpected<Error> WrongMember(const CodecSpec& codec, std::string_view member,
                                                std::string_view expected);

/// Returns the value of the integer `member`, or `otherwise` if the member is absent. The value
/// must be from `minimum` to `maximum`.
[[nodiscard]] Result<int64_t> IntegerMember(const CodecSpec& codec, std::string_view member,
                                            int64_t minimum, int64_t maximum, int64_t otherwise);

/// Like IntegerMember(), but null counts as absent.
[[nodiscard]] Result<int64_t> IntegerOrNullMember(const CodecSpec& codec, std::string_view member,
                                                  int64_t minimum, int64_t maximum,
                                                  int64_t otherwise);

/// Like IntegerMember(), for members that only encoders use, such as a level. Invalid values must
/// not prevent decoding, so `otherwise` replaces them.
[[nodiscard]] int64_t EncoderMember(const CodecSpec& codec, std::string_view member,
                                    int64_t minimum, int64_t maximum, int64_t otherwise);

[[nodiscard]] Result<std::string> StringMember(const CodecSpec& codec, std::string_view member,
                                               std::string_view otherwise);

/// Returns the index of the string `member` in `choices`, or 0 if the member is absent. `expected`
/// describes the choices in messages.
[[nodiscard]] Result<size_t> ChoiceMember(const CodecSpec& codec, std::string_view member,
                                          std::span<const std::string_view> choices,
                                          std::string_view expected);

}  // namespace zarrfs
