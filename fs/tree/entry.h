// Entry: what a name stands for, and for how long that may be cached.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "fs/ids/file_kind.h"
#include "fs/ids/node_table.h"

namespace zarrfs {

struct Entry {
  NodeId id = 0;  // 0: nothing has this name, or (in a listing) the name alone is known
  uint64_t generation = 0;
  FileKind kind = FileKind::kNone;
  struct stat attributes {};
  double name_timeout = 0;  // seconds, as is the next
  double attribute_timeout = 0;
};

/// An entry of a listing whose attributes are not known, only its inode and its type (S_IFREG or
/// S_IFDIR).
[[nodiscard]] inline Entry NameOnly(NodeId inode, mode_t type) {
  Entry entry;
  entry.attributes.st_ino = inode;
  entry.attributes.st_mode = type;
  return entry;
}

/// Takes the entries of a listing one by one. `next` is where the listing goes on after this one.
/// False: there is no room for it.
using AddEntry = std::function<bool(const std::string& name, const Entry& entry, uint64_t next)>;

/// What a listing is read for. READDIRPLUS wants attributes; for names alone, nothing is looked at
/// or remembered that their inodes do not need.
enum class ListingOf { kAttributes, kNames };

}  // namespace zarrfs
