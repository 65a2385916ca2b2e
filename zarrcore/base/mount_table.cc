#include "zarrcore/base/mount_table.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <utility>

namespace zarrfs {
namespace {

// mountinfo writes blanks, line ends and backslashes as "\" and three octal digits.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> SplitAtBlanks(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const size_t end = line.find(' ');
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return fields;
}

// The number after `name` in "rw,user_id=0,group_id=0"; 0 if there is none.
uint32_t NumberAfter(std::string_view options, std::string_view name) {
  uint32_t number = 0;
  if (const size_t at = options.find(name); at != std::string_view::npos) {
    std::from_chars(&options[at] + name.size(), options.data() + options.size(), number);
  }
  return number;
}

}  // namespace

std::vector<Mounted> ParseMountTable(std::string_view mountinfo) {
  std::vector<Mounted> table;
  while (!mountinfo.empty()) {
    const size_t end = mountinfo.find('\n');
    const auto fields = SplitAtBlanks(mountinfo.substr(0, end));
    mountinfo.remove_prefix(end == std::string_view::npos ? mountinfo.size() : end + 1);
    // id, parent, major:minor, root, mount point, options, tags…, "-", type, source, options
    if (fields.size() < 9) continue;
    size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 2 >= fields.size()) continue;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    const std::string_view device = fields[2];
    const auto [colon, error] =
        std::from_chars(device.data(), device.data() + device.size(), major_number);
    if (error != std::errc() || colon == device.data() + device.size()) continue;
    std::from_chars(colon + 1, device.data() + device.size(), minor_number);
    Mounted& mounted = table.emplace_back();
    mounted.path = Unescape(fields[4]);
    mounted.root = Unescape(fields[3]);
    mounted.options = fields[5];
    mounted.device = makedev(major_number, minor_number);
    mounted.type = Unescape(fields[dash + 1]);
    mounted.source = Unescape(fields[dash + 2]);
    const std::string_view options = dash + 3 < fields.size() ? fields[dash + 3] : "";
    mounted.user = NumberAfter(options, "user_id=");
    mounted.group = NumberAfter(options, "group_id=");
  }
  return table;
}

std::vector<Mounted> MountTable() {
  std::ifstream file("/proc/self/mountinfo");
  return ParseMountTable(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

std::optional<Mounted> FindMount(std::string_view path) {
  std::optional<Mounted> topmost;
  for (Mounted& mounted : MountTable()) {
    if (mounted.path == path) topmost = std::move(mounted);
  }
  return topmost;
}

std::optional<Mounted> FindMountAround(std::string_view path, const std::vector<Mounted>& table) {
  const auto lies_in = [&](std::string_view folder) {
    return folder == "/" || (path.starts_with(folder) &&
                             (path.size() == folder.size() || path[folder.size()] == '/'));
  };
  const Mounted* deepest = nullptr;
  for (const Mounted& mounted : table) {
    if (lies_in(mounted.path) &&
        (deepest == nullptr || mounted.path.size() >= deepest->path.size())) {
      deepest = &mounted;
    }
  }
  return deepest == nullptr ? std::nullopt : std::optional(*deepest);
}

std::vector<Mounted> ZarrfsMounts() {
  std::vector<Mounted> table = MountTable();
  std::ranges::stable_sort(table, {}, &Mounted::path);
  std::vector<Mounted> found;
  for (size_t i = 0; i < table.size(); ++i) {
    const bool covered = i + 1 < table.size() && table[i + 1].path == table[i].path;
    if (!covered && table[i].type == kMountType) found.push_back(std::move(table[i]));
  }
  return found;
}

}  // namespace zarrfs
