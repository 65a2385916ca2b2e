#include "zarrcore/codec/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/checked.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

const Bytef* Data(BytesView bytes) {
  // zlib interprets a null pointer as a request for the initial value of the sum, so an empty input
  // gets another pointer.
  static constexpr Bytef kNothing = 0;
  return bytes.empty() ? &kNothing : reinterpret_cast<const Bytef*>(bytes.data());
}

uint32_t Crc32(BytesView bytes) {
  return static_cast<uint32_t>(crc32_z(0, Data(bytes), bytes.size()));
}

uint32_t Adler32(BytesView bytes) {
  return static_cast<uint32_t>(adler32_z(1, Data(bytes), bytes.size()));
}

uint32_t Fletcher32(BytesView bytes) {
  constexpr size_t kWordsWithoutOverflow = 360;
  uint32_t sum = 0;
  uint32_t sum_of_sums = 0;
  const auto fold = [&] {
    sum = (sum & 0xffff) + (sum >> 16);
    sum_of_sums = (sum_of_sums & 0xffff) + (sum_of_sums >> 16);
  };
  const BytesView words = bytes.first(bytes.size() / 2 * 2);
  for (BytesView rest = words; !rest.empty();) {
    const BytesView run = rest.first(std::min(rest.size(), 2 * kWordsWithoutOverflow));
    for (size_t i = 0; i < run.size(); i += 2) {
      sum += LoadBig<uint16_t>(run.data() + i);
      sum_of_sums += sum;
    }
    fold();
    rest = rest.subspan(run.size());
  }
  if (words.size() != bytes.size()) {
    sum += std::to_integer<uint32_t>(bytes.back()) << 8;
    sum_of_sums += sum;
    fold();
  }
  fold();
  return sum_of_sums << 16 | sum;
}

// The state of Bob Jenkins' lookup3 hash, which defines the constants and the order of operations.
struct Lookup3 {
  uint32_t a;
  uint32_t b;
  uint32_t c;

  void Add(const std::byte* block) {
    a += LoadLittle<uint32_t>(block);
    b += LoadLittle<uint32_t>(block + 4);
    c += LoadLittle<uint32_t>(block + 8);
  }

  void Mix() {
    const auto step = [](uint32_t& x, uint32_t& y, uint32_t& z, int bits) {
      x -= z;
      x ^= std::rotl(z, bits);
      z += y;
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
  }

  void Finish() {
    const auto step = [](uint32_t& x, uint32_t y, int bits) { x = (x ^ y) - std::rotl(y, bits); };
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
  }
};

uint32_t JenkinsLookup3(BytesView bytes, uint32_t initial) {
  constexpr size_t kBlock = 12;
  const uint32_t start = 0xdeadbeef + static_cast<uint32_t>(bytes.size()) + initial;
  Lookup3 state = {start, start, start};
  if (bytes.empty()) return state.c;
  for (; bytes.size() > kBlock; bytes = bytes.subspan(kBlock)) {
    state.Add(bytes.data());
    state.Mix();
  }
  std::array<std::byte, kBlock> last = {};
  std::ranges::copy(bytes, last.begin());
  state.Add(last.data());
  state.Finish();
  return state.c;
}

class ChecksumCodec : public BytesToBytesCodec {
 public:
  // `name`: used in messages.
  ChecksumCodec(std::string name, Checksum checksum)
      : name_(std::move(name)), at_start_(checksum.at_start()), checksum_(checksum) {}

  std::optional<uint64_t> EncodedSize(uint64_t decoded_size) const override {
    return CheckedAdd(decoded_size, kChecksumBytes);
  }

  uint64_t MemoryToDecode(uint64_t encoded, uint64_t /*limit*/) const override { return encoded; }

  Result<Bytes> Decode(BytesView encoded, uint64_t limit) const override {
    return DecodeInPlace(Bytes(encoded.begin(), encoded.end()), limit);
  }

  Result<Bytes> DecodeInPlace(Bytes encoded, uint64_t limit) const override {
    if (encoded.size() < kChecksumBytes) {
      return Fail(ErrorCode::kDamaged, "{}: expected at least {} bytes, found {}", name_,
                  kChecksumBytes, encoded.size());
    }
    const size_t size = encoded.size() - kChecksumBytes;
    const BytesView content = BytesView(encoded).subspan(at_start_ ? kChecksumBytes : 0, size);
    if (content.size() > limit) {
      return Fail(ErrorCode::kDamaged, "{}: expected at most {} bytes, found {}", name_, limit,
                  content.size());
    }
    const uint32_t stored = LoadLittle<uint32_t>(encoded.data() + (at_start_ ? 0 : size));
    const uint32_t computed = checksum_.Sum(content);
    if (stored != computed) {
      return Fail(ErrorCode::kDamaged, "{} checksum 0x{:08x}, computed 0x{:08x}", name_, stored,
                  computed);
    }
    if (at_start_) std::ranges::copy(content, encoded.begin());
    encoded.resize(size);
    return encoded;
  }

