#include "zarrcore/content/chunk_check.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs {
namespace {

// The number of bytes per read when a chunk is read again to verify its checksum.
constexpr uint64_t kPiece = 256u << 10;

ChecksumNote NoteIn(const ChunkLocation& location) {
  const auto* const note = NoteOf(*location.shard, location.entry);
  return note == nullptr ? ChecksumNote::kUnknown
                         : static_cast<ChecksumNote>(note->load(std::memory_order_relaxed));
}

void SetNote(const ChunkFile& file, ChecksumNote note) {
  const OpenShard& shard = *file.location.shard;
  if (note == ChecksumNote::kGood && file.source.IsRacy(shard)) return;
  if (auto* const to = NoteOf(shard, file.location.entry)) {
    to->store(static_cast<uint8_t>(note), std::memory_order_relaxed);
  }
}

bool AllCombine(const ChunkEncoding& encoding) {
  return std::ranges::all_of(encoding.checksums, &Checksum::combines);
}

SumKinds KindsOf(const ChunkEncoding& encoding) {
  SumKinds kinds{};
  for (const Checksum& checksum : encoding.checksums) {
    if (checksum.combines()) kinds[static_cast<size_t>(checksum.kind())] = true;
  }
  return kinds;
}

// Computes `checksum` over the bytes that it covers: `front`, the contents of the chunk file, then
// `back`. `front` and `back` are inner checksums that are stored with the chunk, but left out of
// the chunk file that the view shows.
using SumCovered =
    std::function<uint32_t(const Checksum& checksum, BytesView front, BytesView back)>;

Result<void> Compare(const ChunkFile& file, const SumCovered& sum) {
  Bytes front(file.encoding.cut_front);
  Bytes back(file.encoding.cut_back);
  if (!front.empty()) {
    if (auto read = ReadChunk(file, 0, front); !read) return read;
  }
  if (!back.empty()) {
    if (auto read = ReadChunk(file, file.location.length - back.size(), back); !read) return read;
  }
  BytesView before = front;
  BytesView behind = back;
  for (const Checksum& checksum : file.encoding.checksums) {
    BytesView& side = checksum.at_start() ? before : behind;
    const size_t at = checksum.at_start() ? 0 : side.size() - kChecksumBytes;
    const auto stored = LoadLittle<uint32_t>(side.data() + at);
    side = checksum.at_start() ? side.subspan(kChecksumBytes) : side.first(at);
    const auto compared = checksum.Compare(stored, sum(checksum, before, behind));
    if (compared) continue;
    SetNote(file, ChecksumNote::kBad);
    return Damaged(file, compared.error());
  }
  SetNote(file, ChecksumNote::kGood);
  return {};
}

Result<void> CompareSums(const ChunkFile& file, const Sums& sums) {
  const uint64_t size = file.location.length - file.cut();
  return Compare(file, [&](const Checksum& checksum, BytesView front, BytesView back) {
    const auto kind = checksum.kind();
    uint32_t all = sums[static_cast<size_t>(kind)];
    if (!front.empty()) all = Checksum::Combine(kind, checksum.Sum(front), all, size);
    if (!back.empty()) all = Checksum::Combine(kind, all, checksum.Sum(back), back.size());
    return all;
  });
}

// Checks a chunk file whose bytes, `head` and then `rest`, are in memory. Works for all checksums,
// including those that cannot be combined from parts.
Result<void> CompareBytes(const ChunkFile& file, BytesView head, BytesView rest) {
  return Compare(file, [&](const Checksum& checksum, BytesView front, BytesView back) {
    if (front.empty() && back.empty() && head.empty()) return checksum.Sum(rest);
    Bytes covered;
    for (const BytesView piece : {front, head, rest, back}) {
      covered.insert(covered.end(), piece.begin(), piece.end());
    }
    return checksum.Sum(covered);
  });
}

Result<void> ReadWholeAndCompare(const ChunkFile& file) {
  const uint64_t size = file.location.length - file.cut();
  const bool in_pieces = AllCombine(file.encoding);
  auto memory = ProcessMemory().Take(in_pieces ? std::min(size, kPiece) : 2 * size);
  if (!memory) return Fail(memory);
  Bytes bytes(in_pieces ? std::min(size, kPiece) : size);
  const SumKinds kinds = KindsOf(file.encoding);
  Sums sums = SumsOf({}, kinds);
  for (uint64_t at = 0; at < size; at += bytes.size()) {
    const auto piece = std::span(bytes).first(std::min<uint64_t>(bytes.size(), size - at));
    if (auto read = ReadChunk(file, file.encoding.cut_front + at, piece); !read) return read;
    if (in_pieces) sums = Combine(sums, SumsOf(piece, kinds), piece.size(), kinds);
  }
  return in_pieces ? CompareSums(file, sums) : CompareBytes(file, {}, bytes);
}

// Checks the crc32c checksums that follow a range of the stored object. Returns the mismatch, if
// any, or an error if a read fails.
Result<std::optional<Error>> CheckGuarded(const ChunkFile& file,
                                          const OpenShard::Guarded& guarded) {
  const ChunkLocation all{file.location.shard, file.location.entry, file.location.outer,
                          guarded.offset, guarded.size + guarded.tail};
  const ChunkFile range{file.source, file.encoding, file.encoding_number,
                        file.chunk,  all,           file.ranges};
  auto memory = ProcessMemory().Take(kPiece);
  if (!memory) return Fail(memory);
  Bytes bytes(kPiece);
  Crc32cSum sum;
  for (uint64_t at = 0; at < guarded.size;) {
    const auto piece = std::span(bytes).first(std::min<uint64_t>(kPiece, guarded.size - at));
    if (auto read = ReadChunk(range, at, piece); !read) return Fail(read);
    sum.Add(piece);
    at += piece.size();
  }
  for (uint64_t at = guarded.size; at < all.length; at += kChecksumBytes) {
    const auto stored = std::span(bytes).first(kChecksumBytes);
    if (auto read = ReadChunk(range, at, stored); !read) return Fail(read);
    const auto value = LoadLittle<uint32_t>(stored.data());
    if (value != sum.value()) {
      return Error{ErrorCode::kDamaged, fmt::format("checksum of the shard {:#010x}, computed "
                                                    "{:#010x}",
                                                    value, sum.value())};
    }
    sum.Add(stored);
  }
  return std::nullopt;
}

}  // namespace

