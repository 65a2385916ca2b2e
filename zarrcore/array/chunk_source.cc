#include "zarrcore/array/chunk_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs {

Result<std::shared_ptr<ChunkSource>> ChunkSource::Make(std::shared_ptr<const Store> store,
                                                       std::string folder,
                                                       const ArrayMetadata& metadata,
                                                       std::shared_ptr<IndexCache> cache,
                                                       Report report, OnSuperseded on_superseded,
                                                       const ChunkSource* before) {
  auto layout = MakeArrayLayout(metadata);
  if (!layout) return Fail(layout);
  std::shared_ptr<ChunkSource> source(new ChunkSource);
  source->store_ = std::move(store);
  source->folder_ = std::move(folder);
  source->layout_ = std::move(*layout);
  source->naming_ = std::make_unique<const ObjectNaming>(metadata.key_encoding);
  source->report_ = std::move(report);
  if (source->layout_.inner_pipeline) {
    source->raw_chunk_size_ = source->layout_.inner_pipeline->encoded_size();
  }
  ShardCache::OnSuperseded superseded;
  if (on_superseded) {
    superseded = [self = source.get(), on_superseded = std::move(on_superseded)](
                     OuterIndex outer, const OpenShardPtr& old) {
      on_superseded(*self, outer, old);
    };
  }
  source->shards_ = std::make_unique<const ShardCache>(
      source->store_, source->folder_, source->layout_, *source->naming_, std::move(cache),
      std::move(superseded), before != nullptr ? before->shards_.get() : nullptr);
  return source;
}

// --- Numbers and keys ---

ChunkSource::Position ChunkSource::Split(InnerIndex chunk) const {
  const size_t rank = layout_.inner_grid.rank();
  Position position{};
  ChunkCoordinates outer_at;
  layout_.inner_grid.Coordinates(ToNumber(chunk), position.local);
  for (size_t d = 0; d < rank; ++d) {
    const auto [in_outer, local] = layout_.PlaceOf(d, position.local[d]);
    outer_at[d] = in_outer;
    position.local[d] = local;
  }
  position.outer = OuterIndex{layout_.outer_grid.Linear({outer_at.data(), rank})};
  return position;
}

Slot ChunkSource::SlotOf(InnerIndex chunk) const {
  const Position position = Split(chunk);
  uint64_t slot = 0;
  for (size_t d = 0; d < layout_.inner_grid.rank(); ++d) {
    slot = slot * layout_.inner_per_outer[d] + position.local[d];
  }
  return Slot{slot};
}

std::optional<std::string_view> ChunkSource::BelowFolder(std::string_view key) const {
  if (folder_.empty()) return key;
  if (!key.starts_with(folder_) || key.size() <= folder_.size() || key[folder_.size()] != '/') {
    return std::nullopt;
  }
  return key.substr(folder_.size() + 1);
}

std::optional<OuterIndex> ChunkSource::ObjectOfKey(std::string_view key) const {
  const auto path = BelowFolder(key);
  const ChunkGrid& grid = layout_.outer_grid;
  ChunkCoordinates at{};
  if (!path) return std::nullopt;
  for (const ChunkNaming& form : naming_->candidates()) {
    if (!form.ParsePath(grid.counts(), *path, at)) continue;
    return OuterIndex{grid.Linear({at.data(), grid.rank()})};
  }
  return std::nullopt;
}

std::optional<size_t> ChunkSource::PrefixOfKey(std::string_view key, ChunkCoordinates& at) const {
  const auto path = BelowFolder(key);
  if (!path) return std::nullopt;
  for (const ChunkNaming& form : naming_->candidates()) {
    size_t level = 0;
    if (form.ParsePrefix(layout_.outer_grid.counts(), *path, at, level)) return level;
  }
  return std::nullopt;
}

Error ChunkSource::Damage(OuterIndex outer, const OpenShard& shard, const Error& error) const {
  Error named{error.code, fmt::format("{}: {}", ObjectKey(outer), error.message)};
  // A shard without an object was only stat'ed and is not cached, so its `reported` flag would be
  // lost. The problem is reported when the object is opened.
  const bool is_kept = shard.object != nullptr;
  if (report_ && is_kept && !shard.reported.exchange(true)) report_(named);
  return named;
}

// --- Locating ---

ShardCache::Answer ChunkSource::Open(OuterIndex outer, Age max_age, bool may_read) const {
  // In a slow store, opening the object now saves the request that a later read would need.
  const bool opens = may_read || layout_.is_sharded() || !store_->AnswersFast();
  return opens ? shards_->Open(outer, max_age) : shards_->Look(outer, max_age);
}

Result<Located> ChunkSource::Locate(InnerIndex chunk, Age max_age, bool may_read,
                                    Sizes sizes) const {
  const Position position = Split(chunk);
  for (int attempt = 1;; ++attempt) {
    auto [shard, validity] = Open(position.outer, max_age, may_read);
    if (!shard) {
      if (shard.error().code != ErrorCode::kNotFound) return Fail(shard);
      return Located{std::nullopt, validity};
    }
    auto found = Find(position.outer, std::move(*shard),
                      {position.local.data(), layout_.inner_grid.rank()}, sizes);
    if (found) return Located{std::move(found->location), validity};
    if (found.error().code != ErrorCode::kStale || attempt >= kMaxAttempts) return Fail(found);
    Forget(position.outer);
  }
}

