#include <sys/mman.h>
#include <zfp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

static_assert(std::endian::native == std::endian::little,
              "zfp decodes to the machine's byte order");

// Maximum ratio of the size of a stream to its decoded size. A stream can be larger than its
// decoded data if each block is padded.
constexpr uint64_t kMaxPadding = 4;
constexpr uint64_t kShortest = uint64_t{1} << 20;
constexpr size_t kMaxStreamHeader = 64;
constexpr size_t kWord = sizeof(uint64_t);
// The number of values in a block along each axis.
constexpr uint64_t kBlockEdge = 4;

struct Free {
  void operator()(bitstream* bits) const { stream_close(bits); }
  void operator()(zfp_stream* stream) const { zfp_stream_close(stream); }
  void operator()(zfp_field* field) const { zfp_field_free(field); }
};

// A copy of a stream followed by zeros, because libzfp reads past the end of a truncated stream.
// Only the stream itself uses memory and counts against RLIMIT_DATA. The zeros are read-only
// mappings of the zero page.
class PaddedCopy {
 public:
  PaddedCopy(BytesView stream, uint64_t padding) : size_(stream.size() + kWord + padding) {
    void* const pages =
        mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<std::byte*>(pages);
    if (mprotect(pages_, stream.size() + kWord, PROT_READ | PROT_WRITE) != 0) {
      munmap(pages_, size_);
      throw std::bad_alloc();
    }
    std::ranges::copy(stream, pages_);
  }
  ~PaddedCopy() { munmap(pages_, size_); }
  PaddedCopy(const PaddedCopy&) = delete;
  PaddedCopy& operator=(const PaddedCopy&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {pages_, size_}; }

 private:
  const size_t size_;
  std::byte* pages_;
};

struct Stream {
  explicit Stream(std::span<std::byte> bytes)
      : bits(stream_open(bytes.data(), bytes.size())), zfp(zfp_stream_open(bits.get())) {
    if (bits == nullptr || zfp == nullptr) return;
    zfp_stream_rewind(zfp.get());
    field.reset(zfp_field_alloc());
  }
  std::unique_ptr<bitstream, Free> bits;
  std::unique_ptr<zfp_stream, Free> zfp;
  std::unique_ptr<zfp_field, Free> field;  // null if memory has run out
};

std::optional<zfp_type> TypeOf(const DataType& type) {
  if (type.kind == DataKind::kInt && type.item_size == 4) return zfp_type_int32;
  if (type.kind == DataKind::kInt && type.item_size == 8) return zfp_type_int64;
  if (type.kind == DataKind::kFloat && type.item_size == 4) return zfp_type_float;
  if (type.kind == DataKind::kFloat && type.item_size == 8) return zfp_type_double;
  return std::nullopt;
}

tl::unexpected<Error> RefuseType(const CodecSpec& codec, const DataType& type) {
  return Fail(ErrorCode::kUnsupported, "codec '{}': zfp has no data type '{}'", codec.name,
              type.name);
}

// Returns the number of elements in a field. With `edge`, returns the number of blocks that have
// `edge` elements along each axis. libzfp uses length 0 for axes that the field lacks.
std::optional<uint64_t> CountOf(const zfp_field& field, uint64_t edge = 1) {
  std::vector<uint64_t> axes;
  for (const size_t axis : {field.nx, field.ny, field.nz, field.nw}) {
    if (axis > 0) axes.push_back(CeilDiv(axis, edge));
  }
  return axes.empty() ? std::nullopt : CheckedProduct(axes);
}

// A zfp compression mode, as libzfp's parameters.
struct Mode {
  unsigned minbits = 0;
  unsigned maxbits = 0;
  unsigned maxprec = 0;
  int minexp = 0;

  static Mode Of(zfp_stream* zfp) {
    Mode mode;
    zfp_stream_params(zfp, &mode.minbits, &mode.maxbits, &mode.maxprec, &mode.minexp);
    return mode;
  }
  // Sets the mode of a stream. Returns false if libzfp rejects the parameters.
  bool Set(zfp_stream* zfp) const {
    return zfp_stream_set_params(zfp, minbits, maxbits, maxprec, minexp) == zfp_true;
  }

