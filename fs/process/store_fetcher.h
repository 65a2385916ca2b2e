// StoreFetcher: the keeper's handle on the fetcher, the process that fetches objects from a bucket
// or web server. A mount needs a fetcher if its store or its virtual chunks are there. For any
// other mount, every member does nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/options/options.h"
#include "fs/process/beginning.h"
#include "zarrcore/base/result.h"
#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/fetcher_process.h"

namespace zarrfs {

/// The files that the options name. They are opened and read once per mount.
struct OpenedFiles {
  // The contents of the files that headers= and query= name, for the store and for each remote
  // prefix of virtual=.
  std::vector<SecretTexts> secrets = {};
  Descriptor list = {};  // the file of list=; may be empty
};

class StoreFetcher {
 public:
  /// `config`: the settings of the configuration file that are in force. `program`: the program
  /// that fetchers execute (fetcher_start.h); while it is empty, fetchers are copies of this
  /// process. All arguments must outlive this object.
  StoreFetcher(const MountOptions& options, const std::vector<std::string>& config,
               const Descriptor& program)
      : options_(options), config_(config), program_(program) {}

  /// Starts the first fetcher. Call before the first worker starts. `files`: the files of the
  /// options, if they are already open.
  [[nodiscard]] Result<void> Start(std::optional<OpenedFiles> files = std::nullopt);
  /// If the fetcher has ended, starts another one after a pause.
  void Attend();
  /// Replaces a fetcher whose program has not reported in time. Call once a second.
  void WatchBegin();
  /// Ends the fetcher. Attend() then starts another one, with the program that is set at that time.
  void End();
  /// Ends the fetcher and starts another one with a new channel, for workers of another program.
  /// Earlier workers keep the old channel.
  void Renew();

  /// The file of the option list=.
  [[nodiscard]] const Descriptor& key_list() const { return key_list_; }
  /// The contents of the files of headers= and query=; see OpenedFiles.
  [[nodiscard]] std::vector<SecretTexts> secrets() const;

  /// The process id of the fetcher; -1 if none runs.
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] int fd() const { return process_.fd(); }
  /// The fetcher's FetchChannel::kVersion; nullopt until the fetcher has reported it.
  [[nodiscard]] std::optional<uint32_t> version() const { return version_; }
  /// The channel that workers use; its descriptors are empty if the store needs no fetcher.
  [[nodiscard]] const FetchChannel& channel() const { return channel_; }
  /// Closes and erases the fetcher's descriptors and secrets, in a worker that was just forked.
  void Forget();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<void> StartProcess(bool executes);
  void StartProcessOrLog(bool executes);
  void ReadVersion();
  void OnEnd(std::optional<int> status);

  const MountOptions& options_;
  const std::vector<std::string>& config_;
  const Descriptor& program_;
  std::optional<RemoteSource> source_;
  FetchChannel channel_;
  Descriptor key_list_;
  FetcherProcess process_;
  Beginning beginning_{options_.mountpoint, "fetcher"};
  Descriptor begun_;  // the pipe in which the fetcher reports its version
  std::optional<uint32_t> version_;
  Clock::time_point started_;
  std::chrono::seconds period_{1};  // the minimum time from one start to the next
};

}  // namespace zarrfs
