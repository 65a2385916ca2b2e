#include "tools/zarrctl/mount_table.h"

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string_view>

namespace zarrfs::ctl {
namespace {

// The kernel writes blank, tab, newline and backslash as three octal digits.
std::string Unescape(std::string_view field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const auto digit = [&](size_t k) { return i + k < field.size() ? field[i + k] - '0' : 8; };
    if (field[i] == '\\' && digit(1) < 4 && digit(2) < 8 && digit(3) < 8) {
      text += static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

bool IsInside(std::string_view path, std::string_view folder) {
  return folder == "/" ||
         (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

}  // namespace

std::optional<MountedPath> FindMountedPath(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  std::optional<MountedPath> found;
  size_t longest = 0;
  for (std::string line; std::getline(table, line);) {
    // "36 35 0:98 /v2/a /mnt ro,nosuid shared:1 - fuse.zarrfs /data/ocean ro,user_id=0"
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string skipped, root, point, type, source;
    before >> skipped >> skipped >> skipped >> root >> point;
    after >> type >> source;
    point = Unescape(point);
    // The deepest mount counts, and of those on one folder the last.
    if (!IsInside(path, point) || point.size() < longest) continue;
    longest = point.size();
    found.reset();
    if (type != "fuse.zarrfs") continue;
    std::string relative = Unescape(root);
    relative += path.substr(point == "/" ? 0 : point.size());
    relative.erase(0, relative.find_first_not_of('/'));
    found = MountedPath{Unescape(source), std::move(relative)};
  }
  return found;
}

}  // namespace zarrfs::ctl
