// StatusFiles: the folder ".zarrfs" at the root of a mount, which can be opened but is not listed.
//
//   options       the options in force, one "name: value" per line
//   errors        problems of the store, as in the log, newest last
//   metrics       figures as Prometheus text, at most a tenth of a second old
//   status.json   all of the above for programs (docs/METRICS.md lists the keys)
//
// No message announces that a file is opened, so a lookup that finds a changed text makes a
// snapshot: an inode of its own, of exact size. It is kept while the kernel knows the inode, that
// is, while somebody has it open, up to the latest kMaxSnapshots. Thread-safe.
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

  /// Numbers its snapshots by the journal, which must outlive this object.
  explicit StatusFiles(IdJournal& journal) : journal_(journal) {}

  struct Snapshot {
    NodeId id = 0;
    std::shared_ptr<const std::string> text;
    int64_t made_ns = 0;  // wall clock
  };

  struct File {
    std::string name;
    std::function<std::string()> write;  // writes the text, on any thread
    /// How long a text is reused. Programs that look up a name and then open it (cp) refuse a file
    /// that has been replaced in between.
    std::chrono::milliseconds lasts = {};
  };
  /// Sets all files; call before the first lookup.
  template <size_t kCount>
  void Set(File (&&files)[kCount]) {
    static_assert(kFirstFile + kCount <= IdJournal::kFirstPosition, "each file needs a position");
    files_.assign(std::move_iterator(std::begin(files)), std::move_iterator(std::end(files)));
  }

  [[nodiscard]] std::vector<std::string> names() const;
  /// Whether the id is that of the folder or of a snapshot, including dropped ones.
  [[nodiscard]] static bool Has(NodeId id);

  /// nullopt if the file does not exist. The kernel must forget each successful look.
  [[nodiscard]] std::optional<Snapshot> Look(std::string_view name);
  /// The kernel forgets `looks` looks that returned this id.
  void Forget(NodeId id, uint64_t looks);
  /// nullopt if it was dropped.
  [[nodiscard]] std::optional<Snapshot> Find(NodeId id) const;

 private:
  static constexpr size_t kMaxSnapshots = 1024;
  static constexpr uint64_t kFirstFile = 3;  // positions: one per file

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
  // Oldest first: the newest of each file, and those that the kernel knows.
  std::deque<Kept> snapshots_;
};

}  // namespace zarrfs
