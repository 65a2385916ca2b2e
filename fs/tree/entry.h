// Entry: the meaning of a name, and how long it may be cached.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "fs/ids/file_kind.h"
#include "fs/ids/node_table.h"

namespace zarrfs {

struct Entry {
  NodeId id = 0;  // 0: the name does not exist, or (in a listing) only the name is known
  uint64_t generation = 0;
  FileKind kind = FileKind::kNone;
  struct stat attributes {};
  double name_timeout = 0;  // seconds, like the next
  double attribute_timeout = 0;
};

/// An entry of a listing without attributes, only with its inode and its type (S_IFREG or S_IFDIR).
[[nodiscard]] inline Entry NameOnly(NodeId inode, mode_t type) {
  Entry entry;
  entry.attributes.st_ino = inode;
  entry.attributes.st_mode = type;
  return entry;
}

/// Receives the entries of a listing one by one. `next`: where the listing continues after this
/// one. Returns false if there is no room for it.
using AddEntry = std::function<bool(const std::string& name, const Entry& entry, uint64_t next)>;

/// READDIRPLUS needs attributes; READDIR needs only names and inode numbers.
enum class ListingOf { kAttributes, kNames };

}  // namespace zarrfs
