// What the process that fetches may read, and has to load before it may load no more.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/net/remote_source.h"

namespace zarrfs {

struct FetcherNeeds {
  /// A profile has a credential_process: a program of which nothing is known.
  bool starts_programs = false;
  /// Files and folders that are read while it runs: what the resolver and OpenSSL read, and files
  /// with keys. Some may not exist.
  std::vector<std::string> readable;
};

/// Reads the profile in ~/.aws, for a bucket. Sets HOME where it is not set: a process that becomes
/// another user could not find it again.
[[nodiscard]] FetcherNeeds NeedsOfFetcher(const RemoteSource& source);

/// Loads the modules of the C library that find addresses of hosts, and starts libcurl and OpenSSL,
/// with their settings.
void LoadLibrariesOfFetcher();

/// The exit code of a process that EndWhenReplaced() ended.
inline constexpr int kExitReplaced = 75;

/// Ends the process, from a thread of its own, within some two seconds after another file has come
/// to be at one of `paths`, or the first one: Landlock knows files rather than names, so the next
/// process may read it.
void EndWhenReplaced(std::vector<std::string> paths);

}  // namespace zarrfs
