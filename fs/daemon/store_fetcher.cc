#include "fs/daemon/store_fetcher.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "fs/daemon/privileges.h"

namespace zarrfs {
namespace {

// Between two starts at least.
constexpr auto kLeastPeriod = std::chrono::seconds(1);

}  // namespace

Result<void> StoreFetcher::Start() {
  if (!IsRemote(options_.source)) return {};
  auto source = ParseRemoteSource(options_.source, options_.remote);
  if (!source) return Fail(source);
  auto channel = FetchChannel::Make();
  if (!channel) return Fail(channel);
  source_ = *std::move(source);
  channel_ = *std::move(channel);
  return StartProcess();
}

Result<void> StoreFetcher::StartProcess() {
  started_ = Clock::now();
  // (It need not read what other users may not, but files with keys may be root's.)
  auto process = FetcherProcess::Start(*source_, channel_,
                                       [] { static_cast<void>(KeepReadPrivileges(std::nullopt)); });
  if (!process) return Fail(process);
  process_ = *std::move(process);
  return {};
}

void StoreFetcher::Attend() {
  pollfd ended = {process_.fd(), POLLIN, 0};
  if (process_.pid() >= 0 && poll(&ended, 1, 0) > 0) {
    process_.Kill();
    spdlog::error("{}: the process that fetches has ended; another one takes its place",
                  options_.source);
  }
  if (!source_ || process_.pid() >= 0 || Clock::now() - started_ < kLeastPeriod) return;
  if (const auto started = StartProcess(); !started) {
    spdlog::error("{}: {}", options_.source, started.error().message);
  }
}

}  // namespace zarrfs
