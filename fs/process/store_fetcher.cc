#include "fs/process/store_fetcher.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

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

// Root's becomes a user without an account. The capability to read any file stays with it, for
// files with keys that may be root's: Landlock leaves no others. Where it has to stay root, to
// write or to start programs, it has none.
std::string Confine(std::string_view why_same_user) {
  if (geteuid() != 0) {
    static_cast<void>(KeepReadPrivileges(std::nullopt));
    return fmt::format("uid {}", geteuid());
  }
  std::string why(why_same_user);
  if (why.empty()) {
    why = KeepReadPrivileges(UserWithoutAccount(getppid(), /*is_fetcher=*/true));
  } else {
    KeepNoPrivileges();
  }
  return fmt::format("uid {}{}", geteuid(), geteuid() == 0 ? fmt::format(" ({})", why) : "");
}

}  // namespace

Result<void> StoreFetcher::Start() {
  if (!options_.source.needs_fetcher()) return {};
  auto source = options_.source.Remote(options_.remote);
  if (!source) return Fail(source);
  auto channel = FetchChannel::Make();
  if (!channel) return Fail(channel);
  source_ = *std::move(source);
  if (const std::string& list = options_.remote.list_file; !list.empty()) {
    // A pipe that nobody writes to must not hold up the keeper.
    key_list_.reset(open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    fcntl(key_list_.get(), F_SETFL, 0);
  }
  ReadSecrets(*source_);
  channel_ = *std::move(channel);
  return StartProcess();
}

Result<void> StoreFetcher::StartProcess() {
  started_ = Clock::now();
  auto process = FetcherProcess::Start(*source_, channel_, Confine);
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
    const bool is_replaced = process_.Kill();
    const bool has_lived = Clock::now() - started_ > kLongLife;
    period_ = has_lived || is_replaced ? kLeastPeriod : std::min(period_ * 2, kLongestPeriod);
    spdlog::log(is_replaced ? spdlog::level::info : spdlog::level::err,
                "{}: {}; another one takes its place", options_.source.text(),
                is_replaced ? "a file that the process that fetches reads was replaced"
                            : "the process that fetches has ended");
  }
  if (!source_ || process_.pid() >= 0 || Clock::now() - started_ < period_) return;
  if (const auto started = StartProcess(); !started) {
    spdlog::error("{}: {}", options_.source.text(), started.error().message);
  }
}

}  // namespace zarrfs
