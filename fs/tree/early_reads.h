// EarlyReads: whether those who look chunk files up go on to read them.
//
// Between the look-up of a name and the READ there is time in which the bytes can be handed to the
// kernel, so that nobody asks for them. That is worth while if they are read at all, and if they
// come before the READ does. Both are found out from the files looked up last: once some were read,
// the next ones are offered, but for one now and then, which shows when nobody reads them any more.
// Files are known by the numbers of their inodes, of which 0 is none. Thread-safe.
#ifndef FS_TREE_EARLY_READS_H_
#define FS_TREE_EARLY_READS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace zarrfs {

class EarlyReads {
 public:
  /// The name of file `id` was answered. Whether its bytes are to be offered to the kernel now.
  [[nodiscard]] bool OnLookup(uint64_t id) {
    const std::lock_guard lock(mutex_);
    File& file = files_[next_++ % files_.size()];
    if (file.was_offered && !file.was_read) credit_ = std::min(credit_ + 1, kMaxCredit);
    if (file.id != 0 && !file.was_offered && !file.was_read) read_ = 0;
    file = {id, false, false};
    if (pause_ > 0 && --pause_ == 0) credit_ = kCredit;
    return pause_ == 0 && read_ >= kEnough && next_ % kNotOffered != 0;
  }

  /// Somebody asks for the bytes of a file.
  void OnRead(uint64_t id) {
    const std::lock_guard lock(mutex_);
    File* const file = Find(id);
    if (file == nullptr || file->was_read) return;
    file->was_read = true;
    ++read_;
    if (file->was_offered) OnLate();
  }

  /// False once somebody has asked for the bytes of a file that was looked up a moment ago.
  [[nodiscard]] bool IsEarly(uint64_t id) {
    const std::lock_guard lock(mutex_);
    const File* const file = Find(id);
    return file != nullptr && !file->was_read;
  }

  /// The bytes were offered. `was_taken`: the kernel knew the file.
  void OnOffered(uint64_t id, bool was_taken) {
    const std::lock_guard lock(mutex_);
    File* const file = Find(id);
    if (was_taken && file != nullptr && !file->was_read) {
      file->was_offered = true;
    } else {
      OnLate();
    }
  }

 private:
  static constexpr uint64_t kEnough = 4;       // files that are read before one is offered
  static constexpr uint64_t kNotOffered = 16;  // one of so many
  static constexpr int kCredit = 16;           // offers that may come too late
  static constexpr int kMaxCredit = 32;
  static constexpr int kPause = 256;  // look-ups, when too many did

  struct File {
    uint64_t id = 0;
    bool was_offered = false;
    bool was_read = false;
  };

  File* Find(uint64_t id) {
    const auto file = std::ranges::find(files_, id, &File::id);
    return file == files_.end() ? nullptr : &*file;
  }

  void OnLate() {
    if (pause_ == 0 && --credit_ == 0) pause_ = kPause;
  }

  std::mutex mutex_;  // guards all
  std::array<File, 16> files_;
  uint64_t next_ = 0;
  uint64_t read_ = 0;  // files since the last one that nobody read
  int credit_ = kCredit;
  int pause_ = 0;
};

}  // namespace zarrfs

#endif  // FS_TREE_EARLY_READS_H_
