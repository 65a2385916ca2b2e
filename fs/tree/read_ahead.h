// ReadAhead: which readers take chunk files in the order of a listing, and how far ahead of them to
// read.
//
// The kernel reads ahead in a file, but a chunk file is small, and who reads one after the other
// waits for each. What follows is given to the kernel together with the file that was asked for:
// nothing at first, then twice as much each time all of it was wanted. Readers in another order get
// nothing. Thread-safe.
#ifndef FS_TREE_READ_AHEAD_H_
#define FS_TREE_READ_AHEAD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace zarrfs {

class ReadAhead {
 public:
  /// A file was asked for, from its beginning to its end. `folder`: a number of its array and view.
  /// `place`: of the file in the order of a listing; the others may leave gaps. Gives how many of
  /// the files that follow are to be read ahead; 0 for none.
  [[nodiscard]] size_t OnRead(uint64_t folder, uint64_t place) {
    const std::lock_guard lock(mutex_);
    Stream* stream = nullptr;
    for (Stream& each : streams_) {
      if (each.folder != folder) continue;
      const bool is_next = !each.next || place - *each.next < kGap;
      if (is_next && (stream == nullptr || each.next)) stream = &each;
    }
    if (stream == nullptr) {
      stream = &streams_[oldest_++ % streams_.size()];
      *stream = {folder, place + 1, 0};
      return 0;
    }
    stream->next = place + 1;
    ++stream->steps;
    if (stream->steps < kSteps) return 0;
    return size_t{1} << std::min(stream->steps - kSteps, kMaxDoublings);
  }

  /// The file at `last` is the last one that was read ahead. `is_end`: nothing follows it that
  /// could be, and the reader goes on somewhere else.
  void OnReadAhead(uint64_t folder, uint64_t place, uint64_t last, bool is_end) {
    const std::lock_guard lock(mutex_);
    if (Stream* const stream = Find(folder, place)) {
      stream->next = is_end ? std::nullopt : std::optional(last + 1);
    }
  }

  /// It is of no use now: nobody has looked up the names of the files that follow the one at
  /// `place`, so that the kernel does not take them, or there are others to answer. Nothing for a
  /// while.
  void Pause(uint64_t folder, uint64_t place) {
    const std::lock_guard lock(mutex_);
    if (Stream* const stream = Find(folder, place)) stream->steps = -kPause;
  }

 private:
  static constexpr int kSteps = 3;   // files in order before the first is read ahead
  static constexpr int kPause = 64;  // files
  static constexpr int kMaxDoublings = 12;
  static constexpr uint64_t kGap = 16;    // places without a file
  static constexpr size_t kStreams = 16;  // readers at a time

  struct Stream {
    uint64_t folder = UINT64_MAX;
    std::optional<uint64_t> next;  // the least place that comes next; nullopt: any
    int steps = 0;                 // in order
  };

  // The one that was at `place` last.
  Stream* Find(uint64_t folder, uint64_t place) {
    const auto found = std::ranges::find_if(streams_, [&](const Stream& stream) {
      return stream.folder == folder && stream.next == place + 1;
    });
    return found == streams_.end() ? nullptr : &*found;
  }

  std::mutex mutex_;  // guards all
  std::array<Stream, kStreams> streams_;
  size_t oldest_ = 0;
};

}  // namespace zarrfs

#endif  // FS_TREE_READ_AHEAD_H_
