#include "tools/zarrctl/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace zarrfs::ctl {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

Result<void> WriteAll(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Fail(FromErrno(errno), "{}: {}", path, ErrnoText(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

std::string NameOfPartialFile() {
  static std::atomic<uint64_t> number = 0;
  static const uint64_t process = [] {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) < 0) random = static_cast<uint64_t>(getpid());
    return random;
  }();
  return fmt::format(".zarrctl-partial-{:016x}-{}", process, number++);
}

Result<OutputFile> OutputFile::Create(const std::string& folder) {
  std::string path = folder + "/" + NameOfPartialFile();
  Descriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return Fail(FromErrno(errno), "{}: {}", path, ErrnoText(errno));
  return OutputFile(std::move(fd), std::move(path));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, "")),
      buffer_(std::move(other.buffer_)),
      written_(other.written_) {}

OutputFile::~OutputFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<void> OutputFile::Flush() {
  const auto done = WriteAll(fd_.get(), path_, std::as_bytes(std::span(buffer_)));
  if (!done) return done;
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> OutputFile::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    if (const auto flushed = Flush(); !flushed) return flushed;
  }
  if (bytes.size() < kBufferBytes) {
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  if (const auto done = WriteAll(fd_.get(), path_, bytes); !done) return done;
  written_ += bytes.size();
  return {};
}

Result<void> OutputFile::ShrinkTo(uint64_t size) {
  if (const auto flushed = Flush(); !flushed) return flushed;
  if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0 ||
      lseek(fd_.get(), static_cast<off_t>(size), SEEK_SET) < 0) {
    return Fail(FromErrno(errno), "{}: {}", path_, ErrnoText(errno));
  }
  written_ = size;
  return {};
}

Result<void> OutputFile::CommitAs(const std::string& path) {
  if (const auto flushed = Flush(); !flushed) return flushed;
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
  if (const auto written = file->Append(bytes); !written) return written;
  return file->CommitAs(path);
}

}  // namespace zarrfs::ctl
