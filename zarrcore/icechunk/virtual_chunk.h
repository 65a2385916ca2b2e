// IcechunkVirtualChunk: a chunk stored in a file outside its repository, and the checks that this
// file is still the one that the reference describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/manifest.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

struct IcechunkVirtualChunk {
  std::string_view key;  // for messages
  std::string location;  // not checked (virtual_prefix.h)
  IcechunkReference reference;
  bool is_whole = false;  // true if the chunk is the whole file; offset and length are then 0

  /// The size of the chunk in bytes. `file_size`: the size of the file.
  [[nodiscard]] uint64_t size(uint64_t file_size) const {
    return is_whole ? file_size : reference.length;
  }
};

/// Describes the chunk in a message.
[[nodiscard]] std::string WhatIs(const IcechunkVirtualChunk& chunk);

/// Checks that the chunk's file, which has this version and ETag, matches the reference. kIo if the
/// ETag differs, if the file was modified later, or if it ends before the chunk does.
[[nodiscard]] Result<void> CheckVirtualChunk(const IcechunkVirtualChunk& chunk,
                                             const Version& version, std::string_view etag);

/// Converts `error`, from reading the file of `chunk`, to an error for `chunk`. If the file is
/// missing, the result is kIo, because the chunk itself exists.
[[nodiscard]] Error ErrorOfVirtualFile(const IcechunkVirtualChunk& chunk, const Error& error);

}  // namespace zarrfs
