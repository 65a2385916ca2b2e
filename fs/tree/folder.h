// Folder: a folder that was opened, and its listing.
//
// A listing is "." and "..", then what each part of the folder has. A part counts its entries by
// positions of its own; the folder adds where the part begins, which makes the cookie that the
// kernel keeps. Cookies of small folders are small: 32-bit programs read them.
#ifndef FS_TREE_FOLDER_H_
#define FS_TREE_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "fs/tree/entry.h"
#include "fs/tree/listing_table.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

/// Some of the entries of a folder.
class FolderPart {
 public:
  virtual ~FolderPart() = default;

  /// Adds its entries from position `from` on (0: the first), each with the position after it.
  /// False once there is no room.
  [[nodiscard]] virtual Result<bool> List(uint64_t from, ListingOf what, const AddEntry& add) = 0;

  /// How long all that was listed holds.
  [[nodiscard]] virtual Validity validity() const { return {}; }
};

class Folder {
 public:
  /// `documents` may be null; it has fewer than kMaxFirst entries. `count`: the store's
  /// change_count() before anything of it was asked for.
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

  /// True if the listing that the kernel holds is current. Once.
  [[nodiscard]] bool Open(ListingTable& listings);

  /// Adds the entries from `cookie` on (0: from the beginning) until there is no room.
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

#endif  // FS_TREE_FOLDER_H_
