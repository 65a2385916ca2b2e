// All code that removes files from a disk is here.
//
// A name alone does not prove whose a file is. So files are removed through a descriptor of their
// folder, only with a name that only zarrfs uses, and only if they are regular files: targets of
// symbolic links, folders that are not empty, devices and sockets stay.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace zarrfs {

/// Whether the caller makes files of this name.
using IsOwnName = std::function<bool(std::string_view name)>;

/// Removes a regular file. False if it is another kind of file, or cannot be removed.
bool RemoveFile(int folder, const char* name);

/// Removes an empty folder. False, with errno set, on failure.
bool RemoveFolder(int folder, const char* name);

/// Removes the files whose names `is_own` accepts from the folder `path` and those below it on the
/// same file system, then the empty folders, `path` last. Everything else stays.
void RemoveOwnFiles(const std::string& path, const IsOwnName& is_own);

}  // namespace zarrfs
