#include "zarrcore/hierarchy/scan.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/content/element_reader.h"

namespace zarrfs {
namespace {

constexpr uint64_t kMaxScannedBytes = 1u << 20;
constexpr uint64_t kMaxScannedChunks = 64;
constexpr uint64_t kMaxChunks = 4096;  // limit for arrays of strings and one-dimensional arrays
// Maximum decoded size of one-dimensional arrays, as a multiple of `string_scan`.
constexpr uint64_t kMaxExpansion = 16;
// Number of chunks that are looked up concurrently in a slow store.
constexpr size_t kLookedForAtOnce = 64;
constexpr int kMaxScanAttempts = 3;  // maximum attempts to read a chunk that is being replaced

// The stored chunks of an array: a digest of their versions, and their total size.
struct Stored {
  Digest digest;
  Validity validity;
  uint64_t bytes = 0;
  bool has_missing = false;
};

// `is_fast`: the store answers without delay, so chunks are looked up one after the other.
Result<Stored> FindStored(const Node& array, Age max_age, bool is_fast) {
  const ChunkSource& source = *array.chunks;
  Stored stored;
  DigestBuilder objects;
  objects.Add(ChunksText(*array.array())).Add(array.array()->fill_value);
  std::vector<Result<Located>> all(source.layout().inner_grid.size());
  AtOnce(all.size(), is_fast ? 1 : kLookedForAtOnce, [&](size_t chunk) {
    all[chunk] = source.Locate(InnerIndex{chunk}, max_age, /*may_read=*/false);
  });
  for (uint64_t chunk = 0; chunk < all.size(); ++chunk) {
    const auto& found = all[chunk];
    if (!found) return Fail(found);
    stored.validity = chunk == 0 ? found->validity : stored.validity & found->validity;
    const auto& at = found->location;
    objects.Add(at ? at->shard->fingerprint : 0).Add(at ? at->offset : 0).Add(at ? at->length : 0);
    stored.has_missing = stored.has_missing || !at;
    if (!at) continue;
    const auto bytes = CheckedAdd(stored.bytes, at->length);
    if (!bytes) return Fail(ErrorCode::kDamaged, "{}: chunks of more than 2^64 bytes", array.path);
    stored.bytes = *bytes;
    // While an object's version is racy, it does not identify the content. So adds a random number,
    // which makes the digest different each time.
    if (source.IsRacy(*at->shard)) objects.Add(uint64_t{std::random_device{}()});
  }
  stored.digest = objects.Finish();
  return stored;
}

Result<TextRange> RangeOfChunk(const ChunkSource& source, const ChunkLocation& at) {
  const auto& chain = source.layout().inner_texts;
  const auto memory = ProcessMemory().Take(chain->MemoryToDecode(at.length));
  if (!memory) return Fail(memory);
  Bytes encoded(at.length);
  if (const auto read = at.shard->object->Read(at.offset, encoded); !read) return Fail(read);
  auto range = chain->RangeOfTexts(std::move(encoded));
  if (!range && range.error().code == ErrorCode::kDamaged) {
    return tl::unexpected(source.Damage(at.outer, *at.shard, range.error()));
  }
  return range;
}

// Returns the range of the lengths of the strings in a chunk. A chunk that is not stored counts as
// a chunk without strings.
Result<TextRange> RangeOfChunk(const ChunkSource& source, InnerIndex chunk) {
  for (int attempt = 1;; ++attempt) {
    const auto found = source.Locate(chunk, attempt == 1 ? kAnyAge : Age{0});
    if (!found) return Fail(found);
    if (!found->location) return TextRange{};
    if (found->location->length > kMaxTextChunk) {
      return Fail(ErrorCode::kTooLarge,
                  "{}: a chunk with {} bytes of strings exceeds the limit of {} for decoding",
                  source.ObjectKey(found->location->outer), found->location->length, kMaxTextChunk);
    }
    auto range = RangeOfChunk(source, *found->location);
    const bool is_replaced = !range && range.error().code == ErrorCode::kStale;
    if (!is_replaced || attempt == kMaxScanAttempts) return range;
    source.Forget(found->location->outer);
  }
}

Result<void> LookAtTexts(const Node& array, const Stored& stored, uint64_t string_scan,
                         Scan& scan) {
  const ChunkSource& source = *array.chunks;
  if (const auto& chain = source.layout().inner_texts; !chain) return Fail(chain);
  if (stored.bytes > string_scan) {
    scan.why_not =
        fmt::format("the length of its strings is unknown: {} bytes exceed string_scan={}",
                    stored.bytes, string_scan);
    return {};
  }
  TextRange all{.bytes = 1, .characters = 1};
  if (stored.has_missing) all.Add(RangeOfText(array.array()->fill_value));
  for (uint64_t chunk = 0; chunk < source.layout().inner_grid.size(); ++chunk) {
    const auto range = RangeOfChunk(source, InnerIndex{chunk});
    if (!range) return Fail(range);
    all.Add(*range);
  }
  if (all.has_zero) {
    scan.why_not = "a string contains a NUL character, which would end it";
  } else {
    scan.range = ElementRange{.text_bytes = all.bytes, .text_characters = all.characters};
  }
  return {};
}

// True if a one-dimensional array, such as a coordinate, is small enough to be scanned chunk by
// chunk.
bool MayLookAtAxis(const Node& array, const Stored& stored, uint64_t string_scan) {
  const ArrayMetadata& metadata = *array.array();
  if (metadata.rank() != 1 || stored.bytes > string_scan) return false;
  const auto bytes = CheckedProduct(metadata.shape, metadata.data_type.item_size);
  const auto most = CheckedMul(string_scan, kMaxExpansion);
  return bytes && (!most || *bytes <= *most);
}

Result<void> LookAtAxis(const Node& array, Age max_age, Scan& scan) {
  const ArrayMetadata& metadata = *array.array();
  const size_t item_size = metadata.data_type.item_size;
  const uint64_t of_chunk = std::max<uint64_t>(array.chunks->layout().inner_chunk_shape[0], 1);
  // Reads whole chunks at a time, so each chunk is decoded once.
  const uint64_t at_once =
      of_chunk * std::max<uint64_t>(kMaxScannedBytes / item_size / of_chunk, 1);
  ChunkReader decoded(kMaxScannedBytes);
  const ElementReader reader(metadata, *array.chunks, decoded, max_age, {}, nullptr, Reuse::kNever);
  ElementRange all{.fits_int32 = true};
  for (uint64_t first = 0; first < metadata.shape[0] && all.fits_int32;) {
    const uint64_t elements = std::min(at_once, metadata.shape[0] - first);
    const auto memory = ProcessMemory().Take(elements * item_size);
    if (!memory) return Fail(memory);
    Bytes bytes(elements * item_size);
    if (const auto read = reader.Read(first, bytes); !read) return Fail(read);
    const auto range = RangeOf(bytes, metadata.data_type);
    if (!range) {
      scan.why_not = "elements of this type cannot be scanned";
      return {};
    }
    all.fits_int32 = range->fits_int32;
    first += elements;
  }
  scan.range = all;
  return {};
}

Result<void> LookAtOthers(const Node& array, Age max_age, Scan& scan) {
  const ArrayMetadata& metadata = *array.array();
  const auto bytes = CheckedProduct(metadata.shape, metadata.data_type.item_size);
  scan.why_not = "too many elements to scan";
  if (!bytes || *bytes > kMaxScannedBytes) return {};
  const auto memory = ProcessMemory().Take(*bytes);
  if (!memory) return Fail(memory);
  Bytes elements(*bytes);
  ChunkReader decoded(kMaxScannedBytes);
  const ElementReader reader(metadata, *array.chunks, decoded, max_age, {});
  if (const auto read = reader.Read(0, elements); !read) return Fail(read);
  scan.range = RangeOf(elements, metadata.data_type);
  return {};
}

}  // namespace

Scan ScanElements(const Store& store, const Node& array, Age max_age, uint64_t string_scan,
                  const Scan* known) {
  const bool is_text = array.array()->data_type.kind == DataKind::kString;
  Scan scan;
  scan.validity = Moment::Now(store).validity();
  const uint64_t chunks = array.chunks->layout().inner_grid.size();
  const bool is_axis = array.array()->rank() == 1 &&
                       (IsNumber(array.array()->data_type) || array.array()->data_type.is_date());
  const uint64_t most = is_text || is_axis ? kMaxChunks : kMaxScannedChunks;
  if (chunks > most) {
    scan.why_not = fmt::format(
        "the length of its strings is unknown: {} chunks exceed the limit of {} for scanning",
        chunks, most);
    return scan;
  }
  const auto stored = FindStored(array, max_age, store.AnswersFast() || !MayWait());
  if (!stored) {
    scan.failure = stored.error();
    return scan;
  }
  if (chunks > 0) scan.validity &= stored->validity;
  scan.objects = stored->digest;
  if (known != nullptr && known->objects == scan.objects) {
    scan.range = known->range;
    scan.why_not = known->why_not;
    return scan;
  }
  const auto look = [&]() -> Result<void> {
    if (is_text) return LookAtTexts(array, *stored, string_scan, scan);
    if (is_axis && MayLookAtAxis(array, *stored, string_scan)) {
      return LookAtAxis(array, max_age, scan);
    }
    return LookAtOthers(array, max_age, scan);
  };
  const auto looked = look();
  if (!looked) {
    scan.failure = looked.error();
    scan.objects = {};  // matches no other digest, so the next scan reads the chunks again
  }
  return scan;
}

}  // namespace zarrfs
