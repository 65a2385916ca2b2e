// MountStatus: everything that a mount reports about itself, and the texts made from it: the files
// `options` and `status.json` of the folder .zarrfs (status_files.h). docs/METRICS.md lists the
// keys of status.json.
#ifndef FS_TREE_STATUS_H_
#define FS_TREE_STATUS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/metrics.h"
#include "zarrcore/view/hierarchy.h"

namespace zarrfs {

/// Value of "format" in status.json. A new number when a key goes or changes its meaning; new keys
/// may come without one.
inline constexpr int kStatusFormat = 1;

/// How a mount notices that its store has changed.
struct ChangeDetection {
  bool immutable = false;     // not at all
  std::optional<double> ttl;  // seconds; names are looked up again after as long
  /// Without these: why the store reports no changes, "" if it does.
  std::string not_watched;
  size_t watched_folders = 0;
  std::string watch_limit;  // why changes in other folders are not reported; else ""
  /// The kernel can drop all names at once, and so keeps them until something changes.
  bool keeps_names = false;
  /// Where the store reports no changes, names are looked up again after a tenth of their age,
  /// within these limits (seconds).
  double min_ttl = 0;
  double max_ttl = 0;
};

/// Strings are single lines.
struct MountStatus {
  pid_t pid = 0;  // takes signals for the mount
  std::string log_level;
  std::string capabilities;
  std::string store;                         // its name: the folder
  std::optional<std::string> store_problem;  // why it cannot be read
  std::string options;                       // as after -o, those of config_file too
  std::string config_file;                   // "" if there is none
  std::string view;                          // the only one; "" if there is a folder for each
  std::string links;                         // as ParseLinkPolicy() takes it
  char separator = 0;                        // 0: as suits the array
  FillPolicy fill = FillPolicy::kAuto;
  uint64_t consolidated_max = 0;  // nodes; 0: no .zmetadata
  ChangeDetection changes;
  bool open_messages = false;
  size_t old_versions = 0;  // of shards, kept for readers that have them open
  size_t max_old_versions = 0;
  int64_t old_version_grace = 0;  // seconds after the last read
  uint64_t index_cache_size = 0;  // bytes
  uint64_t chunk_cache_size = 0;  // bytes
  uint64_t node_cache_size = 0;   // bytes
  uint32_t threads = 0;
  bool uses_io_uring = false;
  std::string no_io_uring;  // why the mount does without; "" if only the kernel has none
  MountFigures figures;
  std::vector<std::string> errors;  // the last ones, oldest first
};

/// One "name: value" per line.
[[nodiscard]] std::string OptionsText(const MountStatus& status);

/// One JSON object.
[[nodiscard]] std::string StatusJson(const MountStatus& status);

}  // namespace zarrfs

#endif  // FS_TREE_STATUS_H_
