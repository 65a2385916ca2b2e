#include "zarrcore/array/chunk_source.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// More than this of an index is read only once the object is known to be long enough, and then in
// pieces of this size.
constexpr uint64_t kIndexPiece = 1u << 20;
constexpr int kAttempts = 3;
constexpr int64_t kLongestCoolingNs = 100'000'000;

std::atomic<uint64_t> next_id{1};

bool MustAbort(ErrorCode code) {
  return code == ErrorCode::kWouldBlock || code == ErrorCode::kInterrupted ||
         code == ErrorCode::kTimedOut || code == ErrorCode::kTooManyOpenFiles;
}

// A stored object as it is once decoded.
class DecodedObject final : public Object {
 public:
  DecodedObject(ObjectInfo info, Bytes bytes) : info_(std::move(info)), bytes_(std::move(bytes)) {}

  const ObjectInfo& info() const override { return info_; }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "decoded shard: {} bytes at {} of {}", out.size(), offset,
                  bytes_.size());
    }
    std::ranges::copy(std::span(bytes_).subspan(offset, out.size()), out.begin());
    return {};
  }
  size_t size() const { return bytes_.size(); }

 private:
  const ObjectInfo info_;
  const Bytes bytes_;
};

// Walks the stored objects of one array whose leading outer coordinates are fixed.
class OuterWalk {
 public:
  OuterWalk(const Store& store, const std::string& folder, const ChunkKeyEncoding& encoding,
            const ChunkGrid& grid, std::function<void(const std::string&)> on_folder = {})
      : store_(store),
        encoding_(encoding),
        grid_(grid),
        on_folder_(std::move(on_folder)),
        folder_(folder) {
    if (encoding.separator == '/' && encoding.kind == ChunkKeyEncoding::Kind::kDefault &&
        grid.rank() > 0) {
      folder_ = JoinKey(folder, "c");
    }
  }

  Result<void> Visit(std::span<const uint64_t> fixed,
                     const std::function<bool(uint64_t)>& visit) const {
    if (grid_.size() == 0) return {};
    if (grid_.rank() == 0) {
      const bool v2 = encoding_.kind == ChunkKeyEncoding::Kind::kV2;
      const auto found = MayExist(JoinKey(folder_, v2 ? "0" : "c"));
      if (!found) return Fail(found);
      if (*found) visit(0);
      return {};
    }
    if (encoding_.separator == '.') return VisitFlat(fixed, visit);
    ChunkCoordinates at{};
    std::string folder = folder_;
    bool go_on = true;
    return VisitNested(fixed, 0, folder, at, visit, go_on);
  }

  // Values of the next outer coordinate that have a folder or object; only for separator '/'.
  Result<std::vector<uint64_t>> Values(std::span<const uint64_t> fixed) const {
    std::string folder = folder_;
    for (const uint64_t value : fixed) folder = JoinKey(folder, std::to_string(value));
    return List(folder, fixed.size());
  }

 private:
  // True also of an object that cannot be read: whoever opens it is told why.
  Result<bool> MayExist(const std::string& key) const {
    if (on_folder_) on_folder_(std::string(FolderOf(key)));
    const auto info = store_.Stat(key);
    if (info) return !info->is_folder;
    if (info.error().code == ErrorCode::kNotFound) return false;
    if (MustAbort(info.error().code)) return Fail(info);
    return true;
  }

  Result<std::vector<uint64_t>> List(const std::string& folder, size_t dimension) const {
    if (on_folder_) on_folder_(folder);
    const auto entries = store_.List(folder);
    std::vector<uint64_t> values;
    if (!entries) {
      if (entries.error().code == ErrorCode::kNotFound) return values;
      return Fail(entries);
    }
    const bool objects = dimension + 1 == grid_.rank();
    for (const ListEntry& entry : *entries) {
      const auto value = ParseCoordinate(entry.name, grid_.counts()[dimension]);
      if (value && (entry.is_refused || entry.is_folder != objects)) values.push_back(*value);
    }
    return values;
  }

