// The listing of a folder as a string.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// The names in a folder, each followed by a blank. "/" marks folders, "!" refused entries. The
/// error code if the folder cannot be listed.
inline std::string FolderNames(const Store& store, std::string_view folder) {
  const auto entries = store.List(folder);
  if (!entries) return std::string(ToString(entries.error().code));
  std::string names;
  for (const ListEntry& entry : *entries) {
    names += entry.name + (entry.is_folder ? "/" : "") + (entry.is_refused ? "! " : " ");
  }
  return names;
}

}  // namespace zarrfs
