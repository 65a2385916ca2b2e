#include "zarrcore/array/shard_reader.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/codec/checksum.h"

namespace zarrfs {
namespace {

// Maximum size of one read of an index, in bytes. Longer indexes are read piece by piece, once the
// object is known to be long enough to contain the index.
constexpr uint64_t kIndexPiece = 1u << 20;

// Few shards decode to more than kLikelyRatio times their size, so this ratio limits the first
// attempt to decode a shard. For shards smaller than kSmallShard, the limit is kLikelyRatio *
// kSmallShard bytes.
constexpr uint64_t kLikelyRatio = 8;
constexpr uint64_t kSmallShard = 1u << 20;
constexpr uint64_t kAnyRatio = UINT64_MAX;

// The decoded bytes of a stored object, from which nested chunks are read.
class DecodedObject final : public Object {
 public:
  DecodedObject(ObjectInfo info, Bytes bytes) : info_(std::move(info)), bytes_(std::move(bytes)) {}

  const ObjectInfo& info() const override { return info_; }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "decoded shard: {} bytes at {} exceed its size of {}",
                  out.size(), offset, bytes_.size());
    }
    std::ranges::copy(std::span(bytes_).subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  const ObjectInfo info_;
  const Bytes bytes_;
};

std::shared_ptr<OpenShard> MakeShard(std::shared_ptr<const Object> object, uint32_t step) {
  auto shard = std::make_shared<OpenShard>();
  shard->info = object->info();
  shard->fingerprint = shard->info.version.Fingerprint();
  shard->size = shard->info.size();
  shard->object = std::move(object);
  shard->step = step;
  return shard;
}

// Returns true if the shard's size, `bytes`, is at least that of its index, `need`. Otherwise, sets
// the shard's damage and returns false. `what` begins the message.
bool HasRoom(OpenShard& shard, std::string_view what, uint64_t bytes, uint64_t need) {
  if (bytes >= need) return true;
  shard.damage = Error{ErrorCode::kDamaged,
                       fmt::format("{} {} bytes, fewer than its index of {}", what, bytes, need)};
  return false;
}

}  // namespace

ShardReader::ShardReader(const Store& store, const ArrayLayout& layout)
    : store_(store),
      layout_(layout),
      has_frames_(std::ranges::any_of(layout.inner_codecs,
                                      [](const CodecSpec& codec) {
                                        return codec.name == "zstd" ||
                                               codec.name == "numcodecs.zstd";
                                      })),
      has_checksums_(!layout.inner_codecs.empty() &&
                     Checksum::Of(layout.inner_codecs.back()).value_or(std::nullopt).has_value()) {}

IndexCache::Loaded ShardReader::Loaded(std::shared_ptr<OpenShard> shard) const {
  size_t charge = sizeof(OpenShard) + 256 + (shard->index ? shard->index->memory_bytes() : 0);
  if (shard->is_in_memory) charge += shard->size;
  charge += shard->guarded.size() * sizeof(OpenShard::Guarded);
  if (!shard->damage) {
    const size_t entries = layout_.is_sharded() ? shard->index->entries() : 1;
    for (const auto& [has_them, notes] : {std::pair(has_frames_, &shard->frame_notes),
                                          std::pair(has_checksums_, &shard->checksum_notes)}) {
      if (!has_them) continue;
      *notes = std::make_unique<std::atomic<uint8_t>[]>(entries);
      charge += entries;
    }
  }
  shard->memory.ShrinkTo(charge);
  return {std::move(shard), charge};
}

