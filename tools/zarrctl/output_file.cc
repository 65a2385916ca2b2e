#include "tools/zarrctl/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "zarrcore/os/read_write.h"
#include "zarrcore/os/removal.h"

namespace zarrfs::ctl {
namespace {

constexpr std::string_view kPartial = ".zarrctl-partial-";
constexpr int kMaxPartialNames = 8;  // the maximum number of names that are tried to create a file

constexpr size_t kBufferBytes = size_t{1} << 20;

Result<void> WriteToFile(const Descriptor& file, const std::string& path,
                         std::span<const std::byte> bytes) {
  if (WriteAll(file.get(), bytes)) return {};
  return Fail(FromErrno(errno), "{}: {}", path, ErrnoText(errno));
}

// Locks the file until it is closed. False if another process holds the lock or the file system has
// no locks.
bool Lock(int fd) {
  struct flock all {};
  all.l_type = F_WRLCK;
  return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

}  // namespace

bool IsPartialFile(std::string_view name) { return name.starts_with(kPartial); }

std::string NameOfPartialFile() {
  static std::atomic<uint64_t> number = 0;
  static const uint64_t process = [] {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) < 0) random = static_cast<uint64_t>(getpid());
    return random;
  }();
  return fmt::format("{}{:016x}-{}", kPartial, process, number++);
}

Result<OutputFile> OutputFile::Create(const std::string& folder) {
  for (int attempt = 1;; ++attempt) {
    std::string path = folder + "/" + NameOfPartialFile();
    Descriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd) {
      return Fail(FromErrno(errno), "cannot write to {}: {}", folder, ErrnoText(errno));
    }
    // RemoveAbandonedFiles() of another process skips locked files, but may have removed this file
    // before it was locked.
    (void)Lock(fd.get());
    struct stat status {};
    const bool is_there = fstat(fd.get(), &status) == 0 && status.st_nlink > 0;
    if (is_there || attempt == kMaxPartialNames) return OutputFile(std::move(fd), std::move(path));
  }
}

void RemoveAbandonedFiles(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!IsPartialFile(entry->path().filename().string())) continue;
    const Descriptor fd(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const bool is_file = fd && fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && Lock(fd.get())) RemoveFile(AT_FDCWD, path.c_str());
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, "")),
      buffer_(std::move(other.buffer_)),
      written_(other.written_) {}

OutputFile::~OutputFile() {
  if (!path_.empty()) RemoveFile(AT_FDCWD, path_.c_str());
}

Result<void> OutputFile::Flush() {
  auto done = WriteToFile(fd_, path_, std::as_bytes(std::span(buffer_)));
  if (!done) return done;
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> OutputFile::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  if (bytes.size() < kBufferBytes) {
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  if (auto done = WriteToFile(fd_, path_, bytes); !done) return done;
  written_ += bytes.size();
  return {};
}

Result<void> OutputFile::ShrinkTo(uint64_t size) {
  if (auto flushed = Flush(); !flushed) return flushed;
  if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0 ||
      lseek(fd_.get(), static_cast<off_t>(size), SEEK_SET) < 0) {
    return Fail(FromErrno(errno), "{}: {}", path_, ErrnoText(errno));
  }
  written_ = size;
  return {};
}

Result<void> OutputFile::CommitAs(const std::string& path) {
  if (auto flushed = Flush(); !flushed) return flushed;
  if (fsync(fd_.get()) != 0 || rename(path_.c_str(), path.c_str()) != 0) {
    return Fail(FromErrno(errno), "{}: {}", path, ErrnoText(errno));
  }
  path_.clear();
  return {};
}

Result<void> WriteFile(const std::string& partial_folder, const std::string& path,
                       std::string_view bytes) {
  auto file = OutputFile::Create(partial_folder);
  if (!file) return Fail(file);
  if (auto written = file->Append(bytes); !written) return written;
  return file->CommitAs(path);
}

}  // namespace zarrfs::ctl
