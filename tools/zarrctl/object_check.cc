#include "tools/zarrctl/object_check.h"

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/memory.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/codec/checksum.h"

namespace zarrfs::ctl {
namespace {

// Maximum number of attempts to check an object that changes while it is read.
constexpr int kAttempts = 3;
// The maximum number of problems of one object that are collected before they are reported.
constexpr size_t kMaxReasons = 1000;
// No codec makes a chunk longer than twice its decoded size plus this number of bytes.
constexpr uint64_t kMaxOverhead = 1u << 20;
// A shard with its own checksum is read whole, so its size is limited.
constexpr uint64_t kMaxChecksummed = 1u << 30;

// Verifies the crc32c checksums in the `tail` bytes that follow the `size` bytes at `offset`. Each
// checksum covers all bytes before it.
Result<void> CheckChecksum(const Object& object, uint64_t offset, uint64_t size, uint64_t tail) {
  if (tail == 0) return {};
  if (size + tail > kMaxChecksummed) {
    return Fail(ErrorCode::kTooLarge, "{} bytes are too many to check the shard's own checksum",
                size);
  }
  const auto memory = ProcessMemory().Take(size + tail);
  if (!memory) return Fail(memory);
  Bytes bytes(size + tail);
  if (auto read = object.Read(offset, bytes); !read) return read;
  for (uint64_t end = size; end < size + tail; end += kChecksumBytes) {
    const auto stored = LoadLittle<uint32_t>(bytes.data() + end);
    const uint32_t computed = Crc32c(BytesView(bytes).first(end));
    if (stored != computed) {
      return Fail(ErrorCode::kDamaged, "checksum of the shard {:#010x}, computed {:#010x}", stored,
                  computed);
    }
  }
  return {};
}

// True if chunks or their shards contain a checksum.
bool HasChecksum(const ArrayLayout& layout) {
  static const std::set<std::string_view> kWithChecksum = {
      "crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "gzip", "zlib", "bz2", "lzma"};
  const auto has_one = [](const CodecSpec& codec) {
    if (codec.plain_name() == "zstd") return MemberOrNull(codec.configuration, "checksum") == true;
    return kWithChecksum.contains(codec.plain_name());
  };
  return std::ranges::any_of(layout.inner_codecs, has_one) ||
         std::ranges::any_of(layout.levels,
                             [](const auto& level) { return level.trailing_checksum > 0; });
}

}  // namespace

// One attempt to check one object.
class ObjectCheck::Attempt {
 public:
  Attempt(const ObjectCheck& check, OuterIndex outer, VerifyReport& report)
      : check_(check), outer_(outer), key_(check.source().ObjectKey(outer)), report_(report) {}

  // Checks the object. Fails with kStale if the object changed during the check, and with
  // kWouldBlock if other threads hold the required memory. All other problems are collected for
  // Report().
  Result<void> Run() {
    try {
      CheckChunks();
    } catch (const std::bad_alloc&) {
      Add({ErrorCode::kTooLarge, "not enough memory"});
    }
    return status_;
  }

  // Adds a problem of `chunk`, or of the object if `chunk` is "".
  void Add(const Error& error, const std::string& chunk = "") {
    const auto [entry, added] = findings_.emplace(Reason::Of(error, key_), AffectedChunks{chunk});
    if (!added) ++entry->second.others;
    if (findings_.size() > kMaxReasons) report_.Add(key_, findings_);
  }

  void Report() {
    report_.Add(key_, findings_);
    ++report_.counts.objects;
    report_.counts.chunks += chunks_;
    report_.counts.bytes += bytes_;
    if (!check_.has_checksum_) report_.counts.chunks_without_checksum += chunks_;
  }

 private:
  void CheckChunks() {
    if (!check_.layout().is_sharded()) {
      const InnerIndex chunk{ToNumber(outer_)};  // each object is one chunk
      const auto located = check_.source().Locate(chunk, kAnyAge);
      if (!located && !IsAboutObject(located.error())) return;
      if (!located || located->location) {
        Visit(chunk, located.map([](const Located& found) { return *found.location; }));
      }
      return;
    }
    ChunkCursor cursor(check_.source(), outer_);
    const ListedChunk* next = nullptr;
    while ((next = cursor.Next()) != nullptr && Visit(next->chunk, next->location)) {
    }
    if (!cursor.status() && IsAboutObject(cursor.status().error())) Add(cursor.status().error());
  }

  // True if the error says something about the object, and must be reported. Other errors end the
  // attempt.
  bool IsAboutObject(const Error& error) {
    if (error.code != ErrorCode::kStale && error.code != ErrorCode::kWouldBlock) return true;
    status_ = tl::unexpected(error);
    return false;
  }