  // The minimum number of bits of a block's header: whether the block has values, their exponent,
  // and, in lossless mode, method and precision. If `maxbits` were smaller, libzfp's count of
  // remaining bits would underflow, and it would read without a limit.
  [[nodiscard]] unsigned LeastBits(zfp_type type) const {
    const bool is_reversible = minexp < ZFP_MIN_EXP;
    switch (type) {
      case zfp_type_float:
        return is_reversible ? 1 + 1 + 8 + 5 : 1 + 8;
      case zfp_type_double:
        return is_reversible ? 1 + 1 + 11 + 6 : 1 + 11;
      case zfp_type_int64:
        return is_reversible ? 6 : 1;
      default:
        return is_reversible ? 5 : 1;
    }
  }
};

// The base of the codecs for zfp streams. A subclass determines the type, shape and mode of a
// stream.
class ZfpStreamCodec : public ArrayToBytesCodec {
 public:
  ZfpStreamCodec(std::string name, zfp_type type) : name_(std::move(name)), type_(type) {}

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    const auto size = CheckedProduct(spec.shape, zfp_type_size(type_));
    if (!size || *size > kMaxChunkBytes) {
      return Fail(ErrorCode::kTooLarge, "codec '{}': size of a chunk overflows", name_);
    }
    const auto padding = PaddingOf(encoded, spec, *size);
    if (!padding) return Fail(padding);
    const PaddedCopy copy(encoded, *padding);
    auto decoded = DecodePadded(copy, encoded, spec, *size);
    // libzfp reads whole words, but the last word of a stream may be incomplete, because builds of
    // libzfp with shorter words write fewer bytes. If the bytes after the end change the result,
    // the stream is truncated.
    const size_t rest = RoundedUp(encoded.size()) - encoded.size();
    if (!decoded || rest == 0) return decoded;
    const Digest digest = DigestOf(*decoded);
    *decoded = Bytes();  // frees the first result, because there may be no memory for both
    std::ranges::fill(copy.bytes().subspan(encoded.size(), rest), std::byte{0xff});
    decoded = DecodePadded(copy, encoded, spec, *size);
    if (!decoded || DigestOf(*decoded) != digest) return EndsEarly(encoded);
    return decoded;
  }

  uint64_t MaxEncodedSize(const ChunkSpec& spec) const override {
    const auto wide = CheckedProduct(spec.shape, zfp_type_size(type_));
    return std::min(wide.value_or(0), kMaxChunkBytes) * kMaxPadding + kShortest;
  }

  uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& spec) const override {
    const auto wide = CheckedProduct(spec.shape, zfp_type_size(type_));
    const bool is_demoted = spec.data_type.item_size != zfp_type_size(type_);
    return 2 * encoded + wide.value_or(0) + (is_demoted ? spec.size().value_or(0) : 0);
  }

  Result<Bytes> Encode(BytesView, const ChunkSpec&) const override {
    return Fail(ErrorCode::kUnsupported, "codec '{}' cannot encode", name_);
  }

 protected:
  // Sets the type and shape of the field, and the mode of the stream. Returns false if the stream
  // is invalid.
  virtual bool Begin(const Stream& stream, const ChunkSpec& spec) const = 0;

  const std::string name_;
  const zfp_type type_;

 private:
  tl::unexpected<Error> EndsEarly(BytesView encoded) const {
    return Fail(ErrorCode::kDamaged, "codec '{}': the stream ends early, at {} bytes", name_,
                encoded.size());
  }

  static size_t RoundedUp(size_t size) { return CeilDiv(size, kWord) * kWord; }
  static Digest DigestOf(const Bytes& bytes) { return DigestBuilder().Add(bytes).Finish(); }

  // Calls Begin() and checks the result. Returns how far past the end of the stream libzfp may
  // read, in bytes. Fails if the stream cannot decode to `size` bytes.
  Result<uint64_t> Begun(const Stream& stream, BytesView encoded, const ChunkSpec& spec,
                         uint64_t size) const {
    const uint64_t count = size / zfp_type_size(type_);
    if (!stream.field || !Begin(stream, spec)) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes do not begin with a header", name_,
                  encoded.size());
    }
    const zfp_field& field = *stream.field;
    if (zfp_field_type(&field) != type_ || CountOf(field) != count) {
      return Fail(ErrorCode::kDamaged, "codec '{}': the stream does not contain {} {}", name_,
                  count, spec.data_type.name);
    }
    const Mode mode = Mode::Of(stream.zfp.get());
    if (mode.maxbits < mode.LeastBits(type_)) {
      return Fail(ErrorCode::kDamaged, "codec '{}': a block of {} bits, expected at least {}",
                  name_, mode.maxbits, mode.LeastBits(type_));
    }
    // A block takes at least one bit, which limits the number of blocks in the stream.
    const auto bits = CheckedMul(*CountOf(field, kBlockEdge), std::max(1U, mode.minbits));
    const uint64_t longest = zfp_stream_maximum_size(stream.zfp.get(), &field);
    if (!bits || *bits / 8 > RoundedUp(encoded.size()) ||
        longest > size * kMaxPadding + kShortest) {
      return Fail(ErrorCode::kDamaged, "codec '{}': {} bytes cannot be {} {}", name_,
                  encoded.size(), count, spec.data_type.name);
    }
    return longest;
  }

  // Checks the stream before memory for the elements is allocated: runs Begun() on a copy of its
  // first bytes, and returns the result.
  Result<uint64_t> PaddingOf(BytesView encoded, const ChunkSpec& spec, uint64_t size) const {
    const BytesView start = encoded.first(std::min(encoded.size(), kMaxStreamHeader));
    Bytes header(start.begin(), start.end());
    header.resize(kMaxStreamHeader + kWord);
    return Begun(Stream(header), encoded, spec, size);
  }

  Result<Bytes> DecodePadded(const PaddedCopy& copy, BytesView encoded, const ChunkSpec& spec,
                             uint64_t size) const {
    const Stream stream(copy.bytes());
    // Runs Begun() again, because the header of a short stream may extend into the bytes after the
    // end of the stream.
    const auto longest = Begun(stream, encoded, spec, size);
    if (!longest) return Fail(longest);
    if (*longest > copy.bytes().size() - encoded.size()) return EndsEarly(encoded);
    Bytes decoded(size);
    zfp_field_set_pointer(stream.field.get(), decoded.data());
    const size_t end = zfp_decompress(stream.zfp.get(), stream.field.get());
    if (end == 0 || end > RoundedUp(encoded.size())) return EndsEarly(encoded);
    return decoded;
  }
};

