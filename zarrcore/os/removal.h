// The only code that removes files from a disk.
//
// A name alone does not prove that zarrfs created a file. So files are removed through a descriptor
// of their folder, only if their names are names that only zarrfs uses, and only if they are
// regular files. Symbolic links and their targets, folders that are not empty, devices and sockets
// are never removed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace zarrfs {

/// Returns true if zarrfs itself creates files with this name.
using IsOwnName = std::function<bool(std::string_view name)>;

/// Removes a regular file. False if it is another kind of file, or cannot be removed.
bool RemoveFile(int folder, const char* name);

/// Removes an empty folder. False, with errno set, on failure.
bool RemoveFolder(int folder, const char* name);

/// Removes the files whose names `is_own` accepts, from the folder `path` and the folders below it
/// on the same file system. Then removes the folders that are empty, `path` last. Everything else
/// stays.
void RemoveOwnFiles(const std::string& path, const IsOwnName& is_own);

}  // namespace zarrfs
