// ZipDirectory: the members of a zip file, from the central directory at its end. Pure functions
// from bytes to values, with no I/O. Sections are those of PKWARE's APPNOTE.TXT 6.3.10; zip64 is
// understood, an archive in several files is not.
//
//   member data … │ central directory │ zip64 record, locator │ end record, comment
//
// The directory is kept as it was read, with the sorted offsets of its records: about 108 bytes for
// each member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// One record of the directory. `name` points into it.
struct ZipMember {
  std::string_view name;  // a folder's without its final slash
  bool is_folder = false;
  bool is_link = false;  // its bytes are the target of a symbolic link
  bool is_encrypted = false;
  uint16_t method = 0;       // kZipStored, kZipDeflated, or an unsupported one
  uint32_t crc = 0;          // CRC-32 of its bytes
  uint64_t size = 0;         // bytes
  uint64_t packed_size = 0;  // size as stored in the archive
  uint64_t header = 0;       // offset of its local header in the file
};

inline constexpr uint16_t kZipStored = 0;
inline constexpr uint16_t kZipDeflated = 8;

/// Where the directory is in the file.
struct ZipDirectoryPlace {
  uint64_t offset = 0;
  uint64_t size = 0;  // bytes
  uint64_t members = 0;

  /// The memory of a ZipDirectory for it.
  [[nodiscard]] uint64_t bytes_in_memory() const { return size + members * sizeof(uint64_t); }
};

/// How many bytes from the end of a file FindZipDirectory() needs: the end records and the longest
/// comment.
inline constexpr size_t kZipTail = 22 + 0xFFFF + 20 + 56;

/// Finds the directory from the last bytes of a file of `file_size` (the whole file, or kZipTail).
/// The result lies within the file. kDamaged if there is no directory.
[[nodiscard]] Result<ZipDirectoryPlace> FindZipDirectory(std::span<const std::byte> tail,
                                                         uint64_t file_size);

class ZipDirectory {
 public:
  ZipDirectory() = default;  // without members

  /// `bytes` are those of `place`. Names lose a leading "./". In a file made by Windows without any
  /// "/", each `\` becomes one; a file with both is kDamaged. Of several members of one name the
  /// last counts. kDamaged if a record is cut off, invalid, or reaches beyond the beginning of the
  /// directory; if a name is not a path inside the archive ("/etc", "../a"); or if a name belongs
  /// to both a file and a folder.
  [[nodiscard]] static Result<ZipDirectory> Parse(std::string bytes,
                                                  const ZipDirectoryPlace& place);

  /// Members are numbered in the order of their names, byte by byte.
  [[nodiscard]] size_t size() const { return records_.size(); }
  [[nodiscard]] ZipMember At(size_t number) const;
  /// The first member whose sorted name is `name` or comes after it.
  [[nodiscard]] size_t LowerBound(std::string_view name) const;
  /// The name by which member `number` is sorted: a folder's ends in a slash.
  [[nodiscard]] std::string_view SortedName(size_t number) const;

 private:
  std::string bytes_;
  std::vector<uint64_t> records_;  // offsets in bytes_, checked
};

/// Offset of a member's bytes from its local header. `header`: the beginning of the local header,
/// at least kZipLocalHeader bytes and as much of the name as available. kDamaged if it does not
/// belong to that member.
inline constexpr size_t kZipLocalHeader = 30;
[[nodiscard]] Result<uint64_t> ZipDataOffset(std::span<const std::byte> header,
                                             const ZipMember& member);

}  // namespace zarrfs
