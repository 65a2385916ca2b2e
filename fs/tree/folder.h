// Folder: an open folder, and its listing.
//
// A listing is "." and "..", followed by the entries of each part of the folder. A part numbers its
// entries by its own positions; the folder adds the beginning of the part, which makes the cookie
// for the kernel. Cookies of small folders are small: 32-bit programs can use them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "fs/tree/entry.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Some of the entries of a folder.
class FolderPart {
 public:
  virtual ~FolderPart() = default;

  /// Adds its entries from position `from` on (0: the first), each with the position after it.
  /// False if the room is used up.
  [[nodiscard]] virtual Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) = 0;

  /// The validity of everything listed so far.
  [[nodiscard]] virtual Validity validity() const { return {}; }
};

/// Which listings in the kernel's cache are current.
///
/// The kernel caches a listing, and drops it when the folder is opened again, unless the reply says
/// that it is still current. It is current if all of it came from handles that were opened, and
/// read, at the current change_count() of the store. Thread-safe.
class ListingTable {
 public:
  /// Opens the folder at change_count() `count` (0: unknown). True if the kernel's cached listing
  /// is current. Each Open() must be followed by a Close().
  [[nodiscard]] bool Open(uint64_t folder, uint64_t count) {
    const std::lock_guard lock(mutex_);
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

  /// `is_current`: everything that the handle listed holds for change_count() `count`, with which
  /// it was opened.
  void Close(uint64_t folder, uint64_t count, bool is_current) {
    const std::lock_guard lock(mutex_);
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
  static constexpr size_t kMaxFolders = 4096;  // without an open handle
  struct Folder {
    uint32_t handles = 0;
    bool is_mixed = false;  // some entries hold for another count, or none
    uint64_t opened = 0;    // count of the first handle
    uint64_t current = 0;   // the kernel's listing is current at this change_count()
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, Folder> folders_;
};

class Folder {
 public:
  /// `documents` may be null; it has fewer than kMaxFirst entries. `count`: the store's
  /// change_count() before the store was asked.
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

  /// True if the kernel's cached listing is current. Call once.
  [[nodiscard]] bool Open(ListingTable& listings);

  /// Adds the entries from `cookie` on (0: from the beginning) until the room is used up.
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
  std::atomic<bool> was_read_to_end_ = false;
};

}  // namespace zarrfs
