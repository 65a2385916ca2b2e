#include "zarrcore/content/chunk_encoding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/codec/widen.h"

namespace zarrfs {
namespace {

// True for codecs that reduce precision when encoding and do nothing when decoding. Such codecs are
// not applied to fill values.
bool ChangesOnlyWhatIsWritten(const CodecSpec& codec) {
  return codec.name == "bitround" || codec.name == "numcodecs.bitround";
}

// Encodes `count` fill values in the format of numcodecs' VLenUTF8 and VLenBytes; see codec/vlen.h.
Result<Bytes> EncodeOfOwnLength(const FillBytes& fill, uint64_t count) {
  const auto each = CheckedAdd(fill.size(), sizeof(uint32_t));
  const auto all = each ? CheckedMul(*each, count) : std::nullopt;
  if (!all || *all > kMaxChunkBytes || count > std::numeric_limits<uint32_t>::max()) {
    return Fail(ErrorCode::kTooLarge, "a chunk of {} fill values is larger than {} bytes", count,
                kMaxChunkBytes);
  }
  Bytes encoded(sizeof(uint32_t) + *all);
  std::byte* to = encoded.data();
  StoreLittle(to, static_cast<uint32_t>(count));
  to += sizeof(uint32_t);
  for (uint64_t i = 0; i < count; ++i) {
    StoreLittle(to, static_cast<uint32_t>(fill.size()));
    to = std::ranges::copy(fill, to + sizeof(uint32_t)).out;
  }
  return encoded;
}

// Returns the byte order, '<' or '>', of chunks that consist of just the elements; nullopt for
// other chunks.
std::optional<char> ByteOrderOfPlain(const std::vector<CodecSpec>& codecs) {
  for (const CodecSpec& codec : codecs) {
    if (codec.name == "transpose" || ChangesOnlyWhatIsWritten(codec)) continue;
    if (codec.name != "bytes" || &codec != &codecs.back()) return std::nullopt;
    return codec.configuration.value("endian", Json("little")) == "big" ? '>' : '<';
  }
  return std::nullopt;
}

// Returns the decoded size in bytes of a chunk of fill values. Fails with kTooLarge if the size
// exceeds kMaxEncodedFill.
Result<uint64_t> SizeOfElements(const FillBytes& fill, const std::vector<uint64_t>& shape) {
  const auto count = CheckedProduct(shape);
  const auto size = count ? CheckedMul(*count, std::max<uint64_t>(fill.size(), 1)) : std::nullopt;
  if (size && *size <= kMaxEncodedFill) return *size;
  return Fail(ErrorCode::kTooLarge, "a chunk of fill values is larger than {} MiB",
              kMaxEncodedFill >> 20);
}

// Encodes a chunk of fill values.
Result<Bytes> EncodeFill(const FillBytes& fill, const DataType& type,
                         const std::vector<CodecSpec>& all_codecs,
                         const std::vector<uint64_t>& shape) try {
  const auto size = SizeOfElements(fill, shape);
  if (!size) return Fail(size);
  std::vector<CodecSpec> codecs;
  std::ranges::remove_copy_if(all_codecs, std::back_inserter(codecs), ChangesOnlyWhatIsWritten);
  ChunkSpec chunk{type, shape};
  Bytes elements;
  if (type.item_size == 0) {
    auto encoded = EncodeOfOwnLength(fill, *CheckedProduct(shape));
    if (!encoded) return encoded;
    elements = std::move(*encoded);
    const auto to_bytes = std::ranges::find_if(codecs, [](const CodecSpec& codec) {
      return codec.name == "vlen-utf8" || codec.name == "vlen-bytes";
    });
    if (to_bytes == codecs.end()) {
      return Fail(ErrorCode::kUnsupported, "a chunk of fill values cannot be encoded");
    }
    // Replaces all codecs before the bytes-to-bytes codecs with "bytes".
    codecs.erase(codecs.begin(), to_bytes);
    codecs.front() = CodecSpec{"bytes"};
    auto byte = ParseDataType(Json("uint8"), "");
    if (!byte) return Fail(byte);
    chunk = {std::move(*byte), {elements.size()}};
  } else {
    elements.resize(*size);
    for (size_t at = 0; at < elements.size(); at += fill.size()) {
      std::ranges::copy(fill, elements.begin() + static_cast<ptrdiff_t>(at));
    }
  }
  const auto pipeline = Pipeline::Make(codecs, chunk);
  if (!pipeline) return Fail(pipeline);
  return pipeline->Encode(elements);
} catch (const std::bad_alloc&) {
  return Fail(ErrorCode::kNoMemory, "out of memory while encoding a chunk of fill values");
}

// Peak memory of encoding, as a multiple of the chunk's size: the elements, and the outputs of
// successive codecs.
constexpr uint64_t kEncodingCopies = 4;

struct EncodedFill {
  Bytes bytes;
  MemoryBudget::Share memory;
};

// The cache of encoded fill chunks that all arrays share.
struct EncodedFills {
  using Cache = LruCache<uint64_t, EncodedFill>;

  static EncodedFills& OfAll() {
    // The cache is never destroyed, like ProcessMemory(), from which it reserves memory.
    static EncodedFills& all = *new EncodedFills;
    return all;
  }

