// FolderNames: an open directory stream (readdir(3)) that closes itself.
#pragma once

#include <dirent.h>

#include <memory>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

struct CloseFolderNames {
  void operator()(DIR* names) const { closedir(names); }
};
using FolderNames = std::unique_ptr<DIR, CloseFolderNames>;

/// Streams the names in `folder`, which must be open for reading, and takes ownership of `folder`.
/// Null, with errno set, if `folder` is empty or not a folder.
[[nodiscard]] inline FolderNames ReadNames(Descriptor folder) {
  FolderNames names(folder ? fdopendir(folder.get()) : nullptr);
  if (names != nullptr) static_cast<void>(folder.release());
  return names;
}

}  // namespace zarrfs
