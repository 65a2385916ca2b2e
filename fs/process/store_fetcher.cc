#include "fs/process/store_fetcher.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fs/process/privileges.h"

namespace zarrfs {
namespace {

// Between two starts, and twice as long after each that has ended before kLongLife.
constexpr auto kLeastPeriod = std::chrono::seconds(1);
constexpr auto kLongestPeriod = std::chrono::seconds(16);
constexpr auto kLongLife = std::chrono::seconds(20);

}  // namespace

Result<void> StoreFetcher::Start() {
  if (!options_.source.needs_fetcher()) return {};
  auto source = options_.source.Remote(options_.remote);
  if (!source) return Fail(source);
  auto channel = FetchChannel::Make();
  if (!channel) return Fail(channel);
  source_ = *std::move(source);
  ReadSecrets(*source_);
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

void StoreFetcher::Forget() {
  process_.Forget();
  if (!source_) return;
  ForgetSecrets();
  for (std::string* text : {&source_->secrets.headers, &source_->secrets.query}) {
    explicit_bzero(text->data(), text->size());
    text->clear();
  }
}

void StoreFetcher::Attend() {
  pollfd ended = {process_.fd(), POLLIN, 0};
  if (process_.pid() >= 0 && poll(&ended, 1, 0) > 0) {
    process_.Kill();
    const bool has_lived = Clock::now() - started_ > kLongLife;
    period_ = has_lived ? kLeastPeriod : std::min(period_ * 2, kLongestPeriod);
    spdlog::error("{}: the process that fetches has ended; another one takes its place",
                  options_.source.text());
  }
  if (!source_ || process_.pid() >= 0 || Clock::now() - started_ < period_) return;
  if (const auto started = StartProcess(); !started) {
    spdlog::error("{}: {}", options_.source.text(), started.error().message);
  }
}

}  // namespace zarrfs
