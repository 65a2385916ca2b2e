// Stores that are made to exhaust whoever reads them: small, and each with what reading it may
// cost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/mount/programs.h"

namespace zarrfs {

struct HostileFile {
  std::string path;  // in the mount
  int error = 0;     // that opening or reading it gives with memory=512M
};

struct HostileStore {
  std::string name;
  void (*write)(const std::filesystem::path& store);
  std::vector<HostileFile> files;  // all read at once
  Seconds time{20};                // that all of it may take
  size_t megabytes = 512 + 64;     // that the worker may hold at its peak
};

[[nodiscard]] const std::vector<HostileStore>& HostileStores();

}  // namespace zarrfs
