#include "fs/tree/chunk_files.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/waiting.h"

namespace zarrfs {

Validity ChunkFiles::validity() const {
  const MutexLock lock(mutex_);
  if (objects_ == nullptr || !indexes_are_valid_) return {};
  return objects_->validity() & prefix_.node.node->freshness.validity();
}

Entry ChunkFiles::EntryOf(const ListedChunk& listed, Validity validity, ListingOf what) const {
  const ArrayRange& range = *prefix_.node.range;
  const auto& part = range.views[prefix_.view];
  const ChunkName chunk{prefix_.node, prefix_.view, listed.chunk};
  const auto& found = listed.location;
  Result<Entry> entry = Entry{};
  if (!found) {
    entry = found.error().code == ErrorCode::kNotFound ? entries_.FillChunk(chunk, {})
                                                       : Result<Entry>(Fail(found));
  } else if (what == ListingOf::kAttributes && ChunkReader::KnowsSize(part.encoding, *found)) {
    entry = entries_.Chunk(chunk, *found, validity);
  } else {
    // A listing does not read a chunk to learn its size. The kernel requests the attributes when it
    // needs them.
    const bool is_shard = range.chunks->layout().is_sharded();
    const uint32_t epoch = is_shard || what == ListingOf::kAttributes
                               ? range.ObserveEpoch(*found)
                               : range.epochs->Current(ToNumber(found->outer));
    entry = NameOnly(MakeId(chunk.position(), epoch), S_IFREG);
  }
  if (!entry) entry = entries_.UnreadableChunk(chunk, entry.error());
  return entry ? *entry : NameOnly(chunk.position(), S_IFREG);
}

Result<bool> ChunkFiles::ListObject(OuterIndex object, uint64_t from, ListingOf what,
                                    const AddEntry& add) {
  const ArrayRange& range = *prefix_.node.range;
  const auto& part = range.views[prefix_.view];
  const auto& layout = range.chunks->layout();
  const size_t rank = range.rank();
  const bool is_nested = part.naming.nested() && rank > 0;
  const uint64_t begin = ToNumber(object) * layout.inner_per_outer_count;
  const bool is_begun = from > begin && from - begin <= layout.inner_per_outer_count;
  const uint64_t slot = is_begun ? from - begin : 0;
  ChunkCoordinates at{};
  const auto name_of = [&](InnerIndex chunk) {
    layout.inner_grid.Coordinates(ToNumber(chunk), at);
    return is_nested ? std::to_string(at[rank - 1]) : part.naming.Path({at.data(), rank});
  };
  if (what == ListingOf::kNames && !layout.is_sharded() && part.fill_chunk == nullptr) {
    if (slot > 0) return true;
    // The object was listed, so the chunk exists. The entry gets the inode of the latest known
    // version.
    const InnerIndex chunk{ToNumber(object)};
    const uint32_t epoch = range.epochs->Current(ToNumber(object));
    const NodeId inode = MakeId(range.PositionOf(prefix_.view, chunk), epoch);
    return add(name_of(chunk), NameOnly(inode, S_IFREG), begin + 1);
  }
  ChunkCursor cursor(*range.chunks, object,
                     {.prefix = prefix_.fixed(),
                      .from = Slot{slot},
                      .max_age = nodes_.check_age(),
                      .include_missing = part.fill_chunk != nullptr,
                      .sizes = part.sizes()});
  bool has_room = true;
  while (has_room) {
    const ListedChunk* const chunk = cursor.Next();
    if (chunk == nullptr) break;
    const Entry entry = EntryOf(*chunk, cursor.validity(), what);
    has_room = add(name_of(chunk->chunk), entry, begin + ToNumber(chunk->slot) + 1);
  }
  if (!cursor.status()) return Fail(cursor.status());
  if (objects_ != nullptr && cursor.is_open() && cursor.validity() != objects_->validity()) {
    indexes_are_valid_ = false;
  }
  return has_room;
}

Result<bool> ChunkFiles::ListStored(uint64_t from, ListingOf what, const AddEntry& add) {
  // A listing consumes `objects_`, so it must not be started by a request that may have to be
  // repeated.
  if (!MayWait()) return Fail(ErrorCode::kWouldBlock, "the listing may take a while");
  const MutexLock lock(mutex_);
  const uint64_t per_object = prefix_.node.range->chunks->layout().inner_per_outer_count;
  const bool is_there = from == std::exchange(next_, std::nullopt);
  if (!is_there && from == 0) objects_->Restart();
  if (!is_there && from > 0) {
    const auto moved = objects_->MoveTo(OuterIndex{(from - 1) / per_object});
    if (!moved) return Fail(moved);
  }
  uint64_t listed = from;
  const auto add_listed = [&](const std::string& name, const Entry& entry, uint64_t next) {
    const bool has_room = add(name, entry, next);
    if (has_room) listed = next;
    return has_room;
  };
  Result<bool> has_room = true;
  for (;; objects_->Pass()) {
    const auto object = objects_->Get();
    if (!object) return Fail(object);
    if (!*object) break;
    has_room = ListObject(**object, from, what, add_listed);
    if (!has_room) return has_room;
    if (!*has_room) break;
  }
  next_ = listed;
  return has_room;
}

Result<bool> ChunkFiles::List(uint64_t from, ListingOf what, const AddEntry& add_entry) {
  bool is_empty = from == 0;
  const auto add = [&](const std::string& name, const Entry& entry, uint64_t next) {
    is_empty = false;
    return add_entry(name, entry, next);
  };
  if (objects_ != nullptr) {
    auto has_room = ListStored(from, what, add);
    if (!has_room || !*has_room) return has_room;
  } else {
    const MutexLock lock(mutex_);
    const uint64_t first = from / prefix_.node.range->chunks->layout().inner_per_outer_count;
    for (uint64_t object = std::max(first_, first); object < first_ + count_; ++object) {
      auto has_room = ListObject(OuterIndex{object}, from, what, add);
      if (!has_room || !*has_room) return has_room;
    }
  }
  // Chunks that no longer exist were skipped. If the array itself no longer exists, the listing
  // fails. If no chunk was found, the array must have been seen after the listing.
  const Age max_age = is_empty ? Age{0} : nodes_.check_age();
  if (const auto gone = nodes_.WhyGone(*prefix_.node.node, max_age)) return tl::unexpected(*gone);
  return true;
}

}  // namespace zarrfs
