#include "zarrcore/os/mount_table.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <utility>

namespace zarrfs {
namespace {

// Decodes a field of mountinfo, in which spaces, tabs, newlines and backslashes are written as "\"
// and three octal digits.
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

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

// The number at the beginning of `text`; 0 if `text` does not begin with a number.
template <typename Number>
Number NumberAt(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The number after `name` in "rw,user_id=0,group_id=0"; 0 if the name is missing.
uint32_t NumberAfter(std::string_view options, std::string_view name) {
  const size_t at = options.find(name);
  return at == options.npos ? 0 : NumberAt<uint32_t>(options.substr(at + name.size()));
}

}  // namespace

bool LiesIn(std::string_view path, std::string_view folder) {
  return folder == "/" ||
         (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

std::vector<std::string> OverlayLayers(std::string_view file_system_options) {
  std::vector<std::string> layers;
  for (const std::string_view option : Split(file_system_options, ',')) {
    const size_t equals = option.find('=');
    const std::string_view name = option.substr(0, equals);
    if (equals == option.npos ||
        !(name.starts_with("lowerdir") || name.starts_with("datadir") || name == "upperdir")) {
      continue;
    }
    // Overlay options escape colons and backslashes in the names of layers with a backslash.
    std::string layer;
    for (size_t at = equals + 1; at <= option.size(); ++at) {
      const bool is_end = at == option.size() || option[at] == ':';
      if (!is_end && option[at] == '\\' && at + 1 < option.size()) ++at;
      if (!is_end) layer += option[at];
      if (is_end && !layer.empty()) layers.push_back(std::exchange(layer, {}));
    }
  }
  return layers;
}

std::vector<Mounted> ParseMountTable(std::string_view mountinfo) {
  std::vector<Mounted> table;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    const auto fields = Split(line, ' ');
    // The fields of a line: id, parent, major:minor, root, mount point, options, tags…, "-", type,
    // source, options.
    if (fields.size() < 9) continue;
    size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 2 >= fields.size()) continue;
    const size_t colon = fields[2].find(':');
    if (colon == fields[2].npos) continue;
    Mounted& mounted = table.emplace_back();
    mounted.id = NumberAt<uint64_t>(fields[0]);
    mounted.parent = NumberAt<uint64_t>(fields[1]);
    mounted.device =
        makedev(NumberAt<unsigned>(fields[2]), NumberAt<unsigned>(fields[2].substr(colon + 1)));
    mounted.path = Unescape(fields[4]);
    mounted.root = Unescape(fields[3]);
    mounted.options = fields[5];
    mounted.type = Unescape(fields[dash + 1]);
    mounted.source = Unescape(fields[dash + 2]);
    const std::string_view options = dash + 3 < fields.size() ? fields[dash + 3] : "";
    mounted.user = NumberAfter(options, "user_id=");
    mounted.group = NumberAfter(options, "group_id=");
    mounted.file_system_options = Unescape(options);
  }
  return table;
}

std::vector<Mounted> MountTable() {
  std::ifstream file("/proc/self/mountinfo");
  return ParseMountTable(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

std::vector<Mounted> MountsAlong(std::string_view path, const std::vector<Mounted>& table) {
  std::vector<Mounted> way;
  // The root mount is its own parent, or its parent is missing from the table.
  const auto is_root = [&](const Mounted& mounted) {
    return mounted.parent == mounted.id ||
           std::ranges::find(table, mounted.parent, &Mounted::id) == table.end();
  };
  while (way.size() <= table.size()) {
    // Several child mounts may contain `path`. The lookup enters the one nearest to the root first.
    const Mounted* next = nullptr;
    for (const Mounted& mounted : table) {
      if (!LiesIn(path, mounted.path)) continue;
      const bool is_next =
          way.empty() ? is_root(mounted) : mounted.parent == way.back().id && !is_root(mounted);
      if (is_next && (next == nullptr || mounted.path.size() < next->path.size())) next = &mounted;
    }
    if (next == nullptr) break;
    way.push_back(*next);
  }
  return way;
}

std::vector<Mounted> MountsAt(std::string_view path) {
  std::vector<Mounted> mounts = MountsAlong(path, MountTable());
  std::erase_if(mounts, [&](const Mounted& mounted) { return mounted.path != path; });
  return mounts;
}

std::optional<Mounted> FindMount(std::string_view path) {
  const std::vector<Mounted> mounts = MountsAt(path);
  return mounts.empty() ? std::nullopt : std::optional(mounts.back());
}

std::vector<Mounted> ZarrfsMounts() {
  const std::vector<Mounted> table = MountTable();
  std::vector<Mounted> found;
  for (const Mounted& mounted : table) {
    if (mounted.type != kMountType) continue;
    const std::vector<Mounted> way = MountsAlong(mounted.path, table);
    if (!way.empty() && way.back().id == mounted.id) found.push_back(mounted);
  }
  std::ranges::sort(found, {}, &Mounted::path);
  return found;
}

}  // namespace zarrfs