  Result<void> VisitNested(std::span<const uint64_t> fixed, size_t dimension, std::string& folder,
                           ChunkCoordinates& at, const std::function<bool(uint64_t)>& visit,
                           bool& go_on) const {
    const bool last = dimension + 1 == grid_.rank();
    std::vector<uint64_t> values;
    if (dimension < fixed.size()) {
      values.push_back(fixed[dimension]);
    } else {
      auto listed = List(folder, dimension);
      if (!listed) return Fail(listed);
      values = std::move(*listed);
    }
    const size_t length = folder.size();
    for (const uint64_t value : values) {
      at[dimension] = value;
      folder = JoinKey(folder, std::to_string(value));
      if (!last) {
        auto below = VisitNested(fixed, dimension + 1, folder, at, visit, go_on);
        if (!below) return below;
      } else {
        bool exists = true;
        if (dimension < fixed.size()) {
          const auto found = MayExist(folder);
          if (!found) return Fail(found);
          exists = *found;
        }
        if (exists) go_on = visit(grid_.Linear({at.data(), grid_.rank()}));
      }
      folder.resize(length);
      if (!go_on) break;
    }
    return {};
  }

  Result<void> VisitFlat(std::span<const uint64_t> fixed,
                         const std::function<bool(uint64_t)>& visit) const {
    if (on_folder_) on_folder_(folder_);
    const auto entries = store_.List(folder_);
    if (!entries) {
      if (entries.error().code == ErrorCode::kNotFound) return {};
      return Fail(entries);
    }
    for (const ListEntry& entry : *entries) {
      if (entry.is_folder && !entry.is_refused) continue;
      std::string_view name = entry.name;
      if (encoding_.kind == ChunkKeyEncoding::Kind::kDefault) {
        if (!name.starts_with("c.")) continue;
        name.remove_prefix(2);
      }
      ChunkCoordinates at{};
      bool matches = true;
      for (size_t d = 0; d < grid_.rank() && matches; ++d) {
        const bool last = d + 1 == grid_.rank();
        const size_t end = last ? name.size() : name.find('.');
        if (end == std::string_view::npos) {
          matches = false;
          break;
        }
        const auto value = ParseCoordinate(name.substr(0, end), grid_.counts()[d]);
        matches = value && (d >= fixed.size() || *value == fixed[d]);
        if (matches) at[d] = *value;
        name.remove_prefix(last ? end : end + 1);
      }
      if (matches && !visit(grid_.Linear({at.data(), grid_.rank()}))) break;
    }
    return {};
  }

  const Store& store_;
  const ChunkKeyEncoding& encoding_;
  const ChunkGrid& grid_;
  const std::function<void(const std::string&)> on_folder_;
  std::string folder_;
};

}  // namespace

Result<std::shared_ptr<ChunkSource>> ChunkSource::Make(std::shared_ptr<const Store> store,
                                                       std::string folder,
                                                       const ArrayMetadata& metadata,
                                                       std::shared_ptr<IndexCache> cache,
                                                       Report report, OnSuperseded on_superseded) {
  auto layout = MakeArrayLayout(metadata);
  if (!layout) return Fail(layout);
  std::shared_ptr<ChunkSource> source(new ChunkSource);
  source->store_ = std::move(store);
  source->folder_ = std::move(folder);
  source->layout_ = std::move(*layout);
  source->key_encoding_ = metadata.key_encoding;
  source->cache_ = std::move(cache);
  source->report_ = std::move(report);
  source->on_superseded_ = std::move(on_superseded);
  source->id_ = next_id++;
  source->has_frames_ =
      std::ranges::any_of(source->layout_.inner_codecs, [](const CodecSpec& codec) {
        return codec.name == "zstd" || codec.name == "numcodecs.zstd";
      });
  if (source->layout_.inner_pipeline) {
    source->raw_chunk_size_ = source->layout_.inner_pipeline->encoded_size();
  }
  return source;
}

uint64_t ChunkSource::OuterOf(uint64_t chunk) const {
  ChunkCoordinates at;
  layout_.inner_grid.Coordinates(chunk, at);
  for (size_t d = 0; d < layout_.inner_grid.rank(); ++d) at[d] /= layout_.inner_per_outer[d];
  return layout_.outer_grid.Linear({at.data(), layout_.outer_grid.rank()});
}

std::string ChunkSource::ObjectKey(uint64_t outer) const {
  const size_t rank = layout_.outer_grid.rank();
  ChunkCoordinates at;
  layout_.outer_grid.Coordinates(outer, at);
  const bool v2 = key_encoding_.kind == ChunkKeyEncoding::Kind::kV2;
  std::string name = v2 ? "" : "c";
  if (rank == 0 && v2) name = "0";
  for (size_t d = 0; d < rank; ++d) {
    if (!name.empty()) name += key_encoding_.separator;
    name += std::to_string(at[d]);
  }
  return JoinKey(folder_, name);
}

