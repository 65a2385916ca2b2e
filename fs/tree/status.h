// MountStatus: everything that a mount reports about itself, and its text forms: the files
// `options` and `status.json` in the folder .zarrfs (status_files.h). docs/METRICS.md lists the
// keys of status.json.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/metrics.h"
#include "fs/tree/tree_options.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Value of "format" in status.json. Increased when a key is removed or changes its meaning; new
/// keys may be added without.
inline constexpr int kStatusFormat = 1;

/// Strings are single lines. The base has the options in force; their `view` is "" if each view has
/// a folder.
struct MountStatus : TreeOptions {
  pid_t pid = 0;  // handles signals for the mount
  std::string log_level;
  std::string capabilities;
  std::string sandbox;                       // of the process that reads the store
  std::string fetcher;                       // sandbox of the process that fetches; "": none does
  std::string store;                         // its name: the folder
  std::optional<std::string> store_problem;  // why the store cannot be read
  std::string options;                       // as after -o, including those of config_file
  std::string config_file;                   // "" if there is none
  std::string links;                         // in the syntax of ParseLinkPolicy()
  // How changes are noticed, unless `immutable` or `ttl` determine that.
  std::string not_watched;  // why the store reports none; "" if it does
  WatchState watch;
  /// The kernel can drop all names at once, and so caches them until something changes.
  bool keeps_names = false;
  bool open_messages = false;
  size_t old_versions = 0;  // of shards, kept for readers that have them open
  uint32_t threads = 0;
  bool uses_io_uring = false;
  uint64_t hand_over = 0;   // the format in which a newer program can take over; 0: none
  std::string no_io_uring;  // why the mount does without; "" if only the kernel has none
  MountFigures figures;
  std::vector<std::string> errors;  // the latest ones, oldest first
};

/// One "name: value" per line.
[[nodiscard]] std::string OptionsText(const MountStatus& status);

/// One JSON object.
[[nodiscard]] std::string StatusJson(const MountStatus& status);

}  // namespace zarrfs