class ZfpyCodec final : public ZfpStreamCodec {
  using ZfpStreamCodec::ZfpStreamCodec;

  bool Begin(const Stream& stream, const ChunkSpec&) const override {
    return zfp_read_header(stream.zfp.get(), stream.field.get(), ZFP_HEADER_FULL) != 0;
  }
};

class ZfpCodec final : public ZfpStreamCodec {
 public:
  ZfpCodec(std::string name, zfp_type type, const Mode& mode)
      : ZfpStreamCodec(std::move(name), type), mode_(mode) {}

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& spec) const override {
    auto decoded = ZfpStreamCodec::Decode(encoded, spec);
    if (!decoded || spec.data_type.item_size == zfp_type_size(type_)) return decoded;
    return Demoted(*decoded, spec.data_type);
  }

 private:
  bool Begin(const Stream& stream, const ChunkSpec& spec) const override {
    // libzfp's first axis varies fastest, so the order of the axes is reversed.
    std::vector<size_t> axes(spec.shape.rbegin(), spec.shape.rend());
    if (axes.empty()) axes.push_back(1);
    axes.resize(4);
    zfp_field_set_type(stream.field.get(), type_);
    zfp_field_set_size_4d(stream.field.get(), axes[0], axes[1], axes[2], axes[3]);
    return mode_.Set(stream.zfp.get());
  }

  // Converts each 32-bit number to the 8-bit or 16-bit number in its upper bits. zfp calls this
  // demotion; see "Decompression", step 2, in the specification of the codec.
  static Bytes Demoted(const Bytes& wide, const DataType& type) {
    const unsigned bits = static_cast<unsigned>(type.item_size) * 8;
    const bool is_signed = type.kind == DataKind::kInt;
    const int32_t half = int32_t{1} << (bits - 1);
    Bytes narrow(wide.size() / sizeof(int32_t) * type.item_size);
    for (size_t i = 0; i < wide.size() / sizeof(int32_t); ++i) {
      int32_t value;
      std::memcpy(&value, wide.data() + i * sizeof value, sizeof value);
      value = std::clamp(value >> (31 - bits), -half, half - 1) + (is_signed ? 0 : half);
      std::memcpy(narrow.data() + i * type.item_size, &value, type.item_size);
    }
    return narrow;
  }

  const Mode mode_;
};

Result<double> NumberMember(const CodecSpec& codec, std::string_view member) {
  const Json* value = FindMember(codec, member);
  if (value == nullptr || !value->is_number() || !(value->get<double>() >= 0)) {
    return WrongMember(codec, member, "a number of at least 0");
  }
  return value->get<double>();
}