std::optional<uint64_t> ChunkSource::ObjectOfKey(std::string_view key) const {
  if (!folder_.empty()) {
    if (!key.starts_with(folder_)) return std::nullopt;
    key.remove_prefix(folder_.size());
    if (!key.starts_with('/')) return std::nullopt;
    key.remove_prefix(1);
  }
  const ChunkGrid& grid = layout_.outer_grid;
  const size_t rank = grid.rank();
  const bool v2 = key_encoding_.kind == ChunkKeyEncoding::Kind::kV2;
  if (rank == 0) return key == (v2 ? "0" : "c") ? std::optional<uint64_t>(0) : std::nullopt;
  if (!v2) {
    if (key.size() < 2 || key[0] != 'c' || key[1] != key_encoding_.separator) return std::nullopt;
    key.remove_prefix(2);
  }
  ChunkCoordinates at{};
  for (size_t d = 0; d < rank; ++d) {
    const bool last = d + 1 == rank;
    const size_t end = last ? key.size() : key.find(key_encoding_.separator);
    if (end == std::string_view::npos) return std::nullopt;
    const auto value = ParseCoordinate(key.substr(0, end), grid.counts()[d]);
    if (!value) return std::nullopt;
    at[d] = *value;
    key.remove_prefix(last ? end : end + 1);
  }
  return grid.Linear({at.data(), rank});
}

void ChunkSource::SetChanged() const { changed_ns_.store(RealNowNs(), std::memory_order_relaxed); }

Error ChunkSource::Damage(uint64_t outer, const OpenShard& shard, const Error& error) const {
  Error named{error.code, fmt::format("{}: {}", ObjectKey(outer), error.message)};
  // What was only looked at is forgotten again, and with it that it was told.
  const bool is_kept = shard.object != nullptr;
  if (report_ && is_kept && !shard.reported.exchange(true)) report_(named);
  return named;
}

void ChunkSource::Forget(uint64_t outer) const {
  cache_->Erase(ShardKey{id_, outer, 0});
  SetChanged();
}

IndexCache::Loaded ChunkSource::Loaded(std::shared_ptr<OpenShard> shard) const {
  size_t charge = sizeof(OpenShard) + 256 + (shard->index ? shard->index->memory_bytes() : 0);
  if (has_frames_ && !shard->damage) {
    const size_t entries = layout_.is_sharded() ? shard->index->entries() : 1;
    shard->frame_notes = std::make_unique<std::atomic<uint8_t>[]>(entries);
    charge += entries;
  }
  return {std::move(shard), charge};
}

Result<void> ChunkSource::ReadIndex(const ShardIndexSpec& spec, OpenShard& shard,
                                    BytesView encoded) const {
  ShardIndex::Decoder decoder(spec, shard.size);
  decoder.Take(encoded);
  if (encoded.empty()) {
    const uint64_t end = shard.offset + (spec.at_end() ? shard.size : spec.encoded_size());
    Bytes piece(std::min(kIndexPiece, spec.encoded_size()));
    for (uint64_t at = end - spec.encoded_size(); at < end; at += piece.size()) {
      piece.resize(std::min<uint64_t>(piece.size(), end - at));
      if (auto read = shard.object->Read(at, piece); !read) return Fail(read);
      decoder.Take(piece);
    }
  }
  auto index = decoder.Finish();
  if (index) {
    shard.index = std::move(*index);
  } else {
    shard.damage = index.error();
  }
  return {};
}

Result<IndexCache::Loaded> ChunkSource::LoadOuter(const std::string& key) const {
  auto shard = std::make_shared<OpenShard>();
  if (!layout_.is_sharded()) {
    auto answer = store_->Read(key, ByteRange::At(0, 0), {});
    if (!answer) return Fail(answer);
    shard->object = std::move(answer->object);
    shard->info = shard->object->info();
    shard->size = shard->info.size();
    shard->fingerprint = shard->info.version.Fingerprint();
    return Loaded(std::move(shard));
  }

  const ShardingLevel& level = layout_.levels.front();
  if (!level.around.empty()) return LoadWhole(key);
  const uint64_t index_size = level.index.encoded_size();
  const uint64_t tail = level.trailing_checksum;
  const uint64_t first = std::min(kIndexPiece, index_size + (level.index.at_end() ? tail : 0));
  Bytes buffer(first);
  auto answer = store_->Read(
      key, level.index.at_end() ? ByteRange::Suffix(first) : ByteRange::At(0, first), buffer);
  if (!answer) return Fail(answer);
  shard->object = std::move(answer->object);
  shard->info = shard->object->info();
  shard->fingerprint = shard->info.version.Fingerprint();
  const uint64_t object_size = shard->info.size();
  if (object_size < tail || object_size - tail < index_size) {
    shard->damage =
        Error{ErrorCode::kDamaged, fmt::format("the shard has {} bytes, fewer than its index of {}",
                                               object_size, index_size + tail)};
    return Loaded(std::move(shard));
  }
  shard->size = object_size - tail;
  const uint64_t index_offset = level.index.at_end() ? shard->size - index_size : 0;
  const bool is_read = answer->offset <= index_offset &&
                       index_offset + index_size <= answer->offset + answer->length;
  const BytesView encoded =
      is_read ? BytesView(buffer).subspan(index_offset - answer->offset, index_size) : BytesView();
  if (auto read = ReadIndex(level.index, *shard, encoded); !read) return Fail(read);
  return Loaded(std::move(shard));
}

