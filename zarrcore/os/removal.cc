#include "zarrcore/os/removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "zarrcore/os/descriptor.h"
#include "zarrcore/os/folder_names.h"

namespace zarrfs {
namespace {

// The maximum depth of folders that RemoveOwnFiles() enters.
constexpr int kMaxDepth = 64;

// Removes the files that `is_own` accepts from `folder` and the folders below it, and then the
// empty folders below it. `device` is the device of the topmost folder.
void Clear(Descriptor folder, dev_t device, const IsOwnName& is_own, int depth) {
  struct stat status = {};
  if (fstat(folder.get(), &status) != 0 || status.st_dev != device || depth > kMaxDepth) return;
  const FolderNames names = ReadNames(std::move(folder));
  if (names == nullptr) return;
  const int own = dirfd(names.get());
  std::vector<std::string> folders;
  while (const dirent* const entry = readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (fstatat(own, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(status.st_mode)) folders.emplace_back(name);
    if (is_own(name)) RemoveFile(own, entry->d_name);
  }
  for (const std::string& name : folders) {
    Descriptor below(openat(own, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) Clear(std::move(below), device, is_own, depth + 1);
    RemoveFolder(own, name.c_str());
  }
}

}  // namespace

bool RemoveFile(int folder, const char* name) {
  struct stat status = {};
  return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
         unlinkat(folder, name, 0) == 0;
}

bool RemoveFolder(int folder, const char* name) {
  return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

void RemoveOwnFiles(const std::string& path, const IsOwnName& is_own) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!folder || fstat(folder.get(), &status) != 0) return;
  Clear(std::move(folder), status.st_dev, is_own, 0);
  RemoveFolder(AT_FDCWD, path.c_str());
}

}  // namespace zarrfs
