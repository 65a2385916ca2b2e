// Everything that the product removes from a disk is removed here.
//
// A name alone does not say whose a file is. So files are removed by a descriptor of their folder,
// with a name that only zarrfs gives, and only if they are regular files: what a symbolic link
// leads to, a folder with something in it, a device or a socket stays.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace zarrfs {

/// Whether a file of this name is one that the caller makes.
using IsOwnName = std::function<bool(std::string_view name)>;

/// Removes a regular file. False if it is something else, or stays.
bool RemoveFile(int folder, const char* name);

/// Removes a folder that is empty. False, with errno set, if it stays.
bool RemoveFolder(int folder, const char* name);

/// In the folder `path` and those below it, on the same file system, removes the files with names
/// that `is_own` accepts, then the folders that are empty, `path` last. Whatever else is there
/// stays.
void RemoveOwnFiles(const std::string& path, const IsOwnName& is_own);

}  // namespace zarrfs
