#include "tools/zarrctl/refs/array_references.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/codec/zstd_frame.h"
#include "zarrcore/content/chunk_reader.h"

namespace zarrfs::ctl {
namespace {

using Kind = ChunkEncoding::Kind;

// The maximum number of bytes of fill values in all references to an array.
constexpr uint64_t kMaxFill = 64u << 20;

class ArrayReferences {
 public:
  ArrayReferences(const Store& store, const Node& node, size_t view, const ObjectUrls& urls,
                  uint64_t max_decoded, ReferenceWriter& writer)
      : store_(store),
        source_(*node.chunks),
        shown_(*node.views[view].array),
        urls_(urls),
        max_decoded_(max_decoded),
        writer_(writer) {
    for (const ShardingLevel& level : source_.layout().levels) {
      is_decoded_ = is_decoded_ || !level.around.empty();
    }
    is_decoded_ = is_decoded_ || shown_.encoding.kind == Kind::kDecoded;
  }

  Result<ReferencesMade> Make() {
    if (is_decoded_ && max_decoded_ == 0) return DecodesTooMuch();
    const bool has_fill = shown_.fill_chunk != nullptr;
    auto done = writer_.needs_order() || has_fill ? AddGrid() : AddStored();
    if (!done && made_.left_out.empty()) return Fail(done);
    return made_;
  }

 private:
  [[nodiscard]] Sizes sizes() const {
    return shown_.encoding.as_stored ? Sizes::kAny : Sizes::kChecked;
  }

  // Drops the array from the references, for a reason that is not an error of the store.
  tl::unexpected<Error> LeaveOut(std::string reason) {
    made_.left_out = std::move(reason);
    return Fail(ErrorCode::kUnsupported, "{}", made_.left_out);
  }
  ReferencesMade DecodesTooMuch() {
    (void)LeaveOut(max_decoded_ == 0
                       ? "its chunks must be decoded or patched; --inline-decoded SIZE puts them "
                         "into the references"
                       : fmt::format("its chunks must be decoded or patched, and exceed the {} of "
                                     "--inline-decoded",
                                     SizeText(max_decoded_)));
    return made_;
  }

  // Adds references to the stored chunks, in the order in which the store lists them.
  Result<void> AddStored() {
    Result<void> status;
    const auto add_object = [&](OuterIndex outer) {
      ChunkCursor cursor(source_, outer, {.sizes = sizes()});
      while (const ListedChunk* next = cursor.Next()) {
        status = next->location ? Add(next->chunk, *next->location)
                                : tl::unexpected(next->location.error());
        if (!status || !(status = GoesOn())) return false;
      }
      status = cursor.status();
      return status && (status = GoesOn());
    };
    const auto visited = source_.VisitOuter({}, add_object);
    return status ? visited : status;
  }

  // Adds references in row-major order. If the view shows missing chunks as files, these get
  // references, too.
  Result<void> AddGrid() {
    for (uint64_t i = 0; i < source_.layout().inner_grid.size(); ++i) {
      const InnerIndex chunk{i};
      const auto located = source_.Locate(chunk, kAnyAge, /*may_read=*/false, sizes());
      if (!located) return Fail(located);
      const auto added = located->location ? Add(chunk, *located->location) : AddFill(chunk);
      if (!added) return added;
      if (const auto goes_on = GoesOn(); !goes_on) return goes_on;
    }
    return {};
  }

  static Result<void> GoesOn() {
    if (StopRequested()) return Fail(ErrorCode::kInterrupted, "interrupted by Ctrl-C");
    return {};
  }

  Result<void> AddFill(InnerIndex chunk) {
    if (shown_.fill_chunk == nullptr) return {};
    if (!fill_) {
      const auto size = shown_.fill_chunk->Size();
      if (!size) return Fail(size);
      if (*size > kMaxFill) return TooMuchFill();
      fill_.emplace(*size, '\0');
      const auto read = shown_.fill_chunk->Read(0, std::as_writable_bytes(std::span(*fill_)));
      if (!read) return Fail(read);
    }
    fill_bytes_ += fill_->size();
    if (fill_bytes_ > kMaxFill) return TooMuchFill();
    return AddBytes(chunk, *fill_);
  }
  tl::unexpected<Error> TooMuchFill() {
    return LeaveOut(fmt::format(
        "fill values of chunks that are not stored would exceed {} in the references; --fill keep "
        "leaves them out, if the readers mask no value",
        SizeText(kMaxFill)));
  }

  Result<void> AddBytes(InnerIndex chunk, const std::string& bytes) {
    ++made_.chunks;
    ++made_.inlined;
    return writer_.AddChunk(chunk, {.url = "", .bytes = &bytes});
  }