bool ChunkCheck::CanCheck(const ChunkEncoding& encoding, uint64_t size) {
  return AllCombine(encoding) || size <= kMaxReread;
}

Result<void> ChunkCheck::CheckShards(const ChunkFile& file) {
  const OpenShard& shard = *file.location.shard;
  for (const OpenShard::Guarded& guarded : shard.guarded) {
    if (guarded.size + guarded.tail > kMaxShard) continue;
    const auto check = [&] {
      return CheckGuarded(file, guarded).map([](std::optional<Error> wrong) {
        return LruCache<Key, std::optional<Error>, KeyHash>::Loaded{
            std::make_shared<const std::optional<Error>>(std::move(wrong)), kBytesOfEntry};
      });
    };
    const Key key{file.source.id(), file.location.outer,           shard.fingerprint,
                  guarded.offset,   guarded.offset + guarded.size, true};
    const auto checked = file.source.IsRacy(shard)
                             ? check().map([](const auto& loaded) { return loaded.value; })
                             : checked_.GetOrLoad(key, check);
    if (!checked) return Fail(checked);
    if (const std::optional<Error>& wrong = **checked) return Damaged(file, *wrong);
  }
  return {};
}

Result<void> ChunkCheck::CheckAll(const ChunkFile& file, BytesView head, BytesView rest) {
  if (file.encoding.checksums.empty()) return {};
  if (!AllCombine(file.encoding)) return CompareBytes(file, head, rest);
  const SumKinds kinds = KindsOf(file.encoding);
  Sums sums = SumsOf(rest, kinds);
  if (!head.empty()) sums = Combine(SumsOf(head, kinds), sums, rest.size(), kinds);
  return CompareSums(file, sums);
}