Result<std::optional<ChunkLocation>> ChunkSource::LocateIn(const OpenShardPtr& shard,
                                                           InnerIndex chunk, Sizes sizes) const {
  const Position position = Split(chunk);
  return Find(position.outer, shard, {position.local.data(), layout_.inner_grid.rank()}, sizes)
      .map([](Found&& found) { return std::move(found.location); });
}

Result<ChunkLocation> ChunkSource::PlainChunk(OuterIndex outer, OpenShardPtr shard,
                                              Sizes sizes) const {
  const uint64_t size = shard->size;
  std::string damage;
  if (raw_chunk_size_ && size != *raw_chunk_size_) {
    damage = fmt::format("the chunk has {} bytes, expected {}", size, *raw_chunk_size_);
  } else if (size == 0) {
    damage = "the chunk has no bytes";
  }
  if (!damage.empty()) {
    Error error = Damage(outer, *shard, {ErrorCode::kDamaged, std::move(damage)});
    if (sizes == Sizes::kChecked) return tl::unexpected(std::move(error));
  }
  return ChunkLocation{std::move(shard), 0, outer, 0, size};
}

Result<ChunkSource::Found> ChunkSource::Find(OuterIndex outer, OpenShardPtr shard,
                                             std::span<const uint64_t> local, Sizes sizes) const {
  if (!layout_.is_sharded()) {
    auto chunk = PlainChunk(outer, std::move(shard), sizes);
    if (!chunk) return Fail(chunk);
    return Found{std::move(*chunk)};
  }
  const size_t rank = local.size();
  ChunkCoordinates rest{};
  // The number of innermost chunks along each axis, first of the stored object, later of one index
  // entry of the current level.
  ChunkCoordinates below{};
  std::ranges::copy(local, rest.begin());
  std::ranges::copy(layout_.inner_per_outer, below.begin());
  uint64_t linear = ToNumber(outer);
  ChunkCoordinates own_counts;
  if (layout_.outers_differ()) layout_.CountsOf(outer, own_counts);
  for (uint32_t l = 0;; ++l) {
    const ShardingLevel& level = layout_.levels[l];
    const bool is_own = l == 0 && layout_.outers_differ();
    const uint64_t* const counts = is_own ? own_counts.data() : level.counts.data();
    if (shard->damage) return tl::unexpected(Damage(outer, *shard, *shard->damage));
    uint64_t entry = 0;
    for (size_t d = 0; d < rank; ++d) below[d] /= level.ratio[d];
    for (size_t j = 0; j < rank; ++j) {
      const size_t d = level.axes[j];
      entry = entry * counts[j] + rest[d] / below[d];
    }
    for (size_t d = 0; d < rank; ++d) rest[d] %= below[d];
    const auto range = shard->index->Find(entry);
    if (!range) return tl::unexpected(Damage(outer, *shard, range.error()));
    if (!*range) return Found{std::nullopt, rank == 0 ? 1 : below[rank - 1] - rest[rank - 1]};
    if (l + 1 == layout_.levels.size()) {
      const uint64_t length = (*range)->length;
      if (raw_chunk_size_ && length != *raw_chunk_size_) {
        const Error error{ErrorCode::kDamaged,
                          fmt::format("shard index entry {}: the chunk has {} bytes, expected {}",
                                      entry, length, *raw_chunk_size_)};
        return tl::unexpected(Damage(outer, *shard, error));
      }
      const uint64_t offset = shard->offset + (*range)->offset;
      return Found{ChunkLocation{std::move(shard), entry, outer, offset, length}};
    }
    linear = linear * level.index.entries() + entry;
    auto nested = shards_->OpenNested(shard, l + 1, linear, **range);
    if (!nested) return Fail(nested);
    shard = std::move(*nested);
  }
}

// --- Listing ---

Result<StoredObjects> ChunkSource::Objects() const {
  const auto listed = DecideByListing(*store_, folder_, layout_.outer_grid, *naming_);
  if (!listed) return Fail(listed);
  return StoredObjects(*store_, folder_, naming_->current(), layout_.outer_grid);
}

ChunkCoordinates ChunkSource::OuterPrefix(std::span<const uint64_t> prefix) const {
  ChunkCoordinates fixed{};
  for (size_t d = 0; d < prefix.size(); ++d) fixed[d] = layout_.PlaceOf(d, prefix[d]).outer;
  return fixed;
}

Result<void> ChunkSource::VisitOuter(std::span<const uint64_t> prefix,
                                     const StoredObjects::Visit& visit,
                                     const WalkOptions& options) const {
  const ChunkCoordinates fixed = OuterPrefix(prefix);
  const auto objects = Objects();
  if (!objects) return Fail(objects);
  return objects->Walk({fixed.data(), prefix.size()}, visit, options);
}

