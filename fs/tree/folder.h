// Folder: an open folder of a mount, and its listing.
//
// A listing consists of "." and "..", followed by the entries of each part of the folder. Each part
// numbers its entries by its own positions. The kernel's cookie for an entry is the position plus
// the offset of the part. Cookies of small folders are small, so 32-bit programs can use them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "fs/tree/entry.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// A part of the entries of a folder.
class FolderPart {
 public:
  virtual ~FolderPart() = default;

  /// Loads the data that List() needs, unless they are already loaded. If Prepare() fails, opening
  /// the folder fails.
  [[nodiscard]] virtual Result<void> Prepare() { return {}; }

  /// Adds the entries from position `from` on, each with the position after it. Returns false if an
  /// entry does not fit, or if an entry was added and the next entry may take long.
  [[nodiscard]] virtual Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) = 0;

  /// The validity of everything listed so far.
  [[nodiscard]] virtual Validity validity() const { return {}; }
};

/// Tracks which listings in the kernel's cache are current.
///
/// The kernel caches a listing, and drops it when the folder is opened again, unless the reply says
/// that the cached listing is current. A cached listing is current if all handles that produced it
/// were opened, and read, at the current change_count() of the store. Thread-safe.
class ListingTable {
 public:
  /// Records that a handle of the folder was opened at change_count() `count`, or 0 if the count is
  /// unknown. Returns true if the kernel's cached listing is current. Each Open() must be followed
  /// by a Close().
  [[nodiscard]] bool Open(uint64_t folder, uint64_t count) {
    const MutexLock lock(mutex_);
    if (folders_.size() >= kMaxFolders && !folders_.contains(folder)) {
      std::erase_if(folders_, [](const auto& entry) { return entry.second.handles == 0; });
    }
    Folder& state = folders_[folder];
    if (state.handles++ == 0) {
      state.is_mixed = false;
      state.opened = count;
    } else if (state.opened != count) {
      state.is_mixed = true;
    }
    if (state.is_mixed || state.current != count) state.current = 0;
    return state.current != 0;
  }

  /// Closes a handle that was never listed, so the kernel's cached listing has not changed.
  void Close(uint64_t folder) {
    const MutexLock lock(mutex_);
    const auto found = folders_.find(folder);
    if (found == folders_.end()) return;
    if (--found->second.handles == 0 && found->second.current == 0) folders_.erase(found);
  }

  /// Closes a handle that was opened when change_count() was `count`. `is_current` is true if
  /// everything that the handle listed was still correct at `count`.
  void Close(uint64_t folder, uint64_t count, bool is_current) {
    const MutexLock lock(mutex_);
    const auto found = folders_.find(folder);
    if (found == folders_.end()) return;
    Folder& state = found->second;
    if (!is_current) {
      state.is_mixed = true;
      state.current = 0;
    } else if (!state.is_mixed) {
      state.current = count;
    }
    if (--state.handles == 0 && state.current == 0) folders_.erase(found);
  }

 private:
  // The number of folders above which those without an open handle are forgotten.
  static constexpr size_t kMaxFolders = 4096;
  struct Folder {
    uint32_t handles = 0;
    bool is_mixed = false;  // true if entries may have been listed at different or unknown counts
    uint64_t opened = 0;    // the change_count() when the first handle was opened
    // The change_count() at which the kernel's listing is current; 0 for none.
    uint64_t current = 0;
  };
  Mutex mutex_;
  std::unordered_map<uint64_t, Folder> folders_ GUARDED_BY(mutex_);
};

class Folder {
 public:
  /// `documents` lists the node's metadata files; it may be null. `rest` lists all other entries.
  /// `count`: the store's change_count() before the first request to the store.
  Folder(NodeId id, uint64_t count, const Timeouts& timeouts, std::unique_ptr<FolderPart> documents,
         std::unique_ptr<FolderPart> rest)
      : id_(id),
        count_(count),
        timeouts_(timeouts),
        documents_(std::move(documents)),
        rest_(std::move(rest)) {}
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] NodeId id() const { return id_; }

  /// Loads the data of a listing. Do not call it if Open() returned true, because the kernel may
  /// then never request the listing.
  [[nodiscard]] Result<void> Prepare() {
    return rest_ != nullptr ? rest_->Prepare() : Result<void>();
  }

  /// Opens the folder. True if the kernel's cached listing is current. Call once.
  [[nodiscard]] bool Open(ListingTable& listings);

  /// Adds the entries from `cookie` on, or from the beginning for 0, until an entry does not fit or
  /// the next entry may take long. A call that adds nothing marks the end of the listing.
  [[nodiscard]] Result<void> List(uint64_t cookie, const AddEntry& add,
                                  ListingOf what = ListingOf::kAttributes);

 private:
  static constexpr uint64_t kDotDot = 1;
  static constexpr uint64_t kDocuments = 2;
  static constexpr uint64_t kRest = 16;

  const NodeId id_;
  const uint64_t count_;
  const Timeouts& timeouts_;
  const std::unique_ptr<FolderPart> documents_;
  const std::unique_ptr<FolderPart> rest_;
  ListingTable* listings_ = nullptr;
  std::atomic<bool> was_read_ = false;
  std::atomic<bool> was_read_to_end_ = false;
};

}  // namespace zarrfs
