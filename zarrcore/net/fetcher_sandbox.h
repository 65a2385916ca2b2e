// What the fetching process may read, and what it must load before entering the sandbox.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/net/remote_source.h"

namespace zarrfs {

struct FetcherNeeds {
  /// A profile has a credential_process: an arbitrary program.
  bool starts_programs = false;
  /// Files and folders read at run time: those of the resolver and OpenSSL, and files with keys.
  /// Some may not exist.
  std::vector<std::string> readable;
};

/// Reads the profile in ~/.aws, for a bucket. Sets HOME if it is not set: a process that becomes
/// another user could not find it again.
[[nodiscard]] FetcherNeeds NeedsOfFetcher(const RemoteSource& source);

/// Loads the C library's resolver modules, and initializes libcurl and OpenSSL with their settings.
void LoadLibrariesOfFetcher();

/// The exit code of a process that EndWhenReplaced() ended.
inline constexpr int kExitReplaced = 75;

/// A thread ends the process within about two seconds after a file at one of `paths` is replaced or
/// created: Landlock knows files, not names, so only the next process may read it.
void EndWhenReplaced(std::vector<std::string> paths);

}  // namespace zarrfs
