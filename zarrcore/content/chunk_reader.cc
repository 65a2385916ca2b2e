#include "zarrcore/content/chunk_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/codec/zstd_frame.h"

namespace zarrfs {
namespace {

using Kind = ChunkEncoding::Kind;

// Approximate overhead of a cache entry, in bytes.
constexpr size_t kBytesOfEntry = 256;

// Replaces ChunkFile::encoding_number in the cache keys of decoded elements. No chunk file has this
// number.
constexpr uint32_t kElements = UINT32_MAX;

// Strings are cached as fixed-size items. Their encoding number is one of these constants plus the
// item size, which is smaller than the constants.
constexpr uint32_t kUtf8Items = 1U << 31;
constexpr uint32_t kUtf32Items = kUtf8Items | 1U << 30;
static_assert(kMaxTextChunk < (1U << 30) / sizeof(uint32_t));

// Approximate memory that libzstd needs to encode a frame, in bytes.
constexpr uint64_t kZstdEncoder = 8u << 20;

// Returns the size of the stored chunk in bytes, without the checksums that are left out of the
// chunk file.
Result<uint64_t> StoredSize(const ChunkFile& file) {
  const uint64_t cut = file.cut();
  if (file.location.length >= cut) return file.location.length - cut;
  return Damaged(file, {ErrorCode::kDamaged,
                        fmt::format("a chunk of {} bytes is shorter than its checksum of {}",
                                    file.location.length, cut)});
}

Result<void> ReadStored(const ChunkFile& file, uint64_t offset, std::span<std::byte> out) {
  return ReadChunk(file, file.encoding.cut_front + offset, out);
}

// In slow stores, a chunk of up to kFetchedForHeader bytes that will probably be read is fetched as
// a whole when its zstd header is needed. Any other chunk is fetched as a whole only if that header
// does not state the decoded size, and the chunk has up to kFetchedForBlocks bytes.
constexpr uint64_t kFetchedForHeader = 2u << 20;
constexpr uint64_t kFetchedForBlocks = 512u << 10;

// A value of OpenShard::frame_notes is 0 if nothing is known about the chunk's zstd frame.
// Otherwise, the lowest bits state how the frame is served, and the higher bits are the length of
// the header that a patch replaces, at most 18.
constexpr unsigned kBitsOfKind = 2;

uint8_t NoteOf(const ZstdServing& serving) {
  return static_cast<uint8_t>(serving.replaced << kBitsOfKind |
                              (static_cast<unsigned>(serving.kind) + 1));
}

std::optional<ZstdServing> KnownServing(const ChunkLocation& location) {
  const auto& notes = location.shard->frame_notes;
  const uint8_t note = notes == nullptr ? 0 : notes[location.entry].load(std::memory_order_relaxed);
  if (note == 0) return std::nullopt;
  constexpr unsigned kKind = (1U << kBitsOfKind) - 1;
  return ZstdServing{static_cast<ZstdServing::Kind>((note & kKind) - 1),
                     uint64_t{note} >> kBitsOfKind};
}

// True if a listing of a slow store contained the chunk.
bool WasListed(const ChunkFile& file) {
  const auto& object = file.location.shard->object;
  return !file.source.layout().is_sharded() && object != nullptr && object->was_listed();
}

// Decides how to serve a zstd chunk. `will_be_read`: true if the chunk will probably be read, so
// the whole chunk may be fetched from a slow store.
Result<ZstdServing> ServingOf(const ChunkFile& file, bool will_be_read) {
  if (const auto known = KnownServing(file.location)) return *known;
  const auto size = StoredSize(file);
  if (!size) return Fail(size);
  ChunkFile in_parts = file;
  in_parts.ranges = nullptr;
  const bool is_large =
      file.location.length > (will_be_read ? kFetchedForHeader : kFetchedForBlocks);
  auto serving = ServeZstd(
      *size, file.encoding.size == 0 ? std::nullopt : std::optional(file.encoding.size),
      [&](uint64_t at, std::span<std::byte> to) {
        return ReadStored(is_large || (!will_be_read && at == 0) ? in_parts : file, at, to);
      });
  if (!serving && serving.error().code == ErrorCode::kDamaged) {
    return Damaged(file, serving.error());
  }
  // Stores the result in the OpenShard, because computing it may require a visit to every block of
  // the frame.
  if (const auto& notes = file.location.shard->frame_notes; serving && notes != nullptr) {
    notes[file.location.entry].store(NoteOf(*serving), std::memory_order_relaxed);
  }
  return serving;
}

using Made = ChunkReader::Made;

tl::unexpected<Error> Named(const ChunkFile& file, const Error& error) {
  return Fail(error.code, "{}: {}", file.source.ObjectKey(file.location.outer), error.message);
}

// Returns the error for a chunk that could not be decoded. Reports the error only if the chunk is
// damaged, not if, for example, memory ran out.
tl::unexpected<Error> NotDecoded(const ChunkFile& file, const Error& error) {
  return error.code == ErrorCode::kDamaged ? Damaged(file, error) : Named(file, error);
}

// The peak memory in bytes to make the contents of a kDecoded file from its chunk.
uint64_t MemoryOf(const ChunkFile& file, const Pipeline& pipeline) {
  const ChunkEncoding& encoding = file.encoding;
  const bool is_copied = encoding.is_wide || !encoding.extent.empty();
  const uint64_t as_file = pipeline.decoded_size() + (is_copied ? encoding.size : 0);
  return std::max(pipeline.MemoryToDecode(file.location.length), as_file);
}

Result<Made> DecodeElements(const ChunkFile& file) {
  const ArrayLayout& layout = file.source.layout();
  const auto& pipeline = layout.inner_pipeline;
  if (!pipeline) return Fail(pipeline);
  const uint64_t length = file.location.length;
  // The length comes from a shard index, which may state any number.
  if (length > pipeline->max_encoded_size()) {
    return Damaged(
        file, {ErrorCode::kDamaged,
               fmt::format("a chunk of {} bytes exceeds the maximum of {} for this array", length,
                           pipeline->max_encoded_size())});
  }
  auto memory = ProcessMemory().Take(MemoryOf(file, *pipeline));
  if (!memory) return Named(file, memory.error());
  Bytes encoded(length);
  if (const auto read = ReadChunk(file, 0, encoded); !read) return Fail(read);
  auto decoded = pipeline->Decode(std::move(encoded));
  if (!decoded) return NotDecoded(file, decoded.error());
  return Made{InEncoding(std::move(*decoded), file.encoding, pipeline->data_type(),
                         layout.inner_chunk_shape),
              std::move(*memory)};
}

// Decodes all frames of a zstd chunk, and encodes them as one frame that states its content size.
Result<Made> Recode(const ChunkFile& file) {
  static const auto codec = MakeZstdCodec(CodecSpec{"zstd"});
  if (!codec) return Fail(codec);
  const auto size = StoredSize(file);
  if (!size) return Fail(size);
  const uint64_t limit = file.encoding.size == 0 ? kMaxChunkBytes : file.encoding.size;
  if (limit > kMaxChunkBytes || *size > kMaxChunkBytes) {
    return Fail(ErrorCode::kTooLarge,
                "{}: a chunk of {} bytes exceeds the limit of {} for decoding",
                file.source.ObjectKey(file.location.outer), std::max(limit, *size), kMaxChunkBytes);
  }
  auto memory = ProcessMemory().Take(*size);
  if (!memory) return Named(file, memory.error());
  Bytes encoded(*size);
  if (const auto read = ReadStored(file, 0, encoded); !read) return Fail(read);
  if (const auto checked = ChunkCheck::CheckAll(file, encoded); !checked) return Fail(checked);
  // The decoded size is not known in advance. The decoded and the recoded bytes take at most
  // `bound` each.
  const auto bound = ZstdDecodedBound(encoded, limit);
  if (!bound) return Damaged(file, bound.error());
  auto more = ProcessMemory().Take(2 * *bound + kZstdEncoder, memory->bytes());
  if (!more) return Named(file, more.error());
  memory->Add(std::move(*more));
  auto decoded = (*codec)->Decode(encoded, limit);
  encoded = Bytes();
  if (!decoded) return NotDecoded(file, decoded.error());
  if (file.encoding.size != 0 && decoded->size() != file.encoding.size) {
    return Damaged(file, {ErrorCode::kDamaged, fmt::format("chunk: expected {} bytes, found {}",
                                                           file.encoding.size, decoded->size())});
  }
  auto recoded = (*codec)->Encode(*decoded);
  if (!recoded) return Fail(recoded);
  return Made{std::move(*recoded), std::move(*memory)};
}

Result<Made> DecodeTexts(const ChunkFile& file, const DataType& type) {
  const auto& chain = file.source.layout().inner_texts;
  if (!chain) return Fail(chain);
  const uint64_t length = file.location.length;
  const auto decoded = CheckedMul(chain->count(), type.item_size);
  if (length > kMaxTextChunk || !decoded || *decoded > kMaxChunkBytes) {
    return Named(file, {ErrorCode::kTooLarge, "a chunk has too many strings"});
  }
  auto memory = ProcessMemory().Take(chain->MemoryToDecode(length) + *decoded);
  if (!memory) return Named(file, memory.error());
  Bytes encoded(length);
  if (const auto read = ReadChunk(file, 0, encoded); !read) return Fail(read);
  auto texts = chain->DecodeTexts(std::move(encoded), TextItemsOf(type), type.item_size);
  if (!texts) return NotDecoded(file, texts.error());
  return Made{std::move(*texts), std::move(*memory)};
}

Result<Made> Make(const ChunkFile& file) {
  auto made = file.encoding.kind == Kind::kDecoded ? DecodeElements(file) : Recode(file);
  if (made) ShrinkToFit(made->bytes);
  return made;
}

}  // namespace

bool ChunkReader::KnowsSize(const ChunkEncoding& encoding, const ChunkLocation& location) {
  if (!encoding.must_be_read_for_size()) return true;
  const auto serving = KnownServing(location);
  return serving && serving->kind != ZstdServing::Kind::kRecode;
}

ChunkFile ChunkReader::Wanted(ChunkFile file, uint64_t offset) {
  file.ranges = ranges_.get();
  if (ranges_ && on_wanted_ && offset == 0) on_wanted_(file);
  return file;
}

void ChunkReader::Evict(size_t bytes) {
  const uint64_t before = ranges_ ? ranges_->statistics().bytes : 0;
  if (ranges_) ranges_->Evict(bytes);
  if (bytes > before) cache_.Evict(bytes - before);
}

CacheStatistics ChunkReader::statistics() const {
  CacheStatistics all = cache_.statistics();
  if (!ranges_) return all;
  const CacheStatistics stored = ranges_->statistics();
  all.hits += stored.hits;
  all.misses += stored.misses;
  all.evictions += stored.evictions;
  all.bytes += stored.bytes;
  all.limit += stored.limit;
  all.entries += stored.entries;
  return all;
}

ChunkReader::Cache::Loaded ChunkReader::Keep(Made made, size_t beside) {
  const size_t charge = made.bytes.capacity() + beside;
  made.memory.ShrinkTo(charge);
  const auto kept = std::make_shared<const Made>(std::move(made));
  return {std::shared_ptr<const Bytes>(kept, &kept->bytes), charge};
}

Result<std::shared_ptr<const Bytes>> ChunkReader::Decoded(const ChunkFile& file,
                                                          const DataType* texts, Reuse reuse) {
  const OpenShard& shard = *file.location.shard;
  const Key key{file.source.id(), file.chunk, shard.fingerprint, file.encoding_number};
  const auto load = [&] {
    return (texts != nullptr ? DecodeTexts(file, *texts) : Make(file)).map([](Made made) {
      return Keep(std::move(made), kBytesOfEntry);
    });
  };
  const bool is_racy = file.source.IsRacy(shard);
  if (!is_racy && reuse == Reuse::kLikely) return cache_.GetOrLoad(key, load);
  if (!is_racy) {
    if (auto kept = cache_.Get(key)) return kept;
  }
  return load().map([](const Cache::Loaded& loaded) { return loaded.value; });
}

std::shared_ptr<const Bytes> ChunkReader::Find(const Window& window) {
  auto kept = cache_.Get(KeyOf(window));
  return kept != nullptr && kept->size() == window.bytes ? kept : nullptr;
}

Result<std::shared_ptr<const Bytes>> ChunkReader::Get(const Window& window,
                                                      const std::function<Result<Made>()>& make) {
  // Charges a window without the overhead of its cache entry, because a window may be as large as
  // the cache, and few windows are used at a time.
  auto got = cache_.GetOrLoad(KeyOf(window), [&] {
    return make().map([](Made made) { return Keep(std::move(made), 0); });
  });
  // The size of windows depends on the capacity of the cache, so a cached window has another size
  // if the capacity has changed.
  if (got && (*got)->size() != window.bytes) return Fail(ErrorCode::kUnsupported, "another window");
  return got;
}

Result<uint64_t> ChunkReader::Size(const ChunkFile& file) {
  if (file.encoding.kind == Kind::kDecoded) return file.encoding.size;
  auto stored = StoredSize(file);
  if (!stored || file.encoding.kind == Kind::kPassThrough) return stored;
  ChunkFile looked_at = file;
  looked_at.ranges = ranges_.get();
  const bool will_be_read = WillBeRead(looked_at);
  const auto serving = ServingOf(will_be_read ? Wanted(file) : looked_at, will_be_read);
  if (!serving) return Fail(serving);
  switch (serving->kind) {
    case ZstdServing::Kind::kPass:
      return stored;
    case ZstdServing::Kind::kPatch:
      return *stored - serving->replaced + serving->patched_size();
    case ZstdServing::Kind::kRecode:
      break;
  }
  return Decoded(Wanted(file)).map([](const auto& decoded) { return uint64_t{decoded->size()}; });
}

Result<std::shared_ptr<const Bytes>> ChunkReader::Elements(const ChunkSource& source,
                                                           InnerIndex chunk,
                                                           const ChunkLocation& location,
                                                           Reuse reuse) {
  const auto& pipeline = source.layout().inner_pipeline;
  if (!pipeline) return Fail(pipeline);
  const ChunkEncoding elements{.kind = Kind::kDecoded, .size = pipeline->decoded_size()};
  const ChunkFile file = Wanted({source, elements, kElements, chunk, location});
  if (auto checked = check_.CheckShards(file); !checked) return Fail(checked);
  return Decoded(file, nullptr, reuse);
}

Result<std::shared_ptr<const Bytes>> ChunkReader::Texts(const ChunkSource& source, InnerIndex chunk,
                                                        const ChunkLocation& location,
                                                        const DataType& type, Reuse reuse) {
  const uint32_t items = TextItemsOf(type) == TextItems::kUtf32 ? kUtf32Items : kUtf8Items;
  const auto number = items | static_cast<uint32_t>(type.item_size);
  const ChunkEncoding encoding;
  const ChunkFile file = Wanted({source, encoding, number, chunk, location});
  if (auto checked = check_.CheckShards(file); !checked) return Fail(checked);
  return Decoded(file, &type, reuse);
}

bool ChunkReader::WillBeRead(const ChunkFile& file) {
  if (ranges_ == nullptr || KnownServing(file.location)) return true;
  if (ranges_->Has(file.source, file.location)) return true;
  // A chunk that was looked up is usually read next, but few of the chunks in a listing are read.
  const uint64_t length = file.location.length;
  const auto& object = file.location.shard->object;
  if (WasListed(file) || (!file.source.layout().is_sharded() && object != nullptr &&
                          object->came_with_first_bytes())) {
    return false;
  }
  return length <= kFetchedForHeader && size_credit_.Spend(length);
}

Result<ChunkReader::Piece> ChunkReader::Read(const ChunkFile& asked, uint64_t offset,
                                             std::span<std::byte> buffer) {
  const bool may_have_been_fetched = asked.encoding.kind == Kind::kPatchedZstd && offset == 0;
  if (may_have_been_fetched) size_credit_.Earn(asked.location.length);
  const ChunkFile file = Wanted(asked, offset);
  if (const auto checked = check_.CheckShards(file); !checked) return Fail(checked);
  const auto piece_of = [&](const std::shared_ptr<const Bytes>& bytes) {
    const size_t from = std::min<uint64_t>(offset, bytes->size());
    const size_t length = std::min(buffer.size(), bytes->size() - from);
    return Piece{std::span(*bytes).subspan(from, length), bytes};
  };
  Result<ZstdServing> serving{};
  if (file.encoding.kind == Kind::kPatchedZstd) serving = ServingOf(file, /*will_be_read=*/true);
  if (!serving) return Fail(serving);
  if (file.encoding.kind == Kind::kDecoded || serving->kind == ZstdServing::Kind::kRecode) {
    return Decoded(file).map(piece_of);
  }

  const auto stored = StoredSize(file);
  if (!stored) return Fail(stored);
  const uint64_t patched = serving->patched_size();
  const uint64_t size = *stored - serving->replaced + patched;
  if (offset >= size) return Piece{};
  const auto out = buffer.first(std::min<uint64_t>(buffer.size(), size - offset));
  const size_t of_header = std::min<uint64_t>(out.size(), patched - std::min(offset, patched));
  const auto rest = out.subspan(of_header);
  Bytes header(of_header > 0 ? serving->replaced : 0);
  const uint64_t from =
      rest.empty() ? header.size() : offset + of_header - patched + serving->replaced;
  const uint64_t begin = from - header.size();
  auto reading = check_.Begin(file, begin, from + rest.size());
  if (!reading) return Fail(reading);
  if (of_header > 0) {
    if (const auto read = ReadStored(file, 0, header); !read) return Fail(read);
    const Bytes served = PatchZstdHeader(header, file.encoding.size);
    std::copy_n(served.data() + offset, of_header, out.data());
  }
  if (const auto read = ReadStored(file, from, rest); !read) return Fail(read);
  if (const auto checked = reading->End(file, begin, header, rest); !checked) return Fail(checked);
  return Piece{out, nullptr};
}

}  // namespace zarrfs