Result<IndexCache::Loaded> ChunkSource::LoadWhole(const std::string& key) const {
  auto whole = ReadWhole(*store_, key, kMaxChunkBytes);
  if (!whole) return Fail(whole);
  auto shard = std::make_shared<OpenShard>();
  shard->info = whole->object->info();
  shard->fingerprint = shard->info.version.Fingerprint();
  shard->object = whole->object;
  const ShardingLevel& level = layout_.levels.front();
  const auto encoded = std::as_bytes(std::span(whole->bytes));
  auto bytes = level.around.Decode({encoded.begin(), encoded.end()}, LargestShard());
  whole->bytes = {};
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kDamaged) return Fail(bytes);
    shard->damage = bytes.error();
    return Loaded(std::move(shard));
  }
  const uint64_t index_size = level.index.encoded_size();
  if (bytes->size() < index_size) {
    shard->damage = Error{ErrorCode::kDamaged,
                          fmt::format("the shard decodes to {} bytes, fewer than its index of {}",
                                      bytes->size(), index_size)};
    return Loaded(std::move(shard));
  }
  shard->size = bytes->size();
  const BytesView index =
      BytesView(*bytes).subspan(level.index.at_end() ? shard->size - index_size : 0, index_size);
  if (auto read = ReadIndex(level.index, *shard, index); !read) return Fail(read);
  if (shard->damage) return Loaded(std::move(shard));
  shard->object = std::make_shared<const DecodedObject>(shard->info, std::move(*bytes));
  shard->is_in_memory = true;
  auto loaded = Loaded(shard);
  loaded.charge += shard->size;
  return loaded;
}

uint64_t ChunkSource::LargestShard() const {
  const auto& pipeline = layout_.inner_pipeline;
  if (!pipeline || layout_.levels.size() > 1) return kMaxChunkBytes;
  const auto chunks = CheckedMul(pipeline->max_encoded_size(), layout_.inner_per_outer_count);
  const auto all =
      chunks ? CheckedAdd(*chunks, layout_.levels.front().index.encoded_size()) : std::nullopt;
  // (Writers that replace chunks in a shard may leave the old ones in it.)
  const auto twice = all ? CheckedMul(*all, 2) : std::nullopt;
  return std::min(twice.value_or(kMaxChunkBytes), kMaxChunkBytes);
}

void ChunkSource::Supersede(uint64_t outer, const OpenShardPtr& old) const {
  cache_->Erase(ShardKey{id_, outer, 0}, old);
  SetChanged();
  if (on_superseded_) on_superseded_(*this, outer, old);
}

bool ChunkSource::WaitUntilCool(const ObjectInfo& info) const {
  // (Where clocks tick in seconds the wait would be longer than what it spares.)
  const int64_t granularity = store_->TimestampGranularityNs();
  if (granularity > kLongestCoolingNs || !MayWait() || !IsRacy(*store_, info)) return false;
  std::this_thread::sleep_for(std::chrono::nanoseconds(granularity));
  return true;
}

