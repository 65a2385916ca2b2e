// Functions that the fuzz targets share. A target is a file with one function,
//
//   extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
//
// which handles the input as the program handles untrusted bytes. Crashes, sanitizer reports, hangs
// and failed calls of Require() are failures. tests/fuzz/corpus/TARGET contains the seeds of a
// target; tests/fuzz/run runs all targets.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs {

inline std::string_view Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Removes and returns the part of `text` before the first `separator`, which is removed, too.
/// Returns all of `text` if it has no separator.
inline std::string_view CutAt(std::string_view& text, std::string_view separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return head;
}

/// Aborts unless `holds`. libFuzzer then saves the input.
inline void Require(bool holds, std::string_view expected, std::string_view found = "") {
  if (holds) return;
  std::fprintf(stderr, "fuzz: expected %.*s; found: %.*s\n", static_cast<int>(expected.size()),
               expected.data(), static_cast<int>(found.size()), found.data());
  std::abort();
}

template <typename T>
void RequireOk(const Result<T>& result, std::string_view expected) {
  Require(result.has_value(), expected, result ? "" : result.error().message);
}

}  // namespace zarrfs
