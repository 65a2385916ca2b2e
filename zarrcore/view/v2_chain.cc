#include "zarrcore/view/v2_chain.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "zarrcore/codec/blosc.h"
#include "zarrcore/codec/configuration.h"

namespace zarrfs {
namespace {

constexpr uint64_t kChecksumBytes = 4;
constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

// Compressors that have one parameter, for encoders: its name, the range and the default.
struct OneParameter {
  std::string_view id;
  const char* parameter;
  int64_t minimum;
  int64_t maximum;
  int64_t otherwise;
};
constexpr std::array kOneParameter = {
    OneParameter{"gzip", "level", 0, 9, 5},
    OneParameter{"zlib", "level", 0, 9, 1},  // (jzarr refuses -1, the library's default.)
    OneParameter{"zstd", "level", -131072, 22, 0},
    OneParameter{"bz2", "level", 1, 9, 1},
    OneParameter{"lz4", "acceleration", -kMaxInt, kMaxInt, 1},
};

// Adds the bytes of a checksum to what is cut; false if the codec is none.
bool CutChecksum(const CodecSpec& codec, V2Chain& chain) {
  const bool is_crc32c = codec.name == "crc32c" || codec.name == "numcodecs.crc32c";
  const bool begins = codec.name == "numcodecs.crc32" || codec.name == "numcodecs.adler32";
  const bool ends =
      codec.name == "numcodecs.fletcher32" || codec.name == "numcodecs.jenkins_lookup3";
  if (!is_crc32c && !begins && !ends) return false;
  const Json& location = MemberOrNull(codec.configuration, "location");
  const bool is_front = (begins && location != "end") || (is_crc32c && location == "start");
  (is_front ? chain.cut_front : chain.cut_back) += kChecksumBytes;
  return true;
}

// The v2 "compressor" of a bytes -> bytes codec; extra members would break zarr-python 2.
std::optional<Json> Compressor(const CodecSpec& codec) {
  const std::string_view name = codec.plain_name();
  for (const auto& [id, parameter, minimum, maximum, otherwise] : kOneParameter) {
    if (name != id) continue;
    return Json{{"id", id},
                {parameter, EncoderMember(codec, parameter, minimum, maximum, otherwise)}};
  }
  if (name == "lzma") {
    Json json = {{"id", "lzma"}};
    for (const auto& [key, value] : codec.configuration.items()) {
      if (key != "id") json[key] = value;
    }
    return json;
  }
  if (name == "blosc") {
    // The frame's own header is what readers decode by; these are for writers.
    const BloscParameters parameters = BloscParametersOf(codec, 1);
    return Json{{"id", "blosc"},
                {"cname", parameters.compressor},
                {"clevel", parameters.level},
                {"shuffle", parameters.shuffle},
                {"blocksize", parameters.block_size}};
  }
  return std::nullopt;
}

// C if the axes longer than 1 keep their order, F if they are reversed.
std::optional<char> MemoryOrder(const std::vector<size_t>& axes,
                                const std::vector<uint64_t>& chunk_shape) {
  std::vector<size_t> long_axes;
  for (const size_t axis : axes) {
    if (chunk_shape[axis] > 1) long_axes.push_back(axis);
  }
  if (std::ranges::is_sorted(long_axes)) return 'C';
  if (std::ranges::is_sorted(long_axes, std::ranges::greater{})) return 'F';
  return std::nullopt;
}

Result<void> SetCompressor(Json compressor, const ReaderProfile& profile,
                           const CompressorSet& compressors, V2Chain& chain) {
  if (!chain.compressor.is_null()) {
    return Fail(ErrorCode::kUnsupported, "two compressors are not translated to v2");
  }
  const std::string& id = compressor["id"].get_ref<const std::string&>();
  const bool is_in_profile =
      std::ranges::find(profile.compressors, id) != profile.compressors.end();
  if (!is_in_profile || !Has(compressors, id)) {
    return Fail(ErrorCode::kUnsupported, "compressor '{}' is not known there", id);
  }
  if (!profile.takes_snappy_in_blosc && MemberOrNull(compressor, "cname") == "snappy") {
    return Fail(ErrorCode::kUnsupported, "snappy is not known there");
  }
  chain.has_zstd = id == "zstd";
  chain.compressor = std::move(compressor);
  return {};
}

}  // namespace

Result<V2Chain> ToV2Chain(const ArrayLayout& layout, const ReaderProfile& profile,
                          const CompressorSet& compressors) {
  V2Chain chain;
  const auto& chunk_shape = layout.inner_chunk_shape;
  std::vector<size_t> axes(chunk_shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  bool in_bytes = false;
  bool checksums = false;
  for (const CodecSpec& codec : layout.inner_codecs) {
    if (!in_bytes) {
      if (codec.name == "transpose") {
        const auto order = TransposeOrder(codec, axes.size());
        if (!order) return Fail(order);
        std::vector<size_t> composed(axes.size());
        for (size_t j = 0; j < axes.size(); ++j) composed[j] = axes[(*order)[j]];
        axes = std::move(composed);
      } else if (codec.name == "bytes") {
        const Json endian = codec.configuration.value("endian", Json("little"));
        if (endian != "little" && endian != "big") {
          return Fail(ErrorCode::kUnsupported, "endian {} is not translated to v2",
                      Excerpt(endian));
        }
        chain.byte_order = endian == "big" ? '>' : '<';
        in_bytes = true;
      } else if (codec.name == "vlen-utf8" || codec.name == "vlen-bytes") {
        chain.filters = Json::array({Json{{"id", codec.name}}});
        in_bytes = true;
      } else if (codec.name != "bitround" && codec.name != "numcodecs.bitround") {
        // (bitround changes what is written, not how it is read.)
        return Fail(ErrorCode::kUnsupported, "codec '{}' is not translated to v2", codec.name);
      }
    } else if (CutChecksum(codec, chain)) {
      checksums = true;
    } else if (auto compressor = Compressor(codec)) {
      if (checksums) {
        return Fail(ErrorCode::kUnsupported,
                    "a checksum before the compressor '{}' is not translated to v2", codec.name);
      }
      const auto set = SetCompressor(std::move(*compressor), profile, compressors, chain);
      if (!set) return Fail(set);
    } else {
      return Fail(ErrorCode::kUnsupported, "codec '{}' is not translated to v2", codec.name);
    }
  }
  if (!in_bytes) {
    return Fail(ErrorCode::kUnsupported,
                "a chain without the codec 'bytes' is not translated to v2");
  }
  const auto order = MemoryOrder(axes, chunk_shape);
  if (!order) {
    return Fail(ErrorCode::kUnsupported,
                "a transpose that is neither C nor F order is not translated to v2");
  }
  chain.order = *order;
  if (chain.order == 'F' && !profile.takes_fortran_order) {
    return Fail(ErrorCode::kUnsupported, "order F is not known there");
  }
  if (chain.byte_order == '>' && !profile.takes_big_endian) {
    return Fail(ErrorCode::kUnsupported, "big-endian elements are not known there");
  }
  return chain;
}

}  // namespace zarrfs
