// Prefetch: hands the kernel chunk files before they are asked for.
//
// Never before the reader that made it happen has its answer. One thread does it at a time, and
// none while several readers are served: threads are better used for those. Thread-safe.
#ifndef FS_TREE_PREFETCH_H_
#define FS_TREE_PREFETCH_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "fs/tree/contents.h"
#include "fs/tree/node_table.h"
#include "fs/tree/reading_order.h"

namespace zarrfs {

class Prefetch {
 public:
  /// Hands over all bytes of a file. False if the kernel does not know the file.
  using Offer = std::function<bool(NodeId file, std::span<const std::byte> bytes)>;

  explicit Prefetch(const Contents& contents) : contents_(contents) {}

  /// Once. Without it nothing is prefetched.
  void Start(Offer offer);
  /// Nothing more is handed over; waits a second at most for what is being handed over.
  void Stop();

  /// A request that reads chunks; lives while the bytes are found.
  class Reading {
   public:
    explicit Reading(Prefetch& prefetch) : count_(prefetch.reading_) { ++count_; }
    ~Reading() { --count_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<uint32_t>& count_;
  };

  /// A chunk file was read from its beginning, at most `size` bytes of it, and the reader has its
  /// answer. May take as long as reading kMaxBytes.
  void AfterRead(const Target& chunk, const ChunkLocation& location, size_t size);

 private:
  // Files of at most this size, and so many bytes of them at a time.
  static constexpr size_t kMaxFileBytes = size_t{64} << 10;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  void Fill(const Target& chunk, const ChunkLocation& location, size_t count);

  const Contents& contents_;
  Offer offer_;
  std::unique_ptr<std::byte[]> buffer_;  // of whoever has set is_busy_
  std::atomic<bool> may_start_ = false;
  std::atomic<bool> is_busy_ = false;
  std::atomic<uint32_t> reading_ = 0;
  ReadingOrder order_;
};

}  // namespace zarrfs

#endif  // FS_TREE_PREFETCH_H_
