// Looker: a thread that reads while something happens to its mount.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace zarrfs {

/// Stats, opens and reads chunks by their paths in a loop, and records the results. Drops the pages
/// of each file after reading it, so the next read is sent to the worker.
class Looker {
 public:
  Looker(const std::filesystem::path& array, const std::map<std::string, std::string>& chunks)
      : array_(array), chunks_(chunks), thread_([this] { Look(); }) {}
  ~Looker() { Stop(); }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  std::set<int> Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return errors_;
  }
  [[nodiscard]] int right() const { return right_; }
  [[nodiscard]] int wrong() const { return wrong_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  void Note(int error) {
    errors_.insert(error);
    ++failed_;
  }
  void Look() {
    std::string bytes(8192, '\0');
    while (!stop_) {
      for (const auto& [name, content] : chunks_) {
        const std::string path = array_ / name;
        struct stat info = {};
        if (stat(path.c_str(), &info) != 0) Note(errno);
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
          Note(errno);
          continue;
        }
        const ssize_t have = read(fd, bytes.data(), bytes.size());
        const int error = errno;
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
        if (have < 0) {
          Note(error);
        } else if (std::string_view(bytes).substr(0, static_cast<size_t>(have)) == content) {
          ++right_;
        } else {
          ++wrong_;
        }
      }
    }
  }

  const std::filesystem::path array_;
  const std::map<std::string, std::string>& chunks_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> right_ = 0;
  std::atomic<int> wrong_ = 0;
  std::atomic<int> failed_ = 0;
  std::set<int> errors_;
  std::thread thread_;
};

}  // namespace zarrfs
