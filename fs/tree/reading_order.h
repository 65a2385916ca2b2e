// ReadingOrder: finds readers that take chunk files in the order of a listing, and says how many
// files to prefetch for them.
//
// The kernel reads ahead in a file, but a chunk file is small, and who reads one after the other
// waits for each. After three files in order the ones that follow are prefetched, twice as many
// each time all of them were wanted. Readers in any other order get nothing. Thread-safe.
#ifndef FS_TREE_READING_ORDER_H_
#define FS_TREE_READING_ORDER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace zarrfs {

class ReadingOrder {
 public:
  /// A file was read from its beginning to its end. `folder`: a number of its array and encoding.
  /// `place`: of the file in the order of a listing; others may leave gaps. Returns how many of the
  /// files that follow are worth prefetching.
  [[nodiscard]] size_t OnRead(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const std::lock_guard lock(part.mutex);
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

  /// Where the reader of `place`, who has gone on meanwhile, has got to.
  [[nodiscard]] uint64_t NextPlace(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const std::lock_guard lock(part.mutex);
    const Stream* const stream = Find(part, folder, place);
    return stream == nullptr ? place + 1 : stream->end;
  }

  /// Files up to the one at `last` were prefetched for the reader of `place`. `is_end`: nothing
  /// follows it here, and the reader goes on somewhere else.
  void OnPrefetched(uint64_t folder, uint64_t place, uint64_t last, bool is_end) {
    Part& part = PartOf(folder);
    const std::lock_guard lock(part.mutex);
    if (Stream* const stream = Find(part, folder, place)) {
      stream->end = std::max(stream->end, last + 1);
      stream->is_anywhere = is_end;
    }
  }

  /// Prefetching is of no use now: nobody has looked up the names of the files that follow `place`,
  /// so that the kernel does not take them, or there are other readers. No more for a while.
  void Pause(uint64_t folder, uint64_t place) {
    Part& part = PartOf(folder);
    const std::lock_guard lock(part.mutex);
    if (Stream* const stream = Find(part, folder, place)) stream->steps = -kPausedSteps;
  }

 private:
  static constexpr int kMinSteps = 3;      // files in order before the first is prefetched
  static constexpr int kPausedSteps = 64;  // files
  static constexpr int kMaxDoublings = 12;
  static constexpr uint64_t kMaxGap = 16;  // places without a file

  // A reader. Files in [begin, end) were read or prefetched; the next one is at `end` or a little
  // later, or anywhere.
  struct Stream {
    uint64_t folder = UINT64_MAX;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool is_anywhere = false;
    int steps = 0;  // in order
  };
  struct Part {
    std::mutex mutex;  // guards the rest
    std::array<Stream, 4> streams;
    size_t oldest = 0;
  };

  Part& PartOf(uint64_t folder) {
    return parts_[(folder * 0x9e3779b97f4a7c15ULL >> 32) % parts_.size()];
  }
  // The stream that read `place`, and perhaps a few files since.
  static Stream* Find(Part& part, uint64_t folder, uint64_t place) {
    const auto found = std::ranges::find_if(part.streams, [&](const Stream& stream) {
      return stream.folder == folder && place < stream.end &&
             (place >= stream.begin || stream.begin - place < kMaxAhead);
    });
    return found == part.streams.end() ? nullptr : &*found;
  }
  static constexpr uint64_t kMaxAhead = 256;  // places that a reader gains on a prefetch

  std::array<Part, 8> parts_;
};

}  // namespace zarrfs

#endif  // FS_TREE_READING_ORDER_H_