  Cache cache{kMaxEncodedFill};
  const MemoryBudget::Holder holder{ProcessMemory(),
                                    [this](uint64_t missing) { cache.Evict(missing); }};
};

std::atomic<uint64_t> last_number;

}  // namespace

Bytes InEncoding(Bytes elements, const ChunkEncoding& encoding, const DataType& type,
                 std::span<const uint64_t> chunk_shape) {
  if (!encoding.extent.empty() && !std::ranges::equal(encoding.extent, chunk_shape)) {
    // Copies the rows along the last axis that are inside `extent`.
    const size_t rank = chunk_shape.size();
    const size_t row = encoding.extent[rank - 1] * type.item_size;
    std::byte* to = elements.data();
    std::array<uint64_t, kMaxRank> at{};
    for (bool done = false; !done;) {
      uint64_t from = 0;
      for (size_t d = 0; d < rank; ++d) from = from * chunk_shape[d] + at[d];
      // Each row moves towards the beginning, so it never overwrites a row that still has to move.
      std::memmove(to, elements.data() + from * type.item_size, row);
      to += row;
      size_t d = rank - 1;
      for (; d-- > 0;) {
        if (++at[d] < encoding.extent[d]) break;
        at[d] = 0;
      }
      done = d == std::numeric_limits<size_t>::max();
    }
    elements.resize(static_cast<size_t>(to - elements.data()));
  }
  return encoding.is_wide ? Widen(std::move(elements), type) : std::move(elements);
}

FillChunk::FillChunk(const ArrayMetadata& metadata, const ArrayLayout& layout,
                     ChunkEncoding encoding)
    : fill_(metadata.fill_value),
      type_(metadata.data_type),
      codecs_(layout.inner_codecs),
      chunk_shape_(layout.inner_chunk_shape),
      encoding_(std::move(encoding)),
      element_(encoding_.is_wide ? Widen(fill_, type_) : fill_),
      number_(++last_number) {
  if (encoding_.kind == ChunkEncoding::Kind::kDecoded) {
    size_ = encoding_.size;
  } else if (const auto order = ByteOrderOfPlain(codecs_); order && type_.item_size > 0) {
    size_ = CheckedProduct(chunk_shape_).value_or(0) * type_.item_size;
    if (*order == '>') ReverseByteOrder(element_, type_);
  }
}

Result<void> FillChunk::CanBeMade(const ArrayMetadata& metadata, const ArrayLayout& layout) {
  if (metadata.data_type.item_size > 0 && ByteOrderOfPlain(layout.inner_codecs)) return {};
  const auto size = SizeOfElements(metadata.fill_value, layout.inner_chunk_shape);
  if (!size) return Fail(size);
  // Encodes a single element, to check that all codecs can encode.
  return EncodeFill(metadata.fill_value, metadata.data_type, layout.inner_codecs,
                    std::vector<uint64_t>(layout.inner_chunk_shape.size(), 1))
      .map([](const Bytes&) {});
}

Result<uint64_t> FillChunk::Size() const {
  if (is_periodic()) return size_;
  if (const uint64_t size = encoded_size_) return size;
  return Encoded().map([](const auto& encoded) { return uint64_t{encoded->size()}; });
}

Result<size_t> FillChunk::Read(uint64_t offset, std::span<std::byte> out) const {
  const auto size = Size();
  if (!size) return Fail(size);
  if (offset >= *size) return size_t{0};
  const size_t length = std::min<uint64_t>(out.size(), *size - offset);
  if (is_periodic()) {
    // Writes the bytes of one element, starting at the offset within that element. Then repeats
    // these bytes.
    const size_t period = element_.size();
    const size_t first = std::min(length, period);
    for (size_t i = 0; i < first; ++i) out[i] = element_[(offset + i) % period];
    for (size_t have = first; have < length;) {
      const size_t more = std::min(have, length - have);
      std::memcpy(out.data() + have, out.data(), more);
      have += more;
    }
  } else {
    const auto encoded = Encoded();
    if (!encoded) return Fail(encoded);
    std::copy_n((*encoded)->data() + offset, length, out.data());
  }
  return length;
}

Result<std::shared_ptr<const Bytes>> FillChunk::Encoded() const {
  const auto load = [&]() -> Result<EncodedFills::Cache::Loaded> {
    const uint64_t elements = std::max<uint64_t>(fill_.size(), 1) *
                              CheckedProduct(chunk_shape_).value_or(kMaxEncodedFill);
    auto memory = ProcessMemory().Take(std::min(elements, kMaxEncodedFill) * kEncodingCopies);
    if (!memory) return Fail(memory);
    auto encoded = Encode();
    if (!encoded) return Fail(encoded);
    encoded->shrink_to_fit();
    encoded_size_ = encoded->size();
    const size_t charge = encoded->size() + sizeof(EncodedFill);
    memory->ShrinkTo(charge);
    return EncodedFills::Cache::Loaded{
        std::make_shared<const EncodedFill>(EncodedFill{std::move(*encoded), std::move(*memory)}),
        charge};
  };
  return EncodedFills::OfAll().cache.GetOrLoad(number_, load).map([](const auto& fill) {
    return std::shared_ptr<const Bytes>(fill, &fill->bytes);
  });
}

Result<Bytes> FillChunk::Encode() const {
  auto encoded = EncodeFill(fill_, type_, codecs_, chunk_shape_);
  if (!encoded) return encoded;
  if (encoded->size() < encoding_.cut_front + encoding_.cut_back) {
    return Fail(ErrorCode::kUnsupported, "a chunk of fill values is shorter than its checksum");
  }
  encoded->resize(encoded->size() - encoding_.cut_back);
  encoded->erase(encoded->begin(), encoded->begin() + static_cast<ptrdiff_t>(encoding_.cut_front));
  return encoded;
}

}  // namespace zarrfs