Result<OpenShardPtr> ChunkSource::OuterShard(uint64_t outer, Age max_age, bool may_read,
                                             uint64_t* watched) const {
  const ShardKey key{id_, outer, 0};
  OpenShardPtr cached = cache_->Get(key);
  if (cached != nullptr && max_age == kAnyAge) return cached;
  const auto give = [&](OpenShardPtr shard) {
    if (watched != nullptr) {
      const uint64_t count_now = store_->change_count();
      *watched = shard->freshness.validity() == Validity(count_now) ? count_now : 0;
    }
    return shard;
  };
  const auto is_fresh = [&](const OpenShard& shard) {
    return shard.freshness.IsFresh(*store_, max_age);
  };
  if (cached != nullptr && is_fresh(*cached)) return give(std::move(cached));
  const int64_t now = SteadyNowNs();
  const std::string object_key = ObjectKey(outer);
  const uint64_t count = store_->change_count();
  const bool is_watched =
      max_age != kAnyAge && count != 0 && store_->Watch(FolderOf(object_key)) == count;
  const auto set_checked = [&](const OpenShard& shard) {
    shard.freshness.Set(
        {now, count},
        is_watched && !shard.info.may_change_elsewhere ? Validity(count) : Validity());
  };
  const bool only_look = !layout_.is_sharded() && !may_read;
  for (int attempt = 1;; ++attempt) {
    if (cached != nullptr || only_look) {
      auto info = store_->Stat(object_key);
      if (info && info->is_folder) info = Fail(ErrorCode::kNotFound, "{} is a folder", object_key);
      if (!info) {
        if (info.error().code == ErrorCode::kNotFound) {
          if (cached != nullptr) Supersede(outer, cached);
          if (watched != nullptr) *watched = is_watched ? count : 0;
        }
        return Fail(info);
      }
      if (cached != nullptr && info->version == cached->info.version) {
        set_checked(*cached);
        return give(std::move(cached));
      }
      if (cached != nullptr) Supersede(outer, cached);
      if (only_look) {
        cached = nullptr;
        if (attempt == 1 && WaitUntilCool(*info)) continue;
        auto seen = std::make_shared<OpenShard>();
        seen->info = std::move(*info);
        seen->fingerprint = seen->info.version.Fingerprint();
        seen->size = seen->info.size();
        set_checked(*seen);
        return give(std::move(seen));
      }
    }
    cached = nullptr;
    bool is_ours = false;  // not what another thread has loaded or is loading
    auto loaded = cache_->GetOrLoad(key, [&] {
      is_ours = true;
      return LoadOuter(object_key);
    });
    if (!loaded) {
      const ErrorCode code = loaded.error().code;
      const bool only_they_may_not_wait = code == ErrorCode::kWouldBlock && !is_ours && MayWait();
      const bool is_replaced = code == ErrorCode::kStale && attempt < kAttempts;
      if (only_they_may_not_wait || is_replaced) continue;
      if (code == ErrorCode::kNotFound && is_ours && is_watched && watched != nullptr) {
        *watched = count;
      }
      return Fail(loaded);
    }
    if (is_ours) set_checked(**loaded);
    if (IsRacy(*store_, (*loaded)->info)) {
      cache_->Erase(key, *loaded);
      // A version that is read anyway is known by its fingerprint: no need to wait.
      if (attempt == 1 && max_age != kAnyAge && WaitUntilCool((*loaded)->info)) continue;
      // Whoever looks it up now may read it when it has been replaced.
      if (on_superseded_) on_superseded_(*this, outer, *loaded);
    }
    if (is_ours || is_fresh(**loaded) || attempt >= kAttempts) {
      return give(std::move(*loaded));
    }
    // They began before we were asked, perhaps longer ago than the answer may be old.
    cached = std::move(*loaded);
  }
}

Result<OpenShardPtr> ChunkSource::NestedShard(const OpenShardPtr& parent, uint32_t level,
                                              uint64_t linear, const ChunkRange& range) const {
  const ShardKey key{id_, linear, level};
  OpenShardPtr cached = cache_->Get(key);
  if (cached != nullptr) {
    if (cached->object == parent->object) return cached;
    cache_->Erase(key, cached);
  }
  const auto load = [&]() -> Result<IndexCache::Loaded> {
    const ShardingLevel& spec = layout_.levels[level];
    auto shard = std::make_shared<OpenShard>();
    shard->object = parent->object;
    shard->info = parent->info;
    shard->fingerprint = parent->fingerprint;
    shard->offset = parent->offset + range.offset;
    const uint64_t index_size = spec.index.encoded_size();
    if (range.length < spec.trailing_checksum ||
        range.length - spec.trailing_checksum < index_size) {
      shard->damage = Error{ErrorCode::kDamaged,
                            fmt::format("a nested shard has {} bytes, fewer than its index of {}",
                                        range.length, index_size)};
      return Loaded(std::move(shard));
    }
    shard->size = range.length - spec.trailing_checksum;
    if (auto read = ReadIndex(spec.index, *shard); !read) return Fail(read);
    return Loaded(std::move(shard));
  };
  const auto shared = cache_->GetOrLoad(key, load);
  if (shared && (*shared)->object == parent->object) return *shared;
  if (!shared && !(shared.error().code == ErrorCode::kWouldBlock && MayWait())) return shared;
  // What another thread loaded meanwhile is of another version, or it may not wait and we may.
  auto own = load();
  if (!own) return Fail(own);
  return own->value;
}