Result<void> ChunkCheck::ReadAgain(const ChunkFile& file) {
  const OpenShard& shard = *file.location.shard;
  if (file.source.IsRacy(shard)) return ReadWholeAndCompare(file);
  const Key key{file.source.id(),
                file.location.outer,
                shard.fingerprint,
                file.location.offset,
                file.location.offset + file.location.length,
                false};
  // Threads that need the same chunk wait for the thread that reads it. Mismatches are not cached.
  const auto read = checked_.GetOrLoad(key, [&] {
    return ReadWholeAndCompare(file).map([] {
      return LruCache<Key, std::optional<Error>, KeyHash>::Loaded{
          std::make_shared<const std::optional<Error>>(), kBytesOfEntry};
    });
  });
  if (!read) return Fail(read);
  SetNote(file, ChecksumNote::kGood);
  return {};
}

Result<ChunkCheck::Reading> ChunkCheck::Begin(const ChunkFile& file, uint64_t begin, uint64_t end) {
  Reading reading;
  const ChunkEncoding& encoding = file.encoding;
  if (encoding.checksums.empty()) return reading;
  const ChecksumNote note = NoteIn(file.location);
  if (note == ChecksumNote::kGood) return reading;
  const uint64_t size = file.location.length - file.cut();
  if (begin == 0 && end == size) {
    reading.is_whole_ = true;
    return reading;
  }
  const auto read_again = [&]() -> Result<Reading> {
    if (auto checked = ReadAgain(file); !checked) return Fail(checked);
    return Reading();
  };
  const bool is_small = size <= kMaxReread;
  if (note == ChecksumNote::kBad) return read_again();
  if (file.ranges != nullptr && file.location.length <= StoredRanges::kBlock) return read_again();
  const bool is_racy = file.source.IsRacy(*file.location.shard);
  if (note == ChecksumNote::kSuspect || is_racy || !AllCombine(encoding)) {
    if (is_small) return read_again();
    if (is_racy || !AllCombine(encoding)) return reading;  // the bytes of this READ are not checked
  }
  const ChunkSums::Key key{file.source.id(), file.chunk, file.location.shard->fingerprint};
  reading.taken_ = sums_.Take(key, file.location, begin, end);
  reading.sums_ = &sums_;
  reading.key_ = key;
  // This READ covers the end of the chunk, but no sums of the other parts are known. They may have
  // been read long ago, so the whole chunk is read again.
  if (end == size && reading.taken_.is_alone && is_small) return read_again();
  return reading;
}

Result<void> ChunkCheck::Reading::End(const ChunkFile& file, uint64_t begin, BytesView head,
                                      BytesView rest) {
  if (is_whole_) return CheckAll(file, head, rest);
  if (sums_ == nullptr) return {};
  ChunkSums& all_sums = *std::exchange(sums_, nullptr);
  if (taken_.runs.empty()) return {};
  const SumKinds kinds = KindsOf(file.encoding);
  std::vector<Sums> sums;
  for (const ChunkSums::Run& run : taken_.runs) {
    const auto part = [&](BytesView bytes, uint64_t at) {
      const uint64_t from = std::clamp(run.begin, at, at + bytes.size()) - at;
      const uint64_t to = std::clamp(run.end, at, at + bytes.size()) - at;
      return bytes.subspan(from, to - from);
    };
    const BytesView second = part(rest, begin + head.size());
    sums.push_back(SumsOf(second, kinds));
    if (const BytesView first = part(head, begin); !first.empty()) {
      sums.back() = Combine(SumsOf(first, kinds), sums.back(), second.size(), kinds);
    }
  }
  const uint64_t size = file.location.length - file.cut();
  const auto complete = all_sums.Add(key_, taken_.runs, sums, kinds, size);
  return complete ? CompareSums(file, *complete) : Result<void>();
}

}  // namespace zarrfs
