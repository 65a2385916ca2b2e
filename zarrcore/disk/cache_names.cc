#include "zarrcore/disk/cache_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

#include "zarrcore/disk/disk_entry.h"
#include "zarrcore/os/folder_names.h"
#include "zarrcore/os/read_write.h"

namespace zarrfs {
namespace {

constexpr const char* kTag = "CACHEDIR.TAG";
// The contents of CACHEDIR.TAG. The first line is the same for all programs that write this file;
// the second line identifies zarrfs.
constexpr std::string_view kTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Made by zarrfs for its option disk_cache=, which removes files in this folder.\n"
    "# Backup programs leave it out: see https://bford.info/cachedir/\n";

bool IsCacheName(std::string_view name) {
  return name == kNewFiles || name == kTaken || name == kTag || name == "lost+found" ||
         name == ".snapshot" || IsHexadecimal(name, 2);
}

// Returns how many bytes of kTagText the file CACHEDIR.TAG contains, or nullopt if the file has
// other contents or does not exist.
std::optional<size_t> TagIn(const Descriptor& folder) {
  const Descriptor file(openat(folder.get(), kTag, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text(kTagText.size(), '\0');
  const ssize_t length = read(file.get(), text.data(), text.size());
  if (length < 0) return std::nullopt;
  text.resize(static_cast<size_t>(length));
  // A tag with only the first line may belong to another program. An empty tag, or one that ends
  // after the start of the second line, is a truncated tag of zarrfs.
  const bool is_ours =
      kTagText.starts_with(text) && (text.empty() || text.size() > kTagText.find('\n') + 1);
  return is_ours ? std::optional(text.size()) : std::nullopt;
}

// Returns the name of a file in the folder that does not belong to the cache, or "" if all files
// belong to the cache.
std::string ForeignNameIn(const Descriptor& folder) {
  const FolderNames names =
      ReadNames(Descriptor(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (names == nullptr) return ".";
  while (const dirent* const entry = readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !IsCacheName(name)) return entry->d_name;
  }
  return "";
}

}  // namespace

std::string CacheFileName(const CacheFileNumbers& numbers) {
  const auto& [version, begin, end, size] = numbers;
  return fmt::format("{:016x}-{:x}-{:x}-{:x}", version, begin, end, size);
}

std::optional<CacheFileNumbers> ParseCacheFileName(std::string_view name) {
  CacheFileNumbers numbers = {};
  const char* at = name.data();
  const char* const last = name.data() + name.size();
  for (uint64_t& number : numbers) {
    const auto [stop, error] = std::from_chars(at, last, number, 16);
    if (error != std::errc()) return std::nullopt;
    at = stop == last ? stop : stop + 1;
  }
  const auto& [version, begin, end, size] = numbers;
  if (begin >= end || end > size || CacheFileName(numbers) != name) return std::nullopt;
  return numbers;
}

bool IsHexadecimal(std::string_view name, size_t length) {
  return name.size() == length &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> ClaimCacheFolder(const Descriptor& folder, const std::string& path) {
  const auto tag = TagIn(folder);
  if (tag == kTagText.size()) return {};
  const std::string foreign = ForeignNameIn(folder);
  if (!foreign.empty() || (!tag && faccessat(folder.get(), kTag, F_OK, AT_SYMLINK_NOFOLLOW) == 0)) {
    return Fail(ErrorCode::kInvalidArgument,
                "disk_cache={}: this folder has other files ('{}'): choose another folder, for "
                "example disk_cache={}/zarrfs",
                path, foreign.empty() ? kTag : foreign, path);
  }
  const Descriptor file(
      openat(folder.get(), kTag, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool is_marked = file && WriteAll(file, 0, std::as_bytes(std::span(kTagText)));
  // A full disk is not an error: the tag is written at a later start.
  if (!is_marked && errno != ENOSPC && errno != EDQUOT) {
    return Fail(FromErrno(errno), "disk_cache={}: not writable: {}", path, ErrnoText(errno));
  }
  return {};
}

}  // namespace zarrfs
