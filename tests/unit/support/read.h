// The contents of an object as a string.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// The bytes of an object in `range`, at most 1 MiB; the error if they cannot be read.
inline std::string Read(const Store& store, std::string_view key,
                        ByteRange range = ByteRange::At(0, 1U << 20)) {
  std::string out(static_cast<size_t>(std::min<uint64_t>(range.length, 1U << 20)), '\0');
  const auto answer = store.Read(key, range, std::as_writable_bytes(std::span(out)));
  if (!answer) return fmt::format("{}: {}", ToString(answer.error().code), answer.error().message);
  out.resize(answer->length);
  return out;
}

}  // namespace zarrfs
