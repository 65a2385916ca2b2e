// Reads members of a codec's configuration, with uniform error messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// A member of the codec's configuration. Null if it is absent or the configuration is not an
/// object.
[[nodiscard]] const Json* FindMember(const CodecSpec& codec, std::string_view member);

/// An error kDamaged such as "codec 'gzip': level is 12, expected an integer from 0 to 9".
[[nodiscard]] tl::unexpected<Error> WrongMember(const CodecSpec& codec, std::string_view member,
                                                std::string_view expected);

/// The value of the integer `member`, which must be from `minimum` to `maximum`; `otherwise` if it
/// is absent.
[[nodiscard]] Result<int64_t> IntegerMember(const CodecSpec& codec, std::string_view member,
                                            int64_t minimum, int64_t maximum, int64_t otherwise);

/// Like IntegerMember(), but null counts as absent.
[[nodiscard]] Result<int64_t> IntegerOrNullMember(const CodecSpec& codec, std::string_view member,
                                                  int64_t minimum, int64_t maximum,
                                                  int64_t otherwise);

/// Like IntegerMember(), for members that only encoders use, such as a level. Invalid values do not
/// prevent decoding, so they are replaced by `otherwise`.
[[nodiscard]] int64_t EncoderMember(const CodecSpec& codec, std::string_view member,
                                    int64_t minimum, int64_t maximum, int64_t otherwise);

[[nodiscard]] Result<std::string> StringMember(const CodecSpec& codec, std::string_view member,
                                               std::string_view otherwise);

/// The index of the string `member` in `choices`; 0 if the member is absent. `expected` describes
/// the choices in messages.
[[nodiscard]] Result<size_t> ChoiceMember(const CodecSpec& codec, std::string_view member,
                                          std::span<const std::string_view> choices,
                                          std::string_view expected);

}  // namespace zarrfs
