// MountStatus: everything that a mount reports about itself, and its printed forms: the files
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

/// The value of "format" in status.json. It increases when a key is removed or changes its meaning,
/// not when a key is added.
inline constexpr int kStatusFormat = 1;

/// The status of a mount. Strings are single lines. The base class contains the current options.
/// `view` is "" if the root has one folder per view.
struct MountStatus : TreeOptions {
  pid_t pid = 0;  // the process id of the keeper
  std::string keeper_version;
  std::string log_level;
  std::string capabilities;
  std::string sandbox;  // the sandbox of the process that reads the store
  std::string fetcher;  // the sandbox of the fetcher; "" if the store needs none
  std::string store;    // the name of the store: its folder or address
  std::optional<std::string> store_problem;  // why the store cannot be read
  std::string options;      // in the syntax of -o, including the options of config_file
  std::string config_file;  // "" if no file was read
  std::string links;        // in the form that ParseLinkPolicy() parses
  // How the mount notices changes of the store, unless the options `immutable` or `ttl` determine
  // it.
  std::string not_watched;  // why the store reports no changes; "" if it does
  WatchState watch;
  /// True if one notification can invalidate all names, so the kernel caches names until a change.
  bool keeps_names = false;
  bool open_messages = false;
  // The number of versions of shards that are kept for readers that have them open.
  size_t old_versions = 0;
  /// The number of old versions that the store can read again, and its limit, which is 0 if the
  /// store cannot read old versions.
  size_t known_versions = 0;
  size_t known_versions_limit = 0;
  uint32_t threads = 0;
  bool uses_io_uring = false;
  /// The format of the keeper's start messages. A newer program that takes over the mount must
  /// support it. 0 if no program can take over.
  uint64_t start_format = 0;
  std::string no_io_uring;  // why the mount does not use io_uring; "" if only the kernel lacks it
  MountFigures figures;
  std::vector<std::string> errors;  // the latest errors, oldest first
};

/// Returns the status as lines of "name: value".
[[nodiscard]] std::string OptionsText(const MountStatus& status);

/// Returns the status as one JSON object.
[[nodiscard]] std::string StatusJson(const MountStatus& status);

}  // namespace zarrfs
