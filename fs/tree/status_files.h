// StatusFiles: the folder ".zarrfs" at the root of a mount, which can be opened but is not listed
// there.
//
//   options       what is in force, one "name: value" a line
//   errors        what the store has wrong, in the words of the log, newest last
//   metrics       figures as Prometheus text, at most a tenth of a second old
//   status.json   all of the above for programs (docs/METRICS.md lists the keys)
//
// There is no message when a file is opened, so a look-up that finds another text than the last one
// makes a snapshot: an inode of its own, of exact size. It is kept while the kernel knows the
// inode, which is as long as somebody has it open; but of very many only the last kMaxSnapshots.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/ids/node_table.h"

namespace zarrfs {

class StatusFiles {
 public:
  static constexpr std::string_view kFolderName = ".zarrfs";
  static constexpr NodeId kFolderId = 2;

  /// Numbers its snapshots by the journal, which lives as long.
  explicit StatusFiles(IdJournal& journal) : journal_(journal) {}

  struct Snapshot {
    NodeId id = 0;
    std::shared_ptr<const std::string> text;
    int64_t made_ns = 0;  // wall clock
  };

  struct File {
    std::string name;
    std::function<std::string()> write;  // the text, on any thread
    /// How long a text is good. Programs that look at a name and then open it (cp) refuse a file
    /// that has become another one in between.
    std::chrono::milliseconds lasts = {};
  };
  /// All files, before the first look-up.
  template <size_t kCount>
  void Set(File (&&files)[kCount]) {
    static_assert(kFirstFile + kCount <= IdJournal::kFirstPosition, "each file needs a position");
    files_.assign(std::move_iterator(std::begin(files)), std::move_iterator(std::end(files)));
  }

  [[nodiscard]] std::vector<std::string> names() const;
  /// Whether the id is that of the folder or of a snapshot, one that is gone too.
  [[nodiscard]] static bool Has(NodeId id);

  /// nullopt if there is no such file. Each look is one that the kernel has to forget.
  [[nodiscard]] std::optional<Snapshot> Look(std::string_view name);
  /// The kernel lets go of `looks` looks that gave this id.
  void Forget(NodeId id, uint64_t looks);
  /// nullopt if it is gone.
  [[nodiscard]] std::optional<Snapshot> Find(NodeId id) const;

 private:
  static constexpr size_t kMaxSnapshots = 1024;
  static constexpr uint64_t kFirstFile = 3;  // positions: one a file

  struct Kept {
    Snapshot snapshot;
    std::chrono::steady_clock::time_point written;
    uint64_t looks = 0;  // that the kernel has not forgotten
  };
  [[nodiscard]] static NodeId IdOf(const Kept& kept) { return kept.snapshot.id; }
  // Null if there is none yet.
  [[nodiscard]] Kept* Newest(uint64_t position);

  std::vector<File> files_;
  mutable std::mutex mutex_;  // guards the rest
  IdJournal& journal_;
  // Oldest first: of each file the newest, and those that the kernel knows.
  std::deque<Kept> snapshots_;
};

}  // namespace zarrfs