  Result<Bytes> Encode(BytesView decoded) const override {
    Bytes encoded(decoded.size() + kChecksumBytes);
    std::ranges::copy(decoded, encoded.begin() + (at_start_ ? kChecksumBytes : 0));
    StoreLittle(encoded.data() + (at_start_ ? 0 : decoded.size()), checksum_.Sum(decoded));
    return encoded;
  }

 private:
  const std::string name_;
  const bool at_start_;
  const Checksum checksum_;
};

std::optional<Checksum::Kind> KindOf(const CodecSpec& codec) {
  using Kind = Checksum::Kind;
  if (codec.name == "crc32c" || codec.name == "numcodecs.crc32c") return Kind::kCrc32c;
  if (codec.name == "numcodecs.crc32") return Kind::kCrc32;
  if (codec.name == "numcodecs.adler32") return Kind::kAdler32;
  if (codec.name == "numcodecs.fletcher32") return Kind::kFletcher32;
  if (codec.name == "numcodecs.jenkins_lookup3") return Kind::kJenkinsLookup3;
  return std::nullopt;
}

// Returns true if the codec stores its checksum before the encoded bytes, false if after them.
Result<bool> IsAtStart(const CodecSpec& codec, Checksum::Kind kind) {
  using Kind = Checksum::Kind;
  if (codec.name == "crc32c") {
    constexpr std::array<std::string_view, 1> kLocations = {"end"};
    return ChoiceMember(codec, "location", kLocations, R"("end")").map([](size_t) {
      return false;
    });
  }
  const bool fixed = kind == Kind::kFletcher32 || kind == Kind::kJenkinsLookup3;
  const bool starts = kind == Kind::kCrc32 || kind == Kind::kAdler32;
  // In numcodecs, the value null of "location" means the default.
  const Json* member = FindMember(codec, "location");
  const std::string usual = starts ? "start" : "end";
  const Result<std::string> location =
      member != nullptr && member->is_null() ? usual : StringMember(codec, "location", usual);
  if (!location) return Fail(location);
  if (*location != "end" && (fixed || *location != "start")) {
    return WrongMember(codec, "location", fixed ? R"("end")" : R"("start" or "end")");
  }
  return *location == "start";
}

Result<uint32_t> InitialOf(const CodecSpec& codec, Checksum::Kind kind) {
  if (kind != Checksum::Kind::kJenkinsLookup3) return 0;
  constexpr int64_t kLargest = std::numeric_limits<uint32_t>::max();
  const Result<int64_t> initial = IntegerMember(codec, "initval", 0, kLargest, 0);
  if (!initial) return Fail(initial);
  if (const Json* prefix = FindMember(codec, "prefix"); prefix != nullptr && !prefix->is_null()) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': a prefix is not supported", codec.name);
  }
  return static_cast<uint32_t>(*initial);
}

}  // namespace

Result<std::optional<Checksum>> Checksum::Of(const CodecSpec& codec) {
  const auto kind = KindOf(codec);
  if (!kind) return std::nullopt;
  const auto initial = InitialOf(codec, *kind);
  if (!initial) return Fail(initial);
  const auto at_start = IsAtStart(codec, *kind);
  if (!at_start) return Fail(at_start);
  return Checksum(*kind, *at_start, *initial);
}

const char* Checksum::name() const {
  constexpr std::array kNames = {"crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3"};
  return kNames[static_cast<size_t>(kind_)];
}

uint32_t Checksum::Sum(BytesView bytes) const {
  return kind_ == Kind::kJenkinsLookup3 ? JenkinsLookup3(bytes, initial_) : SumOf(kind_, bytes);
}

uint32_t Checksum::SumOf(Kind kind, BytesView bytes) {
  switch (kind) {
    case Kind::kCrc32c:
      return Crc32c(bytes);
    case Kind::kCrc32:
      return Crc32(bytes);
    case Kind::kAdler32:
      return Adler32(bytes);
    case Kind::kFletcher32:
      return Fletcher32(bytes);
    case Kind::kJenkinsLookup3:
      break;
  }
  return JenkinsLookup3(bytes, 0);
}

uint32_t Checksum::Combine(Kind kind, uint32_t first, uint32_t second, uint64_t second_length) {
  const auto length = static_cast<z_off_t>(second_length);
  if (kind == Kind::kCrc32) return static_cast<uint32_t>(crc32_combine(first, second, length));
  if (kind == Kind::kAdler32) return static_cast<uint32_t>(adler32_combine(first, second, length));
  return CombineCrc32c(first, second, second_length);
}

Result<void> Checksum::Compare(uint32_t stored, uint32_t computed) const {
  if (stored == computed) return {};
  return Fail(ErrorCode::kDamaged, "{} checksum 0x{:08x}, computed 0x{:08x}", name(), stored,
              computed);
}

Result<BytesToBytesPtr> MakeChecksumCodec(const CodecSpec& codec) {
  const auto checksum = Checksum::Of(codec);
  if (!checksum) return Fail(checksum);
  if (!*checksum)
    return Fail(ErrorCode::kInvalidArgument, "codec '{}' is not a checksum", codec.name);
  return std::make_shared<const ChecksumCodec>(codec.name, **checksum);
}

}  // namespace zarrfs