  // Checks a chunk. Returns false if the attempt must end.
  bool Visit(InnerIndex chunk, const Result<ChunkLocation>& location) {
    const Result<void> checked = CheckChunk(location);
    if (!checked && IsAboutObject(checked.error())) {
      Add(checked.error(), ChunkName(ToNumber(chunk), check_.layout().inner_grid));
    }
    return status_ && !StopRequested();
  }

  Result<void> CheckChunk(const Result<ChunkLocation>& location) {
    if (!location) return Fail(location);
    if (check_.layout().is_sharded() && location->shard != shard_) {
      auto sums = check_.CheckShardChecksums(*location->shard, shard_ == nullptr);
      if (!sums && sums.error().code == ErrorCode::kWouldBlock) return sums;
      if (!sums) Add(sums.error());
      shard_ = location->shard;
    }
    ++chunks_;
    const auto bytes = check_.CheckChunk(*location);
    if (!bytes) return Fail(bytes);
    bytes_ += *bytes;
    report_.progress.AddBytes(*bytes);
    return {};
  }

  const ObjectCheck& check_;
  const OuterIndex outer_;
  const std::string key_;
  VerifyReport& report_;
  uint64_t chunks_ = 0;
  uint64_t bytes_ = 0;
  Findings findings_;
  OpenShardPtr shard_;  // the last shard whose checksum was verified
  Result<void> status_;
};

ObjectCheck::ObjectCheck(NodePtr array) : array_(std::move(array)) {
  has_checksum_ = HasChecksum(layout());
  if (VlenChain::IsOne(layout().inner_codecs)) {
    auto chain = VlenChain::Make(layout().inner_codecs,
                                 {array_->array()->data_type, layout().inner_chunk_shape});
    if (chain) {
      vlen_ = std::move(*chain);
    } else {
      why_not_ = chain.error().message;
    }
  } else if (const auto& pipeline = layout().inner_pipeline; !pipeline) {
    why_not_ = pipeline.error().message;
  } else if (pipeline->decoded_size() > kMaxChunkBytes) {
    why_not_ = fmt::format("a chunk has {}", SizeText(pipeline->decoded_size()));
  }
}

Result<uint64_t> ObjectCheck::CheckChunk(const ChunkLocation& location) const {
  if (why_not_) return 0;
  if (vlen_) {
    if (location.length > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge,
                  "the chunk has {} bytes, more than the limit of {} for decoding", location.length,
                  kMaxChunkBytes);
    }
  } else if (const uint64_t size = layout().inner_pipeline->decoded_size();
             location.length > 2 * size + kMaxOverhead) {
    return Fail(ErrorCode::kDamaged, "the chunk has {} bytes, but only {} when decoded",
                location.length, size);
  }
  const auto memory =
      ProcessMemory().Take(vlen_ ? vlen_->MemoryToDecode(location.length)
                                 : layout().inner_pipeline->MemoryToDecode(location.length));
  if (!memory) return Fail(memory);
  Bytes encoded(location.length);
  if (auto read = location.shard->object->Read(location.offset, encoded); !read) return Fail(read);
  if (vlen_) {
    if (auto checked = vlen_->Check(std::move(encoded)); !checked) return Fail(checked);
  } else if (auto decoded = layout().inner_pipeline->Decode(std::move(encoded)); !decoded) {
    return Fail(decoded);
  }
  return location.length;
}

Result<void> ObjectCheck::CheckShardChecksums(const OpenShard& innermost,
                                              bool first_of_object) const {
  const auto& levels = layout().levels;
  const uint64_t tail = levels.front().trailing_checksum;
  if (first_of_object && tail > 0) {
    auto whole = CheckChecksum(*innermost.object, 0, innermost.info.size() - tail, tail);
    if (!whole) return whole;
  }
  if (levels.size() == 1) return {};
  return CheckChecksum(*innermost.object, innermost.offset, innermost.size,
                       levels.back().trailing_checksum);
}

void ObjectCheck::Check(OuterIndex outer, VerifyReport& report) const {
  for (int attempt = 1;; ++attempt) {
    std::optional<Attempt> object;
    const auto run = WithinMemory([&] {
      object.emplace(*this, outer, report);
      return object->Run();
    });
    if (!run) {
      source().Forget(outer);
      if (run.error().code == ErrorCode::kStale && attempt < kAttempts) continue;
      object->Add(
          run.error().code != ErrorCode::kStale
              ? run.error()
              : Error{ErrorCode::kStale,
                      "keeps changing while it is read; verify again when nothing writes to it"});
    }
    return object->Report();
  }
}

}  // namespace zarrfs::ctl
