// DiskQueue: calls a DiskCache on background threads, on behalf of a thread that must not wait for
// a disk.
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
  struct Request {
    uint64_t id = 0;
    std::string object = {};
    ByteRange range = {};
    /// The version of the object to read. If nullopt, no bytes are read, and the answer names a
    /// version of which the range is cached.
    std::optional<Version> version = {};
  };
  struct Answer {
    uint64_t id = 0;
    std::optional<Version> version = {};  // the version whose range is cached; nullopt if none is
    uint64_t offset = 0;
    /// The bytes of the object from `offset` on. Empty if the request named no version.
    std::vector<std::byte> bytes = {};
  };

  /// `on_answer` is called on another thread when an answer is ready, and must not call this
  /// object. The cache and the threads may outlive this object, so ~DiskQueue() does not wait for a
  /// disk that hangs.
  DiskQueue(std::unique_ptr<DiskCache> cache, std::function<void()> on_answer);
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  /// Enqueues a request. Every request is answered unless the disk hangs.
  void Ask(Request request);
  /// Returns the answers that became ready since the last call.
  [[nodiscard]] std::vector<Answer> Take();
  /// Writes bytes to the cache in the background. Drops the bytes if too many are waiting to be
  /// written.
  void Keep(std::string object, Version version, uint64_t begin, std::vector<std::byte> bytes);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