std::optional<Error> ChunkSource::PlainChunkDamage(uint64_t size) const {
  if (raw_chunk_size_ && size != *raw_chunk_size_) {
    return Error{ErrorCode::kDamaged,
                 fmt::format("the chunk has {} bytes, {} expected", size, *raw_chunk_size_)};
  }
  if (size == 0) return Error{ErrorCode::kDamaged, "the chunk has no bytes"};
  return std::nullopt;
}

Result<std::optional<ChunkLocation>> ChunkSource::Find(uint64_t outer, OpenShardPtr shard,
                                                       std::span<const uint64_t> local, Sizes sizes,
                                                       uint64_t* missing) const {
  if (!layout_.is_sharded()) {
    const uint64_t size = shard->size;
    if (const auto damage = PlainChunkDamage(size)) {
      Error error = Damage(outer, *shard, *damage);
      if (sizes == Sizes::kChecked) return tl::unexpected(std::move(error));
    }
    return ChunkLocation{std::move(shard), 0, outer, 0, size, 0};
  }
  const size_t rank = local.size();
  ChunkCoordinates rest{};
  ChunkCoordinates below{};  // innermost chunks in a chunk of the current level, each axis
  for (size_t d = 0; d < rank; ++d) {
    rest[d] = local[d];
    below[d] = layout_.inner_per_outer[d];
  }
  uint64_t linear = outer;
  for (uint32_t l = 0;; ++l) {
    const ShardingLevel& level = layout_.levels[l];
    if (shard->damage) return tl::unexpected(Damage(outer, *shard, *shard->damage));
    uint64_t entry = 0;
    for (size_t d = 0; d < rank; ++d) below[d] /= level.ratio[d];
    for (size_t j = 0; j < rank; ++j) {
      const size_t d = level.axes[j];
      entry = entry * level.counts[j] + rest[d] / below[d];
    }
    for (size_t d = 0; d < rank; ++d) rest[d] %= below[d];
    const auto range = shard->index->Find(entry);
    if (!range) return tl::unexpected(Damage(outer, *shard, range.error()));
    if (!*range) {
      if (missing != nullptr) *missing = rank == 0 ? 1 : below[rank - 1] - rest[rank - 1];
      return std::nullopt;
    }
    if (l + 1 == layout_.levels.size()) {
      if (raw_chunk_size_ && (*range)->length != *raw_chunk_size_) {
        return tl::unexpected(
            Damage(outer, *shard,
                   Error{ErrorCode::kDamaged,
                         fmt::format("shard index entry {}: the chunk has {} bytes, {} expected",
                                     entry, (*range)->length, *raw_chunk_size_)}));
      }
      const uint64_t offset = shard->offset + (*range)->offset;
      return ChunkLocation{std::move(shard), entry, outer, offset, (*range)->length, 0};
    }
    linear = linear * level.index.entries() + entry;
    auto nested = NestedShard(shard, l + 1, linear, **range);
    if (!nested) return Fail(nested);
    shard = std::move(*nested);
  }
}

uint64_t ChunkSource::Split(uint64_t chunk, ChunkCoordinates& local) const {
  const size_t rank = layout_.inner_grid.rank();
  ChunkCoordinates outer_at;
  layout_.inner_grid.Coordinates(chunk, local);
  for (size_t d = 0; d < rank; ++d) {
    outer_at[d] = local[d] / layout_.inner_per_outer[d];
    local[d] %= layout_.inner_per_outer[d];
  }
  return layout_.outer_grid.Linear({outer_at.data(), rank});
}

uint64_t ChunkSource::SlotOf(uint64_t chunk) const {
  ChunkCoordinates local;
  Split(chunk, local);
  uint64_t slot = 0;
  for (size_t d = 0; d < layout_.inner_grid.rank(); ++d) {
    slot = slot * layout_.inner_per_outer[d] + local[d];
  }
  return slot;
}

Result<std::optional<ChunkLocation>> ChunkSource::LocateIn(const OpenShardPtr& shard,
                                                           uint64_t chunk, Sizes sizes) const {
  ChunkCoordinates local;
  const uint64_t outer = Split(chunk, local);
  return Find(outer, shard, {local.data(), layout_.inner_grid.rank()}, sizes);
}

