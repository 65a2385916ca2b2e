#include "zarrcore/net/secret_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxSecret = size_t{64} << 10;

std::string ReadUpTo(const Descriptor& file, size_t max) {
  std::string text(max, '\0');
  size_t length = 0;
  while (length < max) {
    const ssize_t count =
        TEMP_FAILURE_RETRY(read(file.get(), text.data() + length, text.size() - length));
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  text.resize(length);
  return text;
}

// True if the path names a file descriptor, whose number may later belong to another file.
bool IsDescriptor(std::string_view path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/proc/") || path == "/dev/stdin";
}

SecretFile ReadFirst(const std::string& path) {
  SecretFile found;
  if (path.empty()) return found;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat info = {};
  if (!file || fstat(file.get(), &info) != 0) return found;
  if (S_ISREG(info.st_mode) && !IsDescriptor(path)) found.owner = info.st_uid;
  found.text = ReadUpTo(file, kMaxSecret);
  return found;
}

// Reads the file at `path` again into `known`. Returns the reason if that fails, and "" otherwise.
std::string Renew(const std::string& path, SecretFile& known) {
  if (path.empty() || !known.owner) return "";
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return fmt::format("{}: {}", path, error.message());
  if (!OnlyTheyCanChange(path, *known.owner) || !OnlyTheyCanChange(real, *known.owner)) {
    return fmt::format(
        "{}: the file has changed and is not read again: users other than root and user {} may "
        "write to it, or to a folder above it",
        path, *known.owner);
  }
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info = {};
  if (!file || fstat(file.get(), &info) != 0) return fmt::format("{}: {}", path, ErrnoText(errno));
  if (!S_ISREG(info.st_mode) || info.st_uid != *known.owner) {
    return fmt::format("{}: the file has changed and is not read again: expected a file of user {}",
                       path, *known.owner);
  }
  std::string text = ReadUpTo(file, kMaxSecret);
  if (text.empty())
    return fmt::format("{}: the file is empty; requests still send its earlier contents", path);
  known.text = std::move(text);
  return "";
}

std::string VersionOf(const std::string& path) {
  struct stat info = {};
  if (path.empty() || IsDescriptor(path) || stat(path.c_str(), &info) != 0 ||
      !S_ISREG(info.st_mode)) {
    return "";
  }
  return fmt::format("{}:{}:{}:{}.{}:{}.{}\n", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec,
                     info.st_ctim.tv_nsec);
}

}  // namespace

bool OnlyTheyCanChange(std::filesystem::path path, uint32_t owner) {
  for (;; path = path.parent_path()) {
    struct stat info = {};
    if (lstat(path.c_str(), &info) != 0) return false;
    const bool is_theirs = info.st_uid == 0 || info.st_uid == owner;
    const bool others_may_write = !S_ISLNK(info.st_mode) && (info.st_mode & 022) != 0;
    // In a folder with the sticky bit, such as /tmp, other users cannot replace files of root or
    // `owner`.
    const bool is_sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    if (!is_theirs || (others_may_write && !is_sticky)) return false;
    if (!path.has_relative_path()) return true;
  }
}

SecretTexts ReadSecretFiles(const RemoteOptions& options) {
  // The version is determined before the contents are read, so a later change is noticed.
  std::string version = VersionOfSecrets(options);
  return {.are_read = true,
          .headers = ReadFirst(options.headers_file),
          .query = ReadFirst(options.query_file),
          .version = std::move(version)};
}

std::string RenewSecrets(const RemoteOptions& options, SecretTexts& secrets) {
  std::string version = VersionOfSecrets(options);
  if (version == secrets.version) return "";
  secrets.version = std::move(version);
  std::string problem = Renew(options.headers_file, secrets.headers);
  std::string of_query = Renew(options.query_file, secrets.query);
  return problem.empty() ? of_query : problem;
}

std::string VersionOfSecrets(const RemoteOptions& options) {
  return VersionOf(options.headers_file) + VersionOf(options.query_file);
}

void Erase(SecretTexts& secrets) {
  for (std::string* text : {&secrets.headers.text, &secrets.query.text}) {
    explicit_bzero(text->data(), text->size());
    text->clear();
  }
}

}  // namespace zarrfs