Result<void> ShardReader::ReadIndex(const ShardIndexSpec& spec, OpenShard& shard,
                                    BytesView encoded) const {
  auto memory = ProcessMemory().Take(spec.MemoryToDecode(), shard.memory.bytes());
  if (!memory) {
    return Fail(memory.error().code, "a shard index of {} chunks {}", spec.entries(),
                memory.error().message);
  }
  shard.memory.Add(std::move(*memory));
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

Result<IndexCache::Loaded> ShardReader::ReadOuter(OuterIndex outer, const std::string& key) const {
  if (!layout_.is_sharded()) {
    auto answer = store_.Read(key, ByteRange::At(0, 0), {});
    if (!answer) return Fail(answer);
    return Loaded(MakeShard(std::move(answer->object), answer->step));
  }
  const ShardingLevel& level = layout_.levels.front();
  if (!layout_.outers_differ()) return ReadShard(key, level.index);
  ChunkCoordinates counts;
  layout_.CountsOf(outer, counts);
  const auto spec = ShardIndexSpec::Make({counts.data(), level.axes.size()}, level.index_codecs,
                                         level.index.at_end());
  if (!spec) return Fail(spec.error().code, "{}: {}", key, spec.error().message);
  return ReadShard(key, *spec);
}

Result<IndexCache::Loaded> ShardReader::ReadShard(const std::string& key,
                                                  const ShardIndexSpec& spec) const {
  const ShardingLevel& level = layout_.levels.front();
  if (!level.around.empty()) return ReadDecoded(key, spec);
  const uint64_t index_size = spec.encoded_size();
  const uint64_t tail = level.trailing_checksum;
  const uint64_t first = std::min(kIndexPiece, index_size + (spec.at_end() ? tail : 0));
  Bytes buffer(first);
  auto answer =
      store_.Read(key, spec.at_end() ? ByteRange::Suffix(first) : ByteRange::At(0, first), buffer);
  if (!answer) return Fail(answer);
  auto shard = MakeShard(std::move(answer->object), answer->step);
  if (!HasRoom(*shard, "the shard has", shard->size, index_size + tail)) {
    return Loaded(std::move(shard));
  }
  shard->size -= tail;
  if (tail > 0) shard->guarded.push_back({0, shard->size, tail});
  const uint64_t index_offset = spec.at_end() ? shard->size - index_size : 0;
  const bool is_read = answer->offset <= index_offset &&
                       index_offset + index_size <= answer->offset + answer->length;
  const BytesView encoded =
      is_read ? BytesView(buffer).subspan(index_offset - answer->offset, index_size) : BytesView();
  if (auto read = ReadIndex(spec, *shard, encoded); !read) {
    return Fail(read.error().code, "{}: {}", key, read.error().message);
  }
  return Loaded(std::move(shard));
}

Result<IndexCache::Loaded> ShardReader::ReadDecoded(const std::string& key,
                                                    const ShardIndexSpec& spec) const {
  auto loaded = ReadDecoded(key, spec, kLikelyRatio);
  // A valid shard may decode to more than kLikelyRatio allows, so a shard that exceeded the limit
  // is decoded again without it.
  const bool was_limited = loaded && loaded->value->damage &&
                           MaxDecodedSize(loaded->value->info.size(), kLikelyRatio) <
                               MaxDecodedSize(loaded->value->info.size(), kAnyRatio);
  return was_limited ? ReadDecoded(key, spec, kAnyRatio) : std::move(loaded);
}

Result<IndexCache::Loaded> ShardReader::ReadDecoded(const std::string& key,
                                                    const ShardIndexSpec& spec,
                                                    uint64_t max_ratio) const {
  const ShardingLevel& level = layout_.levels.front();
  MemoryBudget::Share memory;
  uint64_t limit = 0;
  const auto take = [&](uint64_t size) -> Result<void> {
    memory.ShrinkTo(0);
    limit = MaxDecodedSize(size, max_ratio);
    auto taken = ProcessMemory().Take(std::max(2 * size, level.around.MemoryToDecode(size, limit)));
    if (!taken) return Fail(taken.error().code, "{}: {}", key, taken.error().message);
    memory = std::move(*taken);
    return {};
  };
  auto whole = ReadWhole(store_, key, kMaxChunkBytes, take);
  if (!whole) return Fail(whole);
  if (memory.bytes() == 0) {
    if (auto taken = take(whole->bytes.size()); !taken) return Fail(taken);
  }
  auto shard = MakeShard(whole->object, whole->step);
  shard->memory = std::move(memory);
  const auto text = std::as_bytes(std::span(whole->bytes));
  Bytes encoded(text.begin(), text.end());
  whole->bytes = std::string();
  auto bytes = level.around.Decode(std::move(encoded), limit);
  if (!bytes) {
    if (bytes.error().code != ErrorCode::kDamaged) {
      return Fail(bytes.error().code, "{}: {}", key, bytes.error().message);
    }
    shard->damage = bytes.error();
    return Loaded(std::move(shard));
  }
  // Shrink only if at least half of the capacity is unused, because the copy needs memory that is
  // not reserved. Bytes past the end were never written, so they occupy no memory.
  if (bytes->size() <= bytes->capacity() / 2) bytes->shrink_to_fit();
  shard->size = bytes->size();
  shard->memory.ShrinkTo(shard->size);
  const uint64_t index_size = spec.encoded_size();
  if (!HasRoom(*shard, "the shard decodes to", shard->size, index_size)) {
    return Loaded(std::move(shard));
  }
  const BytesView index =
      BytesView(*bytes).subspan(spec.at_end() ? shard->size - index_size : 0, index_size);
  if (auto read = ReadIndex(spec, *shard, index); !read) return Fail(read);
  if (shard->damage) return Loaded(std::move(shard));
  shard->object = std::make_shared<const DecodedObject>(shard->info, std::move(*bytes));
  shard->is_in_memory = true;
  return Loaded(std::move(shard));
}

Result<IndexCache::Loaded> ShardReader::ReadNested(const OpenShard& parent, uint32_t level,
                                                   const ChunkRange& range) const {
  const ShardingLevel& spec = layout_.levels[level];
  auto shard = std::make_shared<OpenShard>();
  shard->object = parent.object;
  shard->info = parent.info;
  shard->fingerprint = parent.fingerprint;
  shard->step = parent.step;
  shard->offset = parent.offset + range.offset;
  const uint64_t index_size = spec.index.encoded_size();
  if (!HasRoom(*shard, "a nested shard has", range.length, index_size + spec.trailing_checksum)) {
    return Loaded(std::move(shard));
  }
  shard->size = range.length - spec.trailing_checksum;
  shard->guarded = parent.guarded;
  if (spec.trailing_checksum > 0) {
    shard->guarded.push_back({shard->offset, shard->size, spec.trailing_checksum});
  }
  if (auto read = ReadIndex(spec.index, *shard); !read) return Fail(read);
  return Loaded(std::move(shard));
}

uint64_t ShardReader::MaxDecodedSize(uint64_t size, uint64_t max_ratio) const {
  const uint64_t likely = std::min(
      CheckedMul(std::max(size, kSmallShard), max_ratio).value_or(kMaxChunkBytes), kMaxChunkBytes);
  const auto& pipeline = layout_.inner_pipeline;
  if (!pipeline || layout_.levels.size() > 1) return likely;
  const auto chunks = CheckedMul(pipeline->max_encoded_size(), layout_.inner_per_outer_count);
  const auto all =
      chunks ? CheckedAdd(*chunks, layout_.levels.front().index.encoded_size()) : std::nullopt;
  // Allows twice the total size of the chunks, because writers that replace chunks in a shard may
  // leave the old chunks in the shard.
  const auto twice = all ? CheckedMul(*all, 2) : std::nullopt;
  return std::min(twice.value_or(likely), likely);
}

}  // namespace zarrfs
