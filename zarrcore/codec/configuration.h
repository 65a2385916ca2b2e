// Reads members of a codec's configuration, with uniform error messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// Null if the member is absent or the configuration is not an object.
[[nodiscard]] const Json* FindMember(const CodecSpec& codec, std::string_view member);

/// kDamaged: "codec 'gzip': level is 12, expected an integer from 0 to 9".
[[nodiscard]] tl::unexpected<Error> WrongMember(const CodecSpec& codec, std::string_view member,
                                                std::string_view expected);

/// An integer of minimum <= value <= maximum; `otherwise` if the member is absent.
[[nodiscard]] Result<int64_t> IntegerMember(const CodecSpec& codec, std::string_view member,
                                            int64_t minimum, int64_t maximum, int64_t otherwise);

/// Like IntegerMember(), but null counts as absent.
[[nodiscard]] Result<int64_t> IntegerOrNullMember(const CodecSpec& codec, std::string_view member,
                                                  int64_t minimum, int64_t maximum,
                                                  int64_t otherwise);

/// Like IntegerMember(), for members that only encoders use, such as a level: they are no reason to
/// refuse chunks, so `otherwise` also replaces invalid values.
[[nodiscard]] int64_t EncoderMember(const CodecSpec& codec, std::string_view member,
                                    int64_t minimum, int64_t maximum, int64_t otherwise);

[[nodiscard]] Result<std::string> StringMember(const CodecSpec& codec, std::string_view member,
                                               std::string_view otherwise);

/// The index of the text `member` in `choices`; 0 if it is absent. `expected`: the name of the
/// choices in messages.
[[nodiscard]] Result<size_t> ChoiceMember(const CodecSpec& codec, std::string_view member,
                                          std::span<const std::string_view> choices,
                                          std::string_view expected);

}  // namespace zarrfs
