#include "zarrcore/array/chunk_cursor.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

CursorOptions WithoutPrefix(CursorOptions options) {
  options.prefix = {};
  return options;
}

}  // namespace

ChunkCursor::ChunkCursor(const ChunkSource& source, OuterIndex outer, const CursorOptions& options)
    : source_(source), outer_(outer), options_(WithoutPrefix(options)) {
  const ArrayLayout& layout = source.layout();
  ChunkCoordinates outer_at;
  layout.outer_grid.Coordinates(ToNumber(outer), outer_at);
  for (size_t d = 0; d < layout.inner_grid.rank(); ++d) {
    begin_[d] = layout.FirstInner(d, outer_at[d]);
    limit_[d] =
        std::min(begin_[d] + layout.InnerCount(d, outer_at[d]), layout.inner_grid.counts()[d]);
  }
  // [first, first + run) are the slots of the chunks whose coordinates begin with the prefix.
  uint64_t first = 0;
  uint64_t run = layout.inner_per_outer_count;
  for (size_t d = 0; d < options.prefix.size(); ++d) {
    const auto [in_outer, local] = layout.PlaceOf(d, options.prefix[d]);
    if (in_outer != outer_at[d]) return;  // the object has no chunk with that prefix
    run /= layout.inner_per_outer[d];
    first += local * run;
  }
  end_ = first + run;
  slot_ = std::max(ToNumber(options.from), first);
}

bool ChunkCursor::Open(bool may_read) {
  auto [shard, validity] = source_.Open(outer_, options_.max_age, may_read);
  validity_ = validity;
  shard_ = std::move(shard);
  if (*shard_) return true;
  next_.location = Fail(*shard_);  // the error applies to every chunk of the object
  const ErrorCode code = shard_->error().code;
  if (IsTemporary(code)) status_ = Fail(*shard_);
  return code == ErrorCode::kNotFound ? options_.include_missing : status_.has_value();
}

void ChunkCursor::MoveTo(uint64_t slot) {
  const ArrayLayout& layout = source_.layout();
  slot_ = slot;
  for (size_t d = layout.inner_grid.rank(); d-- > 0;) {
    local_[d] = slot % layout.inner_per_outer[d];
    slot /= layout.inner_per_outer[d];
    global_[d] = begin_[d] + local_[d];
  }
}

uint64_t ChunkCursor::SlotsOutside() const {
  const ArrayLayout& layout = source_.layout();
  uint64_t stride = layout.inner_per_outer_count;
  for (size_t d = 0; d < layout.inner_grid.rank(); ++d) {
    const uint64_t row = stride;
    stride /= layout.inner_per_outer[d];
    if (global_[d] >= limit_[d]) return row - slot_ % row;
  }
  return 0;
}

const ListedChunk* ChunkCursor::Next() {
  if (!status_ || slot_ >= end_) return nullptr;
  if (!shard_ && !Open(/*may_read=*/source_.layout().is_sharded())) {
    end_ = 0;
    return nullptr;
  }
  for (MoveTo(slot_ + step_); slot_ < end_; MoveTo(slot_ + step_)) {
    step_ = SlotsOutside();
    if (step_ > 0) continue;
    step_ = 1;
    if (Find()) return &next_;
  }
  return nullptr;
}

bool ChunkCursor::Find() {
  const ChunkGrid& grid = source_.layout().inner_grid;
  next_.slot = Slot{slot_};
  next_.chunk = InnerIndex{grid.Linear({global_.data(), grid.rank()})};
  for (;;) {
    if (!*shard_) return true;
    auto found = source_.Find(outer_, **shard_, {local_.data(), grid.rank()}, options_.sizes);
    if (found && found->location) {
      next_.location = std::move(*found->location);
      return true;
    }
    if (found) {
      next_.location = Fail(ErrorCode::kNotFound, "not stored");
      if (!options_.include_missing) step_ = found->missing;
      return options_.include_missing;
    }
    const bool is_replaced =
        found.error().code == ErrorCode::kStale && attempt_++ < ChunkSource::kMaxAttempts;
    if (!is_replaced) {
      next_.location = Fail(found);
      if (!IsTemporary(found.error().code)) return true;
      status_ = Fail(found);
      end_ = 0;
      return false;
    }
    source_.Forget(outer_);
    if (!Open(/*may_read=*/true)) {
      end_ = 0;
      return false;
    }
  }
}

}  // namespace zarrfs
