// FetcherProcess: the process that fetches, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// Ended when this is destroyed. Not thread-safe; a parent that forks must have one thread.
class FetcherProcess {
 public:
  FetcherProcess() = default;
  FetcherProcess(FetcherProcess&& other) noexcept { *this = std::move(other); }
  FetcherProcess& operator=(FetcherProcess&& other) noexcept;
  ~FetcherProcess() { Kill(); }

  /// In the new process, before it reads anything that a server says: takes privileges away, and
  /// becomes another user unless there is a reason to stay the same one: "disk_cache". Returns who
  /// it is now, for people: "uid 0 (disk_cache)".
  using Confine = std::function<std::string(std::string_view why_same_user)>;
  /// The process ends when its parent does; with `confine`, also when a file that it reads while it
  /// runs is replaced by another one, which the next process may read.
  [[nodiscard]] static Result<FetcherProcess> Start(const RemoteSource& source,
                                                    const FetchChannel& channel,
                                                    const Confine& confine = {});

  [[nodiscard]] pid_t pid() const { return pid_; }  // -1: none
  /// For poll(): readable once it has ended; -1 if there is none.
  [[nodiscard]] int fd() const { return ended_.get(); }
  /// Ends it and the programs that it has started, and waits for that, but not for long. Returns
  /// whether it had ended because a file that it reads was replaced.
  bool Kill();
  /// Leaves it alone, from now on somebody else's child to wait for.
  [[nodiscard]] pid_t Release();
  /// In another child of the parent: forgets it.
  void Forget();

 private:
  pid_t pid_ = -1;
  Descriptor ended_;
};

/// Overwrites what the environment says of keys and proxies: for a process that shall not know it,
/// and its children. To be called after Start().
void ForgetSecrets();

}  // namespace zarrfs
