#include "fs/process/id_saver.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <thread>
#include <utility>

namespace zarrfs {
namespace {

constexpr auto kPeriod = std::chrono::seconds(1);

}  // namespace

void StartSavingIds(IdFile file) {
  std::thread([file = std::move(file), has_failed = false]() mutable {
    for (;;) {
      std::this_thread::sleep_for(kPeriod);
      const auto saved = file.Save();
      if (!saved && !has_failed) {
        spdlog::warn(
            "cannot save the ids of the option ids: {}; the next mount may have other inode "
            "numbers",
            saved.error().message);
      }
      has_failed = !saved;
    }
  }).detach();
}

}  // namespace zarrfs
