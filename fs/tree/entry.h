// Entry: the file or folder that a name leads to, and how long the kernel may cache the name.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "fs/ids/file_kind.h"
#include "fs/ids/node_table.h"

namespace zarrfs {

struct Entry {
  NodeId id = 0;  // 0 if the name does not exist, or the listing has no attributes
  uint64_t generation = 0;
  FileKind kind = FileKind::kNone;
  struct stat attributes {};
  double name_timeout = 0;  // in seconds, like attribute_timeout
  double attribute_timeout = 0;
};

/// Makes an entry for a listing that has no attributes except the inode and the type (S_IFREG or
/// S_IFDIR).
[[nodiscard]] inline Entry NameOnly(NodeId inode, mode_t type) {
  Entry entry;
  entry.attributes.st_ino = inode;
  entry.attributes.st_mode = type;
  return entry;
}

/// Receives the entries of a listing one by one. The listing can continue at `next`, the position
/// after the entry. Returns false if the entry does not fit.
using AddEntry = std::function<bool(const std::string& name, const Entry& entry, uint64_t next)>;

/// The kind of a listing: READDIRPLUS needs attributes; READDIR needs only names and inode numbers.
enum class ListingOf { kAttributes, kNames };

}  // namespace zarrfs
