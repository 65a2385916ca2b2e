// Names in the folder of a DiskCache. Files with other names do not belong to the cache.
//
//   CACHEDIR.TAG              says that this is a cache, and whose; backup programs leave it out
//   taken                     see disk_space.h
//   new/0123456789abcdef      a file that is being written
//   ab/cdef…/VERSION-BEGIN-END-SIZE
//                             a range of an object: 2 and 30 digits of the digest of its address,
//                             then a fingerprint of 16 digits and three numbers, hexadecimal
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

inline constexpr const char* kNewFiles = "new";
inline constexpr const char* kTaken = "taken";

/// The four numbers in the name of a file: version, begin, end, size of the object.
using CacheFileNumbers = std::array<uint64_t, 4>;
[[nodiscard]] std::string CacheFileName(const CacheFileNumbers& numbers);
/// nullopt for names that CacheFileName() does not make, an empty range, or one beyond the size.
[[nodiscard]] std::optional<CacheFileNumbers> ParseCacheFileName(std::string_view name);

/// `length` lower-case hexadecimal digits: 2 and 30 for the folders of an object, 16 for a file in
/// kNewFiles.
[[nodiscard]] bool IsHexadecimal(std::string_view name, size_t length);

/// Makes sure that the folder is a cache of zarrfs, and marks it as one: it is empty, or marked, or
/// contains only the names above, "lost+found" and ".snapshot". kInvalidArgument, with the foreign
/// name, otherwise.
[[nodiscard]] Result<void> ClaimCacheFolder(const Descriptor& folder, const std::string& path);

}  // namespace zarrfs
