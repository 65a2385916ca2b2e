// Small stores that are made to exhaust their readers, each with limits of the time and memory that
// reading it may take.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/mount/programs.h"

namespace zarrfs {

struct HostileFile {
  std::string path;  // relative to the mount
  int error = 0;     // the errno of opening or reading it with memory=512M; 0 for none
};

struct HostileStore {
  std::string name;
  void (*write)(const std::filesystem::path& store);
  std::vector<HostileFile> files;  // read concurrently
  Seconds time{20};                // the time limit for all of them
  size_t megabytes = 512 + 64;     // the limit of the worker's peak memory, in MiB
};

[[nodiscard]] const std::vector<HostileStore>& HostileStores();

}  // namespace zarrfs
