// FetcherProcess: starts and ends the process that fetches objects.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// A running fetch process. The destructor ends the process. Not thread-safe; a parent that forks
/// must have one thread.
class FetcherProcess {
 public:
  FetcherProcess() = default;
  FetcherProcess(FetcherProcess&& other) noexcept { *this = std::move(other); }
  FetcherProcess& operator=(FetcherProcess&& other) noexcept;
  ~FetcherProcess() { Kill(); }

  /// Called in the new process before it reads anything from a server. Drops privileges, and
  /// changes to another user unless there is a reason to keep the same user, such as "disk_cache".
  /// Returns the user for logs, such as "uid 0 (disk_cache)".
  using Confine = std::function<std::string(std::string_view why_same_user)>;
  /// Called in the new process before RunFetcher(). Executes a program that calls RunFetcher(). If
  /// `Execute` returns, the process itself calls RunFetcher().
  using Execute = std::function<void()>;
  /// Starts a process, which ends when its parent does. With `confine`, the process also ends, with
  /// kExitReplaced, when a file that it reads is replaced, because only the next process may read
  /// the new file.
  [[nodiscard]] static Result<FetcherProcess> Start(const RemoteSource& source,
                                                    const FetchChannel& channel,
                                                    const Confine& confine = {},
                                                    const Execute& execute = {});

  [[nodiscard]] pid_t pid() const { return pid_; }  // -1 if there is no process
  /// A descriptor for poll() that becomes readable when the process ends; -1 if there is no
  /// process.
  [[nodiscard]] int fd() const { return ended_.get(); }
  /// Kills the process and the programs that it has started, and waits up to 2 s for the process to
  /// exit. Returns the status of the process as from waitpid(2); nullopt if it is unknown.
  std::optional<int> Kill();
  /// Releases ownership of the process and returns its id. The caller must then wait for it
  /// (waitpid).
  [[nodiscard]] pid_t Release();
  /// Forgets the process without ending it. Must be called in another child that the parent has
  /// forked, because that child does not own the process.
  void Forget();

 private:
  pid_t pid_ = -1;
  Descriptor ended_;
};

/// The main function of the fetch process, which Start() has forked from `parent`. Uses the
/// server's end and the memory of `channel`, and closes all other descriptors.
[[noreturn]] void RunFetcher(const RemoteSource& of, const FetchChannel& channel, pid_t parent,
                             const FetcherProcess::Confine& confine);

/// Overwrites the keys and the addresses of proxies in the environment, for a process that must not
/// have these secrets. Children that the process starts later do not inherit the secrets. Call
/// after Start().
void ForgetSecrets();

}  // namespace zarrfs
