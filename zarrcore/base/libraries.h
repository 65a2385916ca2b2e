// The libraries that a portable program contains, with their versions.
#pragma once

#include <string>

namespace zarrfs {

/// Returns the string that --version prints after the program's version: "\nwith bzip2 1.0.8-5,
/// curl 7.88.1-10, …", or "" if the program uses the system's libraries. The versions are those of
/// the source packages.
[[nodiscard]] std::string LibrariesText();

}  // namespace zarrfs
