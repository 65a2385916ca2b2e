#include "zarrcore/codec/configuration.h"

#include <algorithm>

namespace zarrfs {

const Json* FindMember(const CodecSpec& codec, std::string_view member) {
  const auto found = codec.configuration.find(member);
  return found == codec.configuration.end() ? nullptr : &*found;
}

tl::unexpected<Error> WrongMember(const CodecSpec& codec, std::string_view member,
                                  std::string_view expected) {
  const Json* value = FindMember(codec, member);
  // The value may contain bytes that are not UTF-8. dump() replaces them here; in strict mode, it
  // would throw.
  std::string found = value == nullptr
                          ? "absent"
                          : value->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  constexpr size_t kMaxLength = 80;
  if (found.size() > kMaxLength) found = found.substr(0, kMaxLength) + "...";
  return Fail(ErrorCode::kDamaged, "codec '{}': {} is {}, expected {}", codec.name, member, found,
              expected);
}

Result<int64_t> IntegerMember(const CodecSpec& codec, std::string_view member, int64_t minimum,
                              int64_t maximum, int64_t otherwise) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr) return otherwise;
  // nlohmann::json parses non-negative integers as unsigned, up to UINT64_MAX.
  const bool fits = value->is_number_unsigned()
                        ? value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                        : value->is_number_integer();
  if (!fits || value->get<int64_t>() < minimum || value->get<int64_t>() > maximum) {
    return WrongMember(codec, member, fmt::format("an integer from {} to {}", minimum, maximum));
  }
  return value->get<int64_t>();
}

Result<int64_t> IntegerOrNullMember(const CodecSpec& codec, std::string_view member,
                                    int64_t minimum, int64_t maximum, int64_t otherwise) {
  const Json* value = FindMember(codec, member);
  if (value != nullptr && value->is_null()) return otherwise;
  return IntegerMember(codec, member, minimum, maximum, otherwise);
}

int64_t EncoderMember(const CodecSpec& codec, std::string_view member, int64_t minimum,
                      int64_t maximum, int64_t otherwise) {
  const Json* value = FindMember(codec, member);
  const auto bits = value == nullptr ? std::nullopt : ParseInteger(*value, 64, /*is_signed=*/true);
  if (!bits) return otherwise;
  const auto number = static_cast<int64_t>(*bits);
  return number < minimum || number > maximum ? otherwise : number;
}

Result<std::string> StringMember(const CodecSpec& codec, std::string_view member,
                                 std::string_view otherwise) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) return WrongMember(codec, member, "a string");
  return value->get<std::string>();
}

Result<size_t> ChoiceMember(const CodecSpec& codec, std::string_view member,
                            std::span<const std::string_view> choices, std::string_view expected) {
  const Result<std::string> text = StringMember(codec, member, choices.front());
  if (!text) return Fail(text);
  const auto found = std::ranges::find(choices, *text);
  if (found == choices.end()) return WrongMember(codec, member, expected);
  return static_cast<size_t>(found - choices.begin());
}

}  // namespace zarrfs
