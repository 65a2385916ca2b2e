// The files that the fetching process may read, and the libraries that it must load before it
// enters the sandbox.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "zarrcore/net/remote_source.h"

namespace zarrfs {

struct FetcherNeeds {
  /// True if a profile has a credential_process, which may be any program.
  bool starts_programs = false;
  /// Files and folders that the process reads: those of the resolver and OpenSSL, and files with
  /// keys. Some may not exist.
  std::vector<std::string> readable;
};

/// Returns what the fetch process for `source` must be able to read. For buckets, reads the
/// profiles in ~/.aws. Sets HOME if it is unset, because the home folder cannot be found after a
/// change of user.
[[nodiscard]] FetcherNeeds NeedsOfFetcher(const RemoteSource& source);

/// Loads the C library's resolver modules, and initializes libcurl and OpenSSL with their settings.
void LoadLibrariesOfFetcher();

/// The exit code of a process that a ReplacementWatch has ended.
inline constexpr int kExitReplaced = 75;

/// Ends the process within about two seconds after a file is replaced or created. Landlock grants
/// access to files, not to names, so only the next process may read a new file. Also ends the
/// process after a file of headers= or query= has changed, because only the next process gets the
/// new contents.
class ReplacementWatch {
 public:
  /// Starts a thread that checks `paths`, and the files of headers= and query= of `source` and its
  /// prefixes. SecretTexts::version identifies the contents of these files.
  ReplacementWatch(std::vector<std::string> paths, const RemoteSource& source);

  /// Makes the thread check now, after the server has refused a request. If a file of headers= or
  /// query= has changed, the process ends before this call returns. Waits at most 0.2 s, and not at
  /// all if no such file may change. Thread-safe.
  void LookNow() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