Result<int64_t> NeededInteger(const CodecSpec& codec, std::string_view member, int64_t minimum,
                              int64_t maximum) {
  if (FindMember(codec, member) == nullptr) return WrongMember(codec, member, "an integer");
  return IntegerMember(codec, member, minimum, maximum, 0);
}

// Returns the parameters of the mode in the configuration. Except in expert mode, libzfp computes
// them, using `zfp`.
Result<Mode> ModeOf(const CodecSpec& codec, zfp_type type, unsigned rank, zfp_stream* zfp) {
  const auto mode = StringMember(codec, "mode", "");
  if (!mode) return Fail(mode);
  if (*mode == "reversible") {
    zfp_stream_set_reversible(zfp);
  } else if (*mode == "fixed_accuracy") {
    const auto tolerance = NumberMember(codec, "tolerance");
    if (!tolerance) return Fail(tolerance);
    zfp_stream_set_accuracy(zfp, *tolerance);
  } else if (*mode == "fixed_rate") {
    const auto rate = NumberMember(codec, "rate");
    if (!rate) return Fail(rate);
    if (*rate > 2 * ZFP_MAX_PREC) return WrongMember(codec, "rate", "bits of a number");
    zfp_stream_set_rate(zfp, *rate, type, rank, zfp_false);
  } else if (*mode == "fixed_precision") {
    const auto precision = NeededInteger(codec, "precision", 1, ZFP_MAX_PREC);
    if (!precision) return Fail(precision);
    zfp_stream_set_precision(zfp, static_cast<unsigned>(*precision));
  } else if (*mode == "expert") {
    const auto minbits = NeededInteger(codec, "minbits", 0, UINT32_MAX);
    const auto maxbits = NeededInteger(codec, "maxbits", 1, UINT32_MAX);
    const auto maxprec = NeededInteger(codec, "maxprec", 1, UINT32_MAX);
    const auto minexp = NeededInteger(codec, "minexp", INT32_MIN, INT32_MAX);
    for (const auto* number : {&minbits, &maxbits, &maxprec, &minexp}) {
      if (!*number) return Fail(*number);
    }
    return Mode{static_cast<unsigned>(*minbits), static_cast<unsigned>(*maxbits),
                static_cast<unsigned>(*maxprec), static_cast<int>(*minexp)};
  } else {
    return WrongMember(codec, "mode",
                       "reversible, fixed_accuracy, fixed_rate, fixed_precision or expert");
  }
  return Mode::Of(zfp);
}

}  // namespace

Result<ArrayToBytesPtr> MakeZfpyCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const auto type = TypeOf(chunk.data_type);
  if (!type) return RefuseType(codec, chunk.data_type);
  return std::make_shared<const ZfpyCodec>(codec.name, *type);
}

Result<ArrayToBytesPtr> MakeZfpCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const DataType& stored = chunk.data_type;
  auto type = TypeOf(stored);
  const bool is_integer = stored.kind == DataKind::kInt || stored.kind == DataKind::kUint;
  if (is_integer && stored.item_size < sizeof(int32_t)) type = zfp_type_int32;
  if (stored.is_date()) type = zfp_type_int64;
  if (!type) return RefuseType(codec, stored);
  if (chunk.shape.size() > 4) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': zfp has at most 4 axes, the chunk has {}",
                codec.name, chunk.shape.size());
  }
  const auto rank = static_cast<unsigned>(std::max<size_t>(1, chunk.shape.size()));
  const std::unique_ptr<zfp_stream, Free> trial(zfp_stream_open(nullptr));
  if (trial == nullptr) return Fail(ErrorCode::kIo, "codec '{}': out of memory", codec.name);
  const auto mode = ModeOf(codec, *type, rank, trial.get());
  if (!mode) return Fail(mode);
  if (!mode->Set(trial.get())) {
    return Fail(ErrorCode::kDamaged, "codec '{}': libzfp rejects the parameters of its mode",
                codec.name);
  }
  if (mode->maxbits < mode->LeastBits(*type)) {
    return Fail(ErrorCode::kDamaged, "codec '{}': maxbits is {}, expected at least {} for {}",
                codec.name, mode->maxbits, mode->LeastBits(*type), stored.name);
  }
  return std::make_shared<const ZfpCodec>(codec.name, *type, *mode);
}

}  // namespace zarrfs