Result<std::optional<ChunkLocation>> ChunkSource::Locate(uint64_t chunk, Age max_age, bool may_read,
                                                         uint64_t* watched, Sizes sizes) const {
  ChunkCoordinates local;
  const uint64_t outer = Split(chunk, local);
  uint64_t count = 0;
  if (watched != nullptr) *watched = 0;
  for (int attempt = 1;; ++attempt) {
    auto shard = OuterShard(outer, max_age, may_read, &count);
    if (!shard) {
      if (shard.error().code != ErrorCode::kNotFound) return Fail(shard);
      if (watched != nullptr) *watched = count;
      return std::nullopt;
    }
    auto place = Find(outer, std::move(*shard), {local.data(), layout_.inner_grid.rank()}, sizes);
    if (!place && place.error().code == ErrorCode::kStale && attempt < kAttempts) {
      Forget(outer);
      continue;
    }
    if (place && *place) (*place)->watched = count;
    if (watched != nullptr) *watched = count;
    return place;
  }
}

Result<void> ChunkSource::VisitOuter(
    std::span<const uint64_t> prefix, const std::function<bool(uint64_t)>& visit,
    const std::function<void(const std::string&)>& on_folder) const {
  ChunkCoordinates fixed{};
  for (size_t d = 0; d < prefix.size(); ++d) fixed[d] = prefix[d] / layout_.inner_per_outer[d];
  return OuterWalk(*store_, folder_, key_encoding_, layout_.outer_grid, on_folder)
      .Visit({fixed.data(), prefix.size()}, visit);
}

Result<std::vector<uint64_t>> ChunkSource::ListOuter(std::span<const uint64_t> prefix,
                                                     uint64_t* watched) const {
  std::vector<uint64_t> outers;
  const uint64_t count = store_->change_count();
  bool is_watched = watched != nullptr && count != 0;
  auto walked = VisitOuter(
      prefix,
      [&](uint64_t outer) {
        outers.push_back(outer);
        return true;
      },
      [&](const std::string& folder) {
        is_watched = is_watched && store_->Watch(folder) == count;
      });
  if (!walked) return Fail(walked);
  if (watched != nullptr) *watched = is_watched ? count : 0;
  std::ranges::sort(outers);
  return outers;
}

Result<void> ChunkSource::VisitChunks(uint64_t outer, std::span<const uint64_t> prefix,
                                      uint64_t from, Age max_age, const VisitChunk& visit,
                                      uint64_t* watched_answer, bool missing_too,
                                      Sizes sizes) const {
  const size_t rank = layout_.inner_grid.rank();
  const auto& per_outer = layout_.inner_per_outer;
  ChunkCoordinates outer_at;
  layout_.outer_grid.Coordinates(outer, outer_at);
  // The places that begin with the prefix are one run: [base, base + run).
  uint64_t base = 0;
  uint64_t run = layout_.inner_per_outer_count;
  for (size_t d = 0; d < prefix.size(); ++d) {
    if (prefix[d] / per_outer[d] != outer_at[d]) return {};
    run /= per_outer[d];
    base += prefix[d] % per_outer[d] * run;
  }
  uint64_t slot = std::max(from, base);
  if (slot >= base + run) return {};

  uint64_t nobody_asks = 0;
  uint64_t& watched = watched_answer != nullptr ? *watched_answer : nobody_asks;
  watched = 0;
  auto shard = OuterShard(outer, max_age, /*may_read=*/layout_.is_sharded(), &watched);
  const Result<ChunkLocation> missing = Fail(ErrorCode::kNotFound, "not stored");
  const auto is_gone = [&] { return !shard && shard.error().code == ErrorCode::kNotFound; };
  if (is_gone() && !missing_too) return {};
  if (!shard && !is_gone() && MustAbort(shard.error().code)) return Fail(shard);
  ChunkCoordinates local{};
  ChunkCoordinates global{};
  const auto step_to = [&](uint64_t next) {
    slot = next;
    for (size_t d = rank; d-- > 0;) {
      local[d] = next % per_outer[d];
      next /= per_outer[d];
      global[d] = outer_at[d] * per_outer[d] + local[d];
    }
  };
  int attempt = 1;
  for (step_to(slot); slot < base + run;) {
    // Of an outer chunk at the array's edge: on to the next place that may lie inside.
    uint64_t outside = 0;
    uint64_t stride = layout_.inner_per_outer_count;
    for (size_t d = 0; d < rank && outside == 0; ++d) {
      const uint64_t row = stride;
      stride /= per_outer[d];
      if (global[d] >= layout_.inner_grid.counts()[d]) outside = row - slot % row;
    }
    if (outside > 0) {
      step_to(slot + outside);
      continue;
    }
    const uint64_t chunk = layout_.inner_grid.Linear({global.data(), rank});
    uint64_t skip = 1;
    bool go_on = true;
    if (is_gone()) {
      go_on = visit(slot, chunk, missing);
    } else if (!shard) {
      go_on = visit(slot, chunk, Fail(shard));
    } else {
      auto place = Find(outer, *shard, {local.data(), rank}, sizes, &skip);
      if (!place && place.error().code == ErrorCode::kStale && attempt++ < kAttempts) {
        Forget(outer);
        watched = 0;
        shard = OuterShard(outer, max_age, /*may_read=*/true, &watched);
        if (shard || (is_gone() && missing_too)) continue;
        if (is_gone()) return {};
        place = Fail(shard);
      }
      if (!place) {
        if (MustAbort(place.error().code)) return Fail(place);
        go_on = visit(slot, chunk, Fail(place));
      } else if (*place) {
        (*place)->watched = watched;
        go_on = visit(slot, chunk, std::move(**place));
      } else if (missing_too) {
        skip = 1;
        go_on = visit(slot, chunk, missing);
      }
    }
    if (!go_on) return {};
    step_to(slot + skip);
  }
  return {};
}

