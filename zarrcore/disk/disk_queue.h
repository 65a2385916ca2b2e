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
    /// The version whose bytes are wanted; without one, asks which version has the range.
    std::optional<Version> version = {};
  };
  struct Answer {
    uint64_t id = 0;
    std::optional<Version> version = {};  // nullopt: not cached
    uint64_t offset = 0;
    std::vector<std::byte> bytes = {};  // if the question had a version
  };

  /// `on_answer` is called on another thread when an answer is ready. The cache and the threads
  /// outlive this object, so a hung disk blocks nobody.
  DiskQueue(std::unique_ptr<DiskCache> cache, std::function<void()> on_answer);
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  /// Will be answered, unless the disk hangs.
  void Ask(Question question);
  /// The answers since the last call.
  [[nodiscard]] std::vector<Answer> Take();
  /// Writes the bytes when there is time; drops them if too many are waiting already.
  void Keep(std::string object, Version version, uint64_t begin, std::vector<std::byte> bytes);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
