#include "fs/process/live_settings.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <string>

#include "fs/mount/channel.h"
#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "fs/process/signals.h"

namespace zarrfs {
namespace {

void SetLevel(std::string_view level, const Workers& workers) {
  SetLogLevel(level);
  workers.Tell({Message::Kind::kLogLevel, {}, std::string(level)});
}

}  // namespace

void ChangeLogLevel(const signalfd_siginfo& signal, std::string_view mountpoint,
                    const Workers& workers) {
  const auto level = LevelAskedFor(signal);
  if (!level) return spdlog::warn("{}", level.error().message);
  SetLevel(*level, workers);
  spdlog::info("{}: the log level is {}", mountpoint, *level);
}

Result<void> ReloadSettings(MountOptions& options, std::string_view words,
                            std::string_view mountpoint, const Workers& workers) {
  const auto ignored = SetLive(options, words);
  if (!ignored) {
    spdlog::error("{}: not reloaded: {}", mountpoint, ignored.error().message);
    return Fail(ignored);
  }
  SetLevel(options.log_level, workers);
  workers.Tell({Message::Kind::kCacheSizes,
                {options.index_cache, options.cache, options.memory.value_or(0)}});
  spdlog::info("{}: reloaded: log_level {}, index_cache {} and cache {} bytes", mountpoint,
               options.log_level, options.index_cache, options.cache);
  const std::string old = fmt::format("{}", fmt::join(*ignored, ", "));
  if (!old.empty())
    spdlog::warn("{}: {} changed, which takes effect only after a new mount", mountpoint, old);
  return {};
}

}  // namespace zarrfs
