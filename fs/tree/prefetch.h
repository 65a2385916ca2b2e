// Prefetch: pushes chunk files to the kernel before they are requested.
//
// Chunks of slow stores are instead fetched into this process (FetchAhead).
//
// Prefetching starts only after the reader that triggered it has its answer. Only one thread
// prefetches at a time. No thread prefetches while several readers are served, because the readers
// need the threads more. Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "fs/ids/node_table.h"
#include "fs/tree/contents.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/content/fetch_ahead.h"

namespace zarrfs {

/// Detects readers that read chunk files in the order of a listing, and decides how many files to
/// prefetch for them.
///
/// The kernel reads ahead within a file, but chunk files are small, so a program that reads them
/// one after another waits for each. After three files in order, the following files are
/// prefetched; their number doubles each time all of them have been read. For readers in any other
/// order, nothing is prefetched. Thread-safe.
class ReadingOrder {
 public:
  /// Records that a file was read from beginning to end. `folder` identifies the array and encoding
  /// of the file. `place` is the position of the file in the order of a listing; views may leave
  /// gaps. Returns how many of the following files should be prefetched.
  [[nodiscard]] size_t OnRead(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const MutexLock lock(part.mutex);
    Stream* stream = nullptr;
    for (Stream& each : part.streams) {
      if (each.folder != folder) continue;
      if (place >= each.begin && place < each.end) return 0;
      const bool is_next = each.is_anywhere || place - each.end < kMaxGap;
      if (is_next && (stream == nullptr || !each.is_anywhere)) stream = &each;
    }
    if (stream == nullptr) {
      stream = &part.streams[part.oldest++ % part.streams.size()];
      *stream = {folder, place, place + 1, false, 0};
      return 0;
    }
    stream->begin = place;
    stream->end = place + 1;
    stream->is_anywhere = false;
    if (++stream->steps < kMinSteps) return 0;
    return size_t{1} << std::min(stream->steps - kMinSteps, kMaxDoublings);
  }

  /// Returns the place after the last file that the reader of `place` has read or that was
  /// prefetched for it. The reader may have continued since `place`.
  [[nodiscard]] uint64_t NextPlace(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const MutexLock lock(part.mutex);
    const Stream* const stream = Find(part, folder, place);
    return stream == nullptr ? place + 1 : stream->end;
  }

  /// Records that the files up to `last` were prefetched for the reader of `place`. `is_end` is
  /// true if no file follows `last`, so the reader will continue elsewhere.
  void OnPrefetched(uint64_t folder, uint64_t place, uint64_t last, bool is_end) {
    Part& part = PartOf(folder);
    const MutexLock lock(part.mutex);
    if (Stream* const stream = Find(part, folder, place)) {
      stream->end = std::max(stream->end, last + 1);
      stream->is_anywhere = is_end;
    }
  }

  /// Pauses prefetching for the reader of `place`. Call if prefetching is useless now: either other
  /// readers are active, or the kernel does not accept the files because their names were not
  /// looked up.
  void Pause(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const MutexLock lock(part.mutex);
    if (Stream* const stream = Find(part, folder, place)) stream->steps = -kPausedSteps;
  }

 private:
  static constexpr int kMinSteps = 3;      // the number of files in order before the first prefetch
  static constexpr int kPausedSteps = 64;  // the length of a pause, in files read in order
  static constexpr int kMaxDoublings = 12;
  static constexpr uint64_t kMaxGap = 16;  // a reader in order skips fewer places than this

  // The state of a reader. The files in [begin, end) were read or prefetched. The next read is at
  // `end` or a little later, or at any place if `is_anywhere`.
  struct Stream {
    uint64_t folder = UINT64_MAX;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool is_anywhere = false;
    int steps = 0;  // the number of files read in order; negative while paused
  };
  struct Part {
    Mutex mutex;
    std::array<Stream, 4> streams GUARDED_BY(mutex);
    size_t oldest GUARDED_BY(mutex) = 0;
  };

  Part& PartOf(uint64_t folder) {
    return parts_[(folder * 0x9e3779b97f4a7c15ULL >> 32) % parts_.size()];
  }
  // Returns the stream that has read `place`, and perhaps a few files after it; null if it is
  // unknown.
  static Stream* Find(Part& part, uint64_t folder, uint64_t place) REQUIRES(part.mutex) {
    const auto found = std::ranges::find_if(part.streams, [&](const Stream& stream) {
      return stream.folder == folder && place < stream.end &&
             (place >= stream.begin || stream.begin - place < kMaxAhead);
    });
    return found == part.streams.end() ? nullptr : &*found;
  }
  static constexpr uint64_t kMaxAhead = 256;  // the maximum number of places that a prefetch covers

  std::array<Part, 8> parts_;
};

class Prefetch {
 public:
  /// Pushes all bytes of a file. Returns false if the kernel does not know the file.
  using Offer = std::function<bool(NodeId file, std::span<const std::byte> bytes)>;

  explicit Prefetch(const Contents& contents);

  /// Starts pushing files through `offer`. Call once; without this call no file is pushed.
  void Start(Offer offer);
  /// Stops pushing; waits at most one second for a push in progress.
  void Stop();

  /// Marks a running request that reads chunks. Must exist while the bytes are read.
  class Reading {
   public:
    explicit Reading(Prefetch& prefetch) : count_(prefetch.reading_) { ++count_; }
    ~Reading() { --count_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<uint32_t>& count_;
  };

  /// Prefetches the files that follow a chunk file, after a request that read up to `size` bytes
  /// from the beginning of the chunk file. Call after the reply was sent. May take as long as
  /// reading kMaxBytes.
  void AfterRead(const Target& chunk, const ChunkLocation& location, size_t size);

 private:
  // The maximum size of a prefetched file, and the maximum number of bytes that one prefetch
  // pushes.
  static constexpr size_t kMaxFileBytes = size_t{64} << 10;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  void Fill(const Target& chunk, const ChunkLocation& location, size_t count);

  const Contents& contents_;
  Offer offer_;
  std::unique_ptr<std::byte[]> buffer_;  // owned by the thread that has set is_busy_
  std::atomic<bool> may_start_ = false;
  std::atomic<bool> is_busy_ = false;
  std::atomic<uint32_t> reading_ = 0;
  ReadingOrder order_;
  std::optional<FetchAhead> ahead_;  // set for slow stores
};

}  // namespace zarrfs
