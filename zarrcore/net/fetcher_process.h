// FetcherProcess: the fetching process, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The destructor ends the process. Not thread-safe; a parent that forks must have one thread.
class FetcherProcess {
 public:
  FetcherProcess() = default;
  FetcherProcess(FetcherProcess&& other) noexcept { *this = std::move(other); }
  FetcherProcess& operator=(FetcherProcess&& other) noexcept;
  ~FetcherProcess() { Kill(); }

  /// Called in the new process before it reads anything from a server: drops privileges, and
  /// changes to another user unless there is a reason to keep the same one ("disk_cache"). Returns
  /// the user for logs: "uid 0 (disk_cache)".
  using Confine = std::function<std::string(std::string_view why_same_user)>;
  /// The process ends when its parent does. With `confine`, it also ends when a file that it reads
  /// is replaced by another one, which only the next process may read.
  [[nodiscard]] static Result<FetcherProcess> Start(const RemoteSource& source,
                                                    const FetchChannel& channel,
                                                    const Confine& confine = {});

  [[nodiscard]] pid_t pid() const { return pid_; }  // -1: none
  /// For poll(): readable once it has ended; -1 if there is no process.
  [[nodiscard]] int fd() const { return ended_.get(); }
  /// Ends the process and the programs that it has started, and waits briefly for that. Returns
  /// whether it had ended because a file that it reads was replaced.
  bool Kill();
  /// Releases ownership: somebody else must wait for the child.
  [[nodiscard]] pid_t Release();
  /// For another child of the parent: forgets the process without ending it.
  void Forget();

 private:
  pid_t pid_ = -1;
  Descriptor ended_;
};

/// Overwrites the keys and proxies in the environment, for a process that must not know them, and
/// its children. Call after Start().
void ForgetSecrets();

}  // namespace zarrfs