Result<std::vector<OuterIndex>> ChunkSource::ListOuter(std::span<const uint64_t> prefix) const {
  std::vector<OuterIndex> outers;
  const auto visited = VisitOuter(prefix, [&](OuterIndex outer) {
    outers.push_back(outer);
    return true;
  });
  if (!visited) return Fail(visited);
  std::ranges::sort(outers);
  return outers;
}

Result<std::unique_ptr<StoredObjectsCursor>> ChunkSource::OuterCursor(
    std::span<const uint64_t> prefix) const {
  // As long as the naming is undecided, the array has no known objects. Its first object may appear
  // in a folder that is not watched, so watching the listed folders would be no use.
  static const WalkOptions kUnwatched;
  const auto objects = Objects();
  if (!objects) return Fail(objects);
  const ChunkCoordinates fixed = OuterPrefix(prefix);
  return std::make_unique<StoredObjectsCursor>(*objects, std::span(fixed.data(), prefix.size()),
                                               naming_->is_decided() ? nullptr : &kUnwatched);
}

Result<Valid<bool>> ChunkSource::AnyChunk(std::span<const uint64_t> prefix, Age max_age) const {
  Valid<bool> any{false, {}};
  Result<void> searched;
  const auto walked = VisitOuter(prefix, [&](OuterIndex outer) {
    ChunkCursor cursor(*this, outer, {.prefix = prefix, .max_age = max_age});
    if (const ListedChunk* found = cursor.Next()) {
      any = {true, found->location ? cursor.validity() : Validity()};
    }
    searched = cursor.status();
    return searched.has_value() && !any.value;
  });
  if (!walked && IsTemporary(walked.error().code)) return Fail(walked);
  if (!searched) return Fail(searched);
  // The walk failed at a folder that cannot be read. That folder may contain chunks.
  any.value = any.value || !walked;
  return any;
}

Result<std::vector<uint64_t>> ChunkSource::NextCoordinates(std::span<const uint64_t> prefix,
                                                           Age max_age) const {
  const size_t dimension = prefix.size();
  if (dimension >= layout_.inner_grid.rank()) return std::vector<uint64_t>{};
  const uint64_t count = layout_.inner_grid.counts()[dimension];
  std::set<uint64_t> found;
  Result<void> searched;
  ChunkCoordinates wanted{};
  std::ranges::copy(prefix, wanted.begin());
  // Returns the range [first, end) of the values that coordinate `dimension` has in the stored
  // objects at position `outer` along that axis.
  const auto values_in = [&](uint64_t outer) {
    const uint64_t first = layout_.FirstInner(dimension, outer);
    return std::pair(first, std::min(first + layout_.InnerCount(dimension, outer), count));
  };
  // Adds to `found` the values of coordinate `dimension` of the chunks in the stored object
  // `outer`. Returns false on failure, or if `found` has all values that this object can have.
  const auto search = [&](OuterIndex outer) {
    ChunkCoordinates outer_at;
    layout_.outer_grid.Coordinates(ToNumber(outer), outer_at);
    bool is_complete = true;
    const auto [first, end] = values_in(outer_at[dimension]);
    for (uint64_t value = first; value < end; ++value) {
      if (found.contains(value)) continue;
      wanted[dimension] = value;
      ChunkCursor cursor(*this, outer,
                         {.prefix = {wanted.data(), dimension + 1}, .max_age = max_age});
      if (cursor.Next() != nullptr) found.insert(value);
      searched = cursor.status();
      if (!searched) return false;
      is_complete = is_complete && found.contains(value);
    }
    return !is_complete;
  };

  const auto objects = Objects();
  if (!objects) return Fail(objects);
  ChunkCoordinates fixed = OuterPrefix(prefix);
  if (!naming_->current().nested()) {
    const auto walked = objects->Walk({fixed.data(), dimension}, [&](OuterIndex outer) {
      search(outer);
      return searched.has_value();
    });
    if (!walked) return Fail(walked);
    if (!searched) return Fail(searched);
    return std::vector<uint64_t>(found.begin(), found.end());
  }
  // Chunks are in nested folders. Walk the folder of each outer coordinate separately, and only
  // until all values that its objects can have are found.
  const auto values = objects->NextCoordinates({fixed.data(), dimension});
  if (!values) return Fail(values);
  for (const uint64_t value : *values) {
    fixed[dimension] = value;
    const auto walked = objects->Walk({fixed.data(), dimension + 1}, search);
    if (!walked && IsTemporary(walked.error().code)) return Fail(walked);
    if (!searched) return Fail(searched);
    // A folder that cannot be read may contain any of its chunks, so all their values count as
    // found.
    const auto [first, end] = values_in(value);
    for (uint64_t at = first; !walked && at < end; ++at) found.insert(at);
  }
  return std::vector<uint64_t>(found.begin(), found.end());
}

}  // namespace zarrfs
