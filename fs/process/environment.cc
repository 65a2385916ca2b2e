#include "fs/process/environment.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace zarrfs {
namespace {

constexpr std::array<std::string_view, 9> kKept = {"TZ",
                                                   "LANG",
                                                   "GLIBC_TUNABLES",
                                                   "LD_LIBRARY_PATH",
                                                   "LD_PRELOAD",
                                                   "JOURNAL_STREAM",
                                                   "SLURM_MEM_PER_NODE",
                                                   "SLURM_MEM_PER_CPU",
                                                   "SLURM_CPUS_ON_NODE"};

bool IsKept(std::string_view name) {
#ifdef ZARRFS_SANITIZED
  if (name.ends_with("SAN_OPTIONS") || name.ends_with("_SYMBOLIZER_PATH")) return true;
#endif
  return name.starts_with("LC_") || name.starts_with("MALLOC_") ||
         std::ranges::find(kKept, name) != kKept.end();
}

}  // namespace

void ForgetEnvironment() {
  char** kept = environ;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (IsKept(text.substr(0, text.find('=')))) {
      *kept++ = *variable;
    } else {
      explicit_bzero(*variable, text.size());
    }
  }
  if (kept != nullptr) *kept = nullptr;
}

}  // namespace zarrfs
