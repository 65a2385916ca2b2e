#include "fs/process/store_fetcher.h"

#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "fs/mount/start_message.h"
#include "fs/process/fetcher_start.h"
#include "zarrcore/net/fetcher_sandbox.h"

namespace zarrfs {
namespace {

// The minimum time between the starts of two fetchers. It doubles after each fetcher that ends
// before kLongLife.
constexpr auto kMinPeriod = std::chrono::seconds(1);
constexpr auto kMaxPeriod = std::chrono::seconds(16);
constexpr auto kLongLife = std::chrono::seconds(20);

}  // namespace

Result<void> StoreFetcher::Start(std::optional<OpenedFiles> files) {
  auto source = options_.source.Fetched(FetchOptions(options_), options_.virtual_prefixes);
  if (!source) return Fail(source);
  if (!*source) return {};
  auto channel = FetchChannel::Make();
  if (!channel) return Fail(channel);
  source_ = **std::move(source);
  if (files) {
    SetSecretsOfAll(std::move(files->secrets), *source_);
    key_list_ = std::move(files->list);
  } else if (const std::string& list = source_->options.list_file; !list.empty()) {
    // Opening a pipe without a writer must not block the keeper.
    key_list_.reset(open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    fcntl(key_list_.get(), F_SETFL, 0);
  }
  ForEachOrigin(*source_, ReadSecrets);
  channel_ = *std::move(channel);
  return StartProcess(static_cast<bool>(program_));
}

std::vector<SecretTexts> StoreFetcher::secrets() const {
  std::vector<SecretTexts> secrets;
  if (!source_) return secrets;
  ForEachOrigin(*source_, [&](const RemoteSource& each) { secrets.push_back(each.secrets); });
  return secrets;
}

Result<void> StoreFetcher::StartProcess(bool executes) {
  started_ = Clock::now();
  version_.reset();
  std::array<int, 2> pipe = {-1, -1};
  if (executes && pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Fail(ErrorCode::kIo, "cannot create a pipe for the fetcher: {}", ErrnoText(errno));
  }
  begun_.reset(pipe[0]);
  const Descriptor report(pipe[1]);
  const auto execute = [&] {
    // Reads the files of headers= and query= again. Runs in the new process, because a hung file
    // system must not block the keeper.
    ForEachOrigin(*source_, [](RemoteSource& origin) {
      const std::string problem = RenewSecrets(origin.options, origin.secrets);
      if (!problem.empty()) spdlog::warn("{}: {}", origin.name, problem);
    });
    if (!executes) return;
    ExecuteFetcher(program_, WithOptions(options_, config_), channel_, secrets(), report);
    beginning_.LogNoProgram();
    ReportFetcherBegun(report);
  };
  auto process = FetcherProcess::Start(*source_, channel_, ConfineFetcher, execute);
  if (!process) return Fail(process);
  process_ = *std::move(process);
  beginning_.OnStart(executes);
  if (!executes) version_ = FetchChannel::kVersion;
  return {};
}

void StoreFetcher::StartProcessOrLog(bool executes) {
  if (const auto started = StartProcess(executes); !started) {
    spdlog::error("{}: {}", options_.source.text(), started.error().message);
  }
}

void StoreFetcher::ReadVersion() {
  uint32_t version = 0;
  if (!begun_) return;
  const ssize_t length = TEMP_FAILURE_RETRY(read(begun_.get(), &version, sizeof version));
  if (length < 0 && errno == EAGAIN) return;
  begun_.reset();
  if (length != sizeof version) return;  // the fetcher has ended
  version_ = version;
  beginning_.OnBegun();
}

void StoreFetcher::Forget() {
  process_.Forget();
  begun_.reset();
  if (!source_) return;
  ForgetSecrets();
  ForEachOrigin(*source_, [](RemoteSource& origin) { Erase(origin.secrets); });
}

void StoreFetcher::OnEnd(std::optional<int> status) {
  beginning_.OnEnd(status);
  begun_.reset();
  if (beginning_.HasFailed()) return StartProcessOrLog(/*executes=*/false);
  const bool is_replaced = status && WIFEXITED(*status) && WEXITSTATUS(*status) == kExitReplaced;
  const bool has_lived = Clock::now() - started_ > kLongLife;
  period_ = has_lived || is_replaced ? kMinPeriod : std::min(period_ * 2, kMaxPeriod);
  spdlog::log(is_replaced ? spdlog::level::info : spdlog::level::err,
              "{}: {}; another one takes its place", options_.source.text(),
              is_replaced ? "the fetcher exited because a file that it reads was replaced"
                          : "the fetcher has exited");
}

void StoreFetcher::Attend() {
  ReadVersion();
  pollfd ended = {process_.fd(), POLLIN, 0};
  if (process_.pid() >= 0 && poll(&ended, 1, 0) > 0) {
    ReadVersion();  // the fetcher may have reported its version just before its end
    OnEnd(process_.Kill());
  }
  if (!source_ || process_.pid() >= 0 || Clock::now() - started_ < period_) return;
  StartProcessOrLog(static_cast<bool>(program_));
}

void StoreFetcher::WatchBegin() {
  if (process_.pid() >= 0 && beginning_.Tick() != Beginning::Step::kNone) OnEnd(process_.Kill());
}

void StoreFetcher::End() {
  process_.Kill();
  begun_.reset();
  version_.reset();
  started_ = {};
}

void StoreFetcher::Renew() {
  if (!source_) return;
  End();
  period_ = kMinPeriod;
  if (auto channel = FetchChannel::Make()) {
    channel_ = *std::move(channel);
  } else {
    spdlog::error("{}: {}", options_.source.text(), channel.error().message);
  }
  Attend();
}

}  // namespace zarrfs
