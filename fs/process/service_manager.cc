#include "fs/process/service_manager.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {

bool ServiceManager::Exists() { return std::getenv("NOTIFY_SOCKET") != nullptr; }

void ServiceManager::Reloading() const {
  Tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", SteadyNowNs() / 1000));
}

std::string ServiceManager::Status(std::string_view status) { return "STATUS=" + OneLine(status); }

void ServiceManager::Tell(const std::string& state) const {
  if (listens_) sd_notify(/*unset_environment=*/0, state.c_str());
}

}  // namespace zarrfs