Result<bool> ChunkSource::AnyChunk(std::span<const uint64_t> prefix, Age max_age,
                                   uint64_t* watched) const {
  bool any = false;
  if (watched != nullptr) *watched = 0;
  Result<void> visited;
  auto walked = VisitOuter(prefix, [&](uint64_t outer) {
    visited = VisitChunks(outer, prefix, 0, max_age, [&](uint64_t, uint64_t, const auto& place) {
      any = true;
      if (watched != nullptr && place) *watched = place->watched;
      return false;
    });
    return visited.has_value() && !any;
  });
  if (!walked && MustAbort(walked.error().code)) return Fail(walked);
  if (!visited) return Fail(visited);
  // A folder that cannot be read is not known to be empty.
  return any || !walked;
}

Result<std::vector<uint64_t>> ChunkSource::NextCoordinates(std::span<const uint64_t> prefix,
                                                           Age max_age) const {
  const size_t dimension = prefix.size();
  if (dimension >= layout_.inner_grid.rank()) return std::vector<uint64_t>{};
  const uint64_t per_outer = layout_.inner_per_outer[dimension];
  const uint64_t count = layout_.inner_grid.counts()[dimension];
  std::set<uint64_t> found;
  Result<void> visited;
  ChunkCoordinates wanted{};
  std::ranges::copy(prefix, wanted.begin());
  // Looks in `outer` for the values that are not found yet; false once all its values are.
  const auto search = [&](uint64_t outer) {
    ChunkCoordinates outer_at;
    layout_.outer_grid.Coordinates(outer, outer_at);
    const uint64_t first = outer_at[dimension] * per_outer;
    bool complete = true;
    for (uint64_t value = first; value < std::min(first + per_outer, count); ++value) {
      if (found.contains(value)) continue;
      wanted[dimension] = value;
      visited = VisitChunks(outer, {wanted.data(), dimension + 1}, 0, max_age,
                            [&](uint64_t, uint64_t, const auto&) {
                              found.insert(value);
                              return false;
                            });
      if (!visited) return false;
      complete = complete && found.contains(value);
    }
    return !complete;
  };

  const OuterWalk walk(*store_, folder_, key_encoding_, layout_.outer_grid);
  ChunkCoordinates fixed{};
  for (size_t d = 0; d < dimension; ++d) fixed[d] = prefix[d] / layout_.inner_per_outer[d];
  if (key_encoding_.separator == '/') {
    // Each folder of shards is left as soon as all coordinates that it can give are found.
    auto values = walk.Values({fixed.data(), dimension});
    if (!values) return Fail(values);
    for (const uint64_t value : *values) {
      fixed[dimension] = value;
      auto walked = walk.Visit({fixed.data(), dimension + 1}, search);
      if (!walked && MustAbort(walked.error().code)) return Fail(walked);
      if (!visited) return Fail(visited);
      // Nor is a folder that cannot be read: all that may lie in it is listed.
      const uint64_t first = value * per_outer;
      for (uint64_t at = first; !walked && at < std::min(first + per_outer, count); ++at) {
        found.insert(at);
      }
    }
  } else {
    auto walked = walk.Visit({fixed.data(), dimension}, [&](uint64_t outer) {
      search(outer);
      return visited.has_value();
    });
    if (!walked) return Fail(walked);
    if (!visited) return Fail(visited);
  }
  return std::vector<uint64_t>(found.begin(), found.end());
}

}  // namespace zarrfs
