// StoreFetcher: the process that fetches for a mount of a bucket or web server, as the keeper sees
// it. For a store in a folder there is none, and every member is without effect.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/fetcher_process.h"

namespace zarrfs {

class StoreFetcher {
 public:
  explicit StoreFetcher(const MountOptions& options) : options_(options) {}

  /// Before the first worker.
  [[nodiscard]] Result<void> Start();
  /// Starts another one in the place of one that has ended, if it is time.
  void Attend();

  /// The file of list=, which was opened by the first Start().
  [[nodiscard]] const Descriptor& key_list() const { return key_list_; }

  /// -1: there is none.
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] int fd() const { return process_.fd(); }
  /// For workers; empty descriptors without a fetcher.
  [[nodiscard]] const FetchChannel& channel() const { return channel_; }
  /// In a worker that was just forked: the fetcher is not its own, nor what that alone may know.
  void Forget();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<void> StartProcess();

  const MountOptions& options_;
  std::optional<RemoteSource> source_;
  FetchChannel channel_;
  Descriptor key_list_;
  FetcherProcess process_;
  Clock::time_point started_;
  std::chrono::seconds period_{1};  // from one start to the next
};

}  // namespace zarrfs
