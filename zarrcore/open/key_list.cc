#include "zarrcore/open/key_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

namespace zarrfs {
namespace {

constexpr size_t kMaxListFile = 256u << 20;

// Reads a file until its end, or until more than kMaxListFile bytes are read.
std::string TextOf(const Descriptor& file) {
  std::string text;
  std::vector<char> part(size_t{1} << 16);
  ssize_t have = 0;
  do {
    text.append(part.data(), static_cast<size_t>(have));
    have = pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (have < 0 && errno == ESPIPE) have = read(file.get(), part.data(), part.size());
  } while (have > 0 && text.size() <= kMaxListFile);
  return text;
}

}  // namespace

Result<KeyList> ReadKeyList(const std::string& path, const Descriptor& opened) {
  const Descriptor by_name(opened ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  auto text = TextOf(opened ? opened : by_name);
  if (text.size() > kMaxListFile) {
    return Fail(ErrorCode::kTooLarge, "{}: the list of keys exceeds {} bytes", path, kMaxListFile);
  }
  std::istringstream file(std::move(text));
  KeyList keys;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with("./")) line.erase(0, 2);
    if (line.empty()) continue;
    if (!IsValidKey(line))
      return Fail(ErrorCode::kInvalidArgument, "{}: not a valid key: {}", path, line);
    keys.push_back(std::move(line));
  }
  if (keys.empty())
    return Fail(ErrorCode::kIo, "{}: the list has no keys, or cannot be read", path);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::optional<std::vector<ListEntry>> NamesIn(const KeyList& keys, std::string_view folder) {
  const std::string prefix = folder.empty() ? "" : std::string(folder) + '/';
  std::vector<ListEntry> names;
  auto key = std::ranges::lower_bound(keys, prefix);
  for (; key != keys.end() && key->starts_with(prefix);) {
    const std::string_view rest = std::string_view(*key).substr(prefix.size());
    const size_t slash = rest.find('/');
    names.push_back({.name = std::string(rest.substr(0, slash)), .is_folder = slash != rest.npos});
    if (slash == rest.npos) {
      ++key;
    } else {
      // Skips the other keys below the same name. In ASCII, '0' follows '/'.
      key = std::lower_bound(key, keys.end(), prefix + names.back().name + '0');
    }
  }
  if (names.empty()) return std::nullopt;
  return names;
}

bool MayBeFolder(std::string_view key) {
  const std::string_view name = NameOf(key);
  return !name.starts_with('.') && name != "zarr.json";
}

bool MayBeOfChunks(std::string_view name) {
  return name == "c" || name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace zarrfs
