// The configuration file of a mount:
//
//   # A line that begins with # is a comment.
//   source = /data/ocean.zarr
//   cache = 1G
//   immutable
//
// A name and its value as after -o, without escapes; blanks around both do not count.
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

  /// As it would stand after -o.
  [[nodiscard]] std::string Word() const { return value ? name + "=" + *value : name; }

  bool operator==(const Setting&) const = default;
};

/// kInvalidArgument for a line that is none of these, and for a name that stands twice; `path` is
/// for the message, "FILE:LINE: what was expected".
[[nodiscard]] Result<std::vector<Setting>> ParseConfig(std::string_view text,
                                                       std::string_view path);

/// The same of a file.
[[nodiscard]] Result<std::vector<Setting>> ReadConfig(const std::string& path);

/// Names that stand in one of both only, or with other values; sorted.
[[nodiscard]] std::vector<std::string> ChangedNames(const std::vector<Setting>& before,
                                                    const std::vector<Setting>& after);

}  // namespace zarrfs

#endif  // FS_DAEMON_CONFIG_FILE_H_
