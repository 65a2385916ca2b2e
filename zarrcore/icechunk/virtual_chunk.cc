#include "zarrcore/icechunk/virtual_chunk.h"

#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

std::string_view WithoutQuotes(std::string_view etag) {
  const bool is_quoted = etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"');
  return is_quoted ? etag.substr(1, etag.size() - 2) : etag;
}

}  // namespace

std::string WhatIs(const IcechunkVirtualChunk& chunk) {
  if (chunk.is_whole) {
    return fmt::format("{}: a virtual chunk, {}", chunk.key, AsciiExcerpt(chunk.location));
  }
  return fmt::format("{}: a virtual chunk, {} bytes at {} of {}", chunk.key, chunk.reference.length,
                     chunk.reference.offset, AsciiExcerpt(chunk.location));
}

Result<void> CheckVirtualChunk(const IcechunkVirtualChunk& chunk, const Version& version,
                               std::string_view etag) {
  constexpr int64_t kNsInSecond = 1'000'000'000;
  const IcechunkReference& reference = chunk.reference;
  const int64_t changed = version.mtime_ns / kNsInSecond;
  if (reference.modified != 0 && changed > int64_t{reference.modified}) {
    return Fail(
        ErrorCode::kIo,
        "{}: the file has changed since: at {}, the reference is of {} (seconds since 1970)",
        WhatIs(chunk), changed, reference.modified);
  }
  if (!reference.etag.empty() && WithoutQuotes(reference.etag) != WithoutQuotes(etag)) {
    return Fail(ErrorCode::kIo, "{}: the file has been replaced: its ETag is {}, expected {}",
                WhatIs(chunk), AsciiExcerpt(WithoutQuotes(etag)), AsciiExcerpt(reference.etag));
  }
  const uint64_t end = reference.offset + reference.length;  // each below 2^63
  if (version.size >= end) return {};
  return Fail(ErrorCode::kIo, "{}: the file ends early: it has {} bytes", WhatIs(chunk),
              version.size);
}

Error ErrorOfVirtualFile(const IcechunkVirtualChunk& chunk, const Error& error) {
  const bool is_missing =
      error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory;
  if (is_missing) return {ErrorCode::kIo, fmt::format("{}: the file is missing", WhatIs(chunk))};
  return {error.code, fmt::format("{}: {}", WhatIs(chunk), error.message)};
}

}  // namespace zarrfs
