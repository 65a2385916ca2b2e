#include "fs/tree/folder.h"

#include "zarrcore/view/view.h"

namespace zarrfs {

Folder::~Folder() {
  if (listings_ == nullptr) return;
  if (!was_read_) {
    listings_->Close(id_);
    return;
  }
  const Validity validity = rest_ != nullptr ? rest_->validity() : Validity();
  const bool is_current = validity.is_known() && validity == Validity(count_);
  listings_->Close(id_, count_, is_current && was_read_to_end_);
}

bool Folder::Open(ListingTable& listings) {
  listings_ = &listings;
  return listings.Open(id_, count_);
}

Result<void> Folder::List(uint64_t cookie, const AddEntry& add, ListingOf what) {
  static_assert(kDocuments + kMaxDocuments <= kRest);
  was_read_ = true;
  const auto list = [&](FolderPart& part, uint64_t begin) {
    const uint64_t from = cookie > begin ? cookie - begin : 0;
    return part.List(from, what, [&](const std::string& name, const Entry& entry, uint64_t next) {
      Entry listed = entry;
      listed.name_timeout = timeouts_.Listed(entry.name_timeout);
      return add(name, listed, begin + next);
    });
  };
  if (cookie < kDotDot && !add(".", NameOnly(id_, S_IFDIR), kDotDot)) return {};
  if (cookie < kDocuments && !add("..", NameOnly(kRootId, S_IFDIR), kDocuments)) return {};
  if (cookie < kRest && documents_ != nullptr) {
    const auto has_room = list(*documents_, kDocuments);
    if (!has_room) return Fail(has_room);
    if (!*has_room) return {};
  }
  if (rest_ != nullptr) {
    const auto has_room = list(*rest_, kRest);
    if (!has_room) return Fail(has_room);
    if (!*has_room) return {};
  }
  was_read_to_end_ = true;
  return {};
}

}  // namespace zarrfs
