// ZipDirectory: the members of a zip file, from the central directory at its end. Does no I/O.
// Section numbers refer to PKWARE's APPNOTE.TXT 6.3.10. Supports zip64, but not archives split into
// several files.
//
//   member data … │ central directory │ zip64 record, locator │ end record, comment
//
// The directory is kept in memory as it was read, with the sorted offsets of its records: about 108
// bytes per member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// A member of a zip file, as its record in the directory describes it. `name` points into the
/// ZipDirectory.
struct ZipMember {
  std::string_view name;  // without the final slash of a folder
  bool is_folder = false;
  bool is_link = false;  // the member's bytes are the target of a symbolic link
  bool is_encrypted = false;
  uint16_t method = 0;       // kZipStored, kZipDeflated, or an unsupported method
  uint32_t crc = 0;          // CRC-32 of the member's bytes
  uint64_t size = 0;         // in bytes, after inflating
  uint64_t packed_size = 0;  // in bytes, as stored in the archive
  uint64_t header = 0;       // offset of the member's local header in the file
};

inline constexpr uint16_t kZipStored = 0;
inline constexpr uint16_t kZipDeflated = 8;

/// The position and size of the directory in the file.
struct ZipDirectoryPlace {
  uint64_t offset = 0;
  uint64_t size = 0;  // in bytes
  uint64_t members = 0;

  /// The memory that a ZipDirectory of this size needs, in bytes.
  [[nodiscard]] uint64_t bytes_in_memory() const { return size + members * sizeof(uint64_t); }
};

/// The number of bytes at the end of a file that FindZipDirectory() needs: the end records and the
/// longest comment.
inline constexpr size_t kZipTail = 22 + 0xFFFF + 20 + 56;

/// Finds the directory of a file of `file_size` bytes. `tail`: the last kZipTail bytes of the file,
/// or the whole file if it is shorter. The result is within the file. kDamaged if the file has no
/// valid directory, kUnsupported if the archive is split into several files.
[[nodiscard]] Result<ZipDirectoryPlace> FindZipDirectory(std::span<const std::byte> tail,
                                                         uint64_t file_size);

class ZipDirectory {
 public:
  ZipDirectory() = default;  // an empty directory

  /// Parses `bytes`, the directory at `place`. Removes a leading "./" from names. If names made by
  /// Windows have a `\` and no name has a "/", each `\` becomes "/"; an archive with both is
  /// kDamaged. If several members have the same name, only the last of these members is used.
  /// kDamaged if a record is truncated or invalid, or its member overlaps the directory; if a name
  /// is not a path inside the archive ("/etc", "../a"); or if a file and a folder have the same
  /// name.
  [[nodiscard]] static Result<ZipDirectory> Parse(std::string bytes,
                                                  const ZipDirectoryPlace& place);

  /// The number of members. Members are numbered in the bytewise order of SortedName().
  [[nodiscard]] size_t size() const { return records_.size(); }
  [[nodiscard]] ZipMember At(size_t number) const;
  /// Returns the first member, as its number in sorted order, whose sorted name is not less than
  /// `name`; size() if there is none.
  [[nodiscard]] size_t LowerBound(std::string_view name) const;
  /// The name by which member `number` is sorted. The sorted name of a folder ends in a slash.
  [[nodiscard]] std::string_view SortedName(size_t number) const;

 private:
  std::string bytes_;
  std::vector<uint64_t> records_;  // offsets of the checked records in bytes_, sorted by name
};

/// ZipDataOffset() returns the offset of a member's bytes from the beginning of its local header.
/// `header`: the local header, or at least its first kZipLocalHeader bytes, which are its fixed
/// part, and as much of the name as available. kDamaged if the header does not belong to the
/// member.
inline constexpr size_t kZipLocalHeader = 30;
[[nodiscard]] Result<uint64_t> ZipDataOffset(std::span<const std::byte> header,
                                             const ZipMember& member);

}  // namespace zarrfs
