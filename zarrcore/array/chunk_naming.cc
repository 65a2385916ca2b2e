#include "zarrcore/array/chunk_naming.h"

namespace zarrfs {

std::string ChunkNaming::Path(std::span<const uint64_t> coordinates) const {
  std::string path = prefix_c ? "c" : "";
  if (coordinates.empty() && !prefix_c) path = "0";
  for (const uint64_t coordinate : coordinates) {
    if (!path.empty()) path += separator;
    path += std::to_string(coordinate);
  }
  return path + suffix;
}

bool ChunkNaming::ParsePrefix(std::span<const uint64_t> counts, std::string_view path,
                              ChunkCoordinates& at, size_t& level) const {
  level = 0;
  for (bool in_array = true;; in_array = false) {
    const size_t slash = path.find('/');
    if (!Parse(counts, path.substr(0, slash), in_array, at, level)) return false;
    const bool is_end = slash == std::string_view::npos;
    if (is_end || level == counts.size()) return is_end;
    path.remove_prefix(slash + 1);
  }
}

bool ChunkNaming::ParsePath(std::span<const uint64_t> counts, std::string_view path,
                            ChunkCoordinates& at) const {
  size_t level = 0;
  return ParsePrefix(counts, path, at, level) && level == counts.size();
}

bool ChunkNaming::Parse(std::span<const uint64_t> counts, std::string_view name, bool in_array,
                        ChunkCoordinates& at, size_t& level) const {
  const size_t rank = counts.size();
  // Only the last component of a chunk's path has the suffix.
  const bool is_leaf = rank == 0 || !nested() || (level + 1 == rank && !(in_array && prefix_c));
  if (is_leaf && !suffix.empty()) {
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
  }
  if (in_array && prefix_c) {
    if (!name.starts_with('c')) return false;
    name.remove_prefix(1);
    if (nested() || rank == 0) return name.empty();
    if (!name.starts_with('.')) return false;
    name.remove_prefix(1);
  }
  if (rank == 0) return in_array && !prefix_c && name == "0";
  const size_t wanted = nested() ? level + 1 : rank;
  while (level < wanted) {
    const bool is_last = level + 1 == wanted;
    const size_t end = is_last ? name.size() : name.find('.');
    if (end == std::string_view::npos) return false;
    const auto value = ParseCoordinate(name.substr(0, end), counts[level]);
    if (!value) return false;
    at[level++] = *value;
    name.remove_prefix(is_last ? end : end + 1);
  }
  return true;
}

}  // namespace zarrfs
