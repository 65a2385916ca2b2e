// FetcherProcess: the process that fetches, as its parent sees it.
#pragma once

#include <sys/types.h>

#include <functional>

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

  /// `in_child` is called in the new process before anything else: it takes privileges away. The
  /// process ends when its parent does.
  [[nodiscard]] static Result<FetcherProcess> Start(const RemoteSource& source,
                                                    const FetchChannel& channel,
                                                    const std::function<void()>& in_child = {});

  [[nodiscard]] pid_t pid() const { return pid_; }  // -1: none
  /// For poll(): readable once it has ended; -1 if there is none.
  [[nodiscard]] int fd() const { return ended_.get(); }
  /// Ends it and the programs that it has started, and waits for that, but not for long.
  void Kill();
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
