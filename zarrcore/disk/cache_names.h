// Names in the folder of a DiskCache. Files with other names do not belong to the cache.
//
//   CACHEDIR.TAG              marks the folder as a cache of zarrfs; backup programs skip it
//   taken                     the disk space in use; see disk_space.h
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

/// The four numbers in the name VERSION-BEGIN-END-SIZE of a cache file: the fingerprint of the
/// object's version, the begin and end of the range, and the size of the object.
using CacheFileNumbers = std::array<uint64_t, 4>;
[[nodiscard]] std::string CacheFileName(const CacheFileNumbers& numbers);
/// Parses the name of a cache file. Returns nullopt for names that CacheFileName() never returns,
/// and for a range that is empty or exceeds the object's size.
[[nodiscard]] std::optional<CacheFileNumbers> ParseCacheFileName(std::string_view name);

/// True if `name` consists of `length` lower-case hexadecimal digits. The folders of an object have
/// 2 and 30 digits, a file in kNewFiles has 16.
[[nodiscard]] bool IsHexadecimal(std::string_view name, size_t length);

/// Checks that the folder is a zarrfs cache or may become one, and marks the folder with
/// CACHEDIR.TAG. The folder must be empty, or marked, or contain only names of cache files,
/// "lost+found" and ".snapshot". Otherwise, fails with kInvalidArgument, with the foreign name in
/// the message.
[[nodiscard]] Result<void> ClaimCacheFolder(const Descriptor& folder, const std::string& path);

}  // namespace zarrfs
