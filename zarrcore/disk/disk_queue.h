// DiskQueue: asks a DiskCache on threads of its own, for a thread that must not wait for a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zarrcore/disk/disk_cache.h"

namespace zarrfs {

class DiskQueue {
 public:
  struct Question {
    uint64_t id = 0;
    std::string object = {};
    ByteRange range = {};
    /// Whose bytes are wanted; without one: which version has the range.
    std::optional<Version> version = {};
  };
  struct Answer {
    uint64_t id = 0;
    std::optional<Version> version = {};  // none: nothing of it is here
    uint64_t offset = 0;
    std::vector<std::byte> bytes = {};  // if a version's were asked for
  };

  /// `on_answer` is called on another thread once there is an answer. The cache and the threads
  /// outlive this: a disk that does not answer holds up nobody.
  DiskQueue(std::unique_ptr<DiskCache> cache, std::function<void()> on_answer);
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  /// There will be an answer, unless the disk gives none.
  void Ask(Question question);
  /// Those that have come since the last call.
  [[nodiscard]] std::vector<Answer> Take();
  /// Writes the bytes when there is time; not if too many wait already.
  void Keep(std::string object, Version version, uint64_t begin, std::vector<std::byte> bytes);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
