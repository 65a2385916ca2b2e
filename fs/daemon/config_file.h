// The configuration file of a mount:
//
//   # A line that begins with # is a comment.
//   source = /data/ocean.zarr
//   cache = 1G
//   immutable
//
// Names and values are those of options after -o, without escapes; blanks around them are ignored.
#ifndef FS_DAEMON_CONFIG_FILE_H_
#define FS_DAEMON_CONFIG_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

struct Setting {
  std::string name;
  std::optional<std::string> value;
  size_t line = 0;  // from 1

  /// The setting as an option after -o.
  [[nodiscard]] std::string Word() const { return value ? name + "=" + *value : name; }

  bool operator==(const Setting&) const = default;
};

/// kInvalidArgument for a line of another kind and for a name that occurs twice, with the message
/// "`path`:LINE: what was expected".
[[nodiscard]] Result<std::vector<Setting>> ParseConfig(std::string_view text,
                                                       std::string_view path);

/// Reads and parses a file.
[[nodiscard]] Result<std::vector<Setting>> ReadConfig(const std::string& path);

/// Names that only one of the two has, or that have different values; sorted.
[[nodiscard]] std::vector<std::string> ChangedNames(const std::vector<Setting>& before,
                                                    const std::vector<Setting>& after);

}  // namespace zarrfs

#endif  // FS_DAEMON_CONFIG_FILE_H_
