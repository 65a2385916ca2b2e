// StatusFiles: the folder ".zarrfs" at the root of a mount, which can be opened but is not listed.
//
//   options       the current options, one "name: value" per line
//   errors        problems of the store, as in the log, newest last
//   metrics       figures in the Prometheus format, at most a tenth of a second old
//   status.json   all of the above for programs (docs/METRICS.md lists the keys)
//
// The kernel sends no message when a file is opened. So a lookup that finds changed contents makes
// a snapshot, which has its own inode and an exact size. A snapshot is kept while the kernel knows
// its inode, for example because a program has it open, up to the latest kMaxSnapshots.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/ids/node_table.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {

class StatusFiles {
 public:
  static constexpr std::string_view kFolderName = ".zarrfs";
  static constexpr NodeId kFolderId = 2;

  /// Takes the numbers of snapshots from `journal`, which must outlive this object.
  explicit StatusFiles(IdJournal& journal) : journal_(journal) {}

  struct Snapshot {
    NodeId id = 0;
    std::shared_ptr<const std::string> text;
    int64_t made_ns = 0;  // when the snapshot was made, by the wall clock
  };

  struct File {
    std::string name;
    std::function<std::string()> write;  // makes the contents; called on any thread
    /// How long the contents are reused. Programs that look up a name and then open it (cp) refuse
    /// a file that was replaced in between.
    std::chrono::milliseconds lasts = {};
  };
  /// Sets all files; call before the first lookup.
  template <size_t kCount>
  void Set(File (&&files)[kCount]) {
    static_assert(kFirstFile + kCount <= IdJournal::kFirstPosition, "each file needs a position");
    files_.assign(std::move_iterator(std::begin(files)), std::move_iterator(std::end(files)));
  }

  [[nodiscard]] std::vector<std::string> names() const;
  /// True if the id is that of the folder or of a snapshot, including dropped snapshots.
  [[nodiscard]] static bool Has(NodeId id);

  /// Looks up a file; nullopt if it does not exist. Each successful lookup must later be passed to
  /// Forget().
  [[nodiscard]] std::optional<Snapshot> Look(std::string_view name);
  /// Records that the kernel has forgotten `looks` lookups that returned this id.
  void Forget(NodeId id, uint64_t looks);
  /// Returns the snapshot with this id; nullopt if it was dropped.
  [[nodiscard]] std::optional<Snapshot> Find(NodeId id) const;

 private:
  static constexpr size_t kMaxSnapshots = 1024;
  static constexpr uint64_t kFirstFile = 3;  // the id position of the first file; each file has one

  struct Kept {
    Snapshot snapshot;
    std::chrono::steady_clock::time_point written;
    uint64_t looks = 0;  // the number of lookups that the kernel has not forgotten
  };
  [[nodiscard]] static NodeId IdOf(const Kept& kept) { return kept.snapshot.id; }
  // Returns the newest snapshot of the file with this id position; null if none was made.
  [[nodiscard]] Kept* Newest(uint64_t position) REQUIRES(mutex_);

  std::vector<File> files_;
  mutable Mutex mutex_;
  IdJournal& journal_ GUARDED_BY(mutex_);
  // The newest snapshot of each file, and the snapshots that the kernel knows, oldest first.
  std::deque<Kept> snapshots_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