  Result<void> Add(InnerIndex chunk, const ChunkLocation& location) {
    if (is_decoded_) return Inline(chunk);
    const ChunkEncoding& encoding = shown_.encoding;
    const uint64_t cut = encoding.cut_front + encoding.cut_back;
    if (location.length < cut) {
      return Fail(ErrorCode::kDamaged, "{}: a chunk of {} bytes is shorter than its checksum",
                  source_.ObjectKey(location.outer), location.length);
    }
    if (encoding.kind == Kind::kPatchedZstd) {
      const auto passes = Passes(chunk, location);
      if (!passes) return Fail(passes);
      if (!*passes) return Inline(chunk);
    }
    if (!url_of_ || *url_of_ != location.outer) {
      const std::string key = source_.ObjectKey(location.outer);
      begin_ = store_.OffsetInFile(key);
      url_of_ = location.outer;
      url_ = urls_.Of(key);
    }
    if (!begin_) {
      return begin_.error().code == ErrorCode::kUnsupported ? Inline(chunk) : Fail(begin_);
    }
    ++made_.chunks;
    return writer_.AddChunk(chunk, {.url = url_,
                                    .offset = *begin_ + location.offset + encoding.cut_front,
                                    .length = location.length - cut});
  }

  // True if a reference can point to the stored zstd frame, because it needs no patch.
  Result<bool> Passes(InnerIndex chunk, const ChunkLocation& location) {
    if (location.shard->object == nullptr) {
      const auto open = source_.Locate(chunk, kAnyAge, /*may_read=*/true, sizes());
      if (!open) return Fail(open);
      if (open->location) return Passes(chunk, *open->location);
      return Fail(ErrorCode::kStale, "{}: removed while it was read",
                  source_.ObjectKey(location.outer));
    }
    const ChunkEncoding& encoding = shown_.encoding;
    const auto serving = ServeZstd(location.length - encoding.cut_front - encoding.cut_back,
                                   encoding.size == 0 ? std::nullopt : std::optional(encoding.size),
                                   [&](uint64_t at, std::span<std::byte> to) {
                                     return location.shard->object->Read(
                                         location.offset + encoding.cut_front + at, to);
                                   });
    if (!serving) {
      return Fail(serving.error().code, "{}: {}", source_.ObjectKey(location.outer),
                  serving.error().message);
    }
    return serving->kind == ZstdServing::Kind::kPass;
  }

  // Adds a reference that contains the bytes of the chunk file.
  Result<void> Inline(InnerIndex chunk) {
    const auto located = source_.Locate(chunk, kAnyAge, /*may_read=*/true, sizes());
    if (!located) return Fail(located);
    if (!located->location) {
      return Fail(ErrorCode::kStale, "{}: removed while it was read",
                  source_.ObjectKey(source_.OuterOf(chunk)));
    }
    const ChunkFile file{source_, shown_.encoding, 0, chunk, *located->location};
    const auto size = reader_.Size(file);
    if (!size) return Fail(size);
    if (*size > max_decoded_ - decoded_) return LeaveOut(DecodesTooMuch().left_out);
    decoded_ += *size;
    std::string bytes(*size, '\0');
    for (uint64_t at = 0; at < *size;) {
      const auto rest = std::as_writable_bytes(std::span(bytes).subspan(at));
      const auto piece = reader_.Read(file, at, rest);
      if (!piece) return Fail(piece);
      if (piece->owner != nullptr) std::ranges::copy(piece->bytes, rest.begin());
      if (piece->bytes.empty()) break;
      at += piece->bytes.size();
    }
    return AddBytes(chunk, bytes);
  }

  const Store& store_;
  const ChunkSource& source_;
  const ArrayView& shown_;
  const ObjectUrls& urls_;
  const uint64_t max_decoded_;
  ReferenceWriter& writer_;
  ChunkReader reader_{0};
  bool is_decoded_ = false;  // true if chunk files are not byte ranges of stored objects
  uint64_t decoded_ = 0;     // the number of decoded bytes that the references contain so far
  uint64_t fill_bytes_ = 0;
  std::optional<std::string> fill_;
  std::optional<OuterIndex> url_of_;  // the object to which url_ and begin_ belong
  std::string url_;
  Result<uint64_t> begin_;  // the offset of the object in the file at url_
  ReferencesMade made_;
};

bool IsWebAddress(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

// Percent-encodes a key for the path of a URL (RFC 3986, section 2).
std::string Escaped(std::string_view key) {
  constexpr std::string_view kAsTheyAre = "-._~/";
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || kAsTheyAre.find(c) != kAsTheyAre.npos)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

}  // namespace

ObjectUrls::ObjectUrls(std::string prefix, std::string base)
    : prefix_(std::move(prefix)), base_(std::move(base)), is_escaped_(IsWebAddress(prefix_)) {
  while (prefix_.ends_with('/')) prefix_.pop_back();
}

std::string ObjectUrls::Of(std::string_view key) const {
  if (is_one_file_) return prefix_;
  key.remove_prefix(base_.empty() ? 0 : base_.size() + 1);
  return prefix_ + "/" + (is_escaped_ ? Escaped(key) : std::string(key));
}

Result<ReferencesMade> ReferToChunks(const Store& store, const Node& node, size_t view,
                                     const ObjectUrls& urls, uint64_t max_decoded,
                                     ReferenceWriter& writer) {
  return ArrayReferences(store, node, view, urls, max_decoded, writer).Make();
}

}  // namespace zarrfs::ctl
