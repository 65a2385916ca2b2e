#include "zarrcore/codec/registry.h"

#include <algorithm>

namespace zarrfs {
namespace {

constexpr bool kAlsoInNumcodecs = true;

struct Row {
  std::string_view name;
  CodecFactory factory;
  bool also_in_numcodecs = false;  // also registered as "numcodecs." followed by the name
};

const Row kCodecs[] = {
    // Codecs of the core specification.
    {"transpose", &MakeTransposeCodec},
    {"bytes", &MakeBytesCodec},
    {kMixedEndian, &MakeMixedEndianCodec},
    {"blosc", &MakeBloscCodec, kAlsoInNumcodecs},
    {"crc32c", &MakeChecksumCodec},
    {"gzip", &MakeGzipCodec, kAlsoInNumcodecs},
    {"zstd", &MakeZstdCodec, kAlsoInNumcodecs},
    // Compressors.
    {"zlib", &MakeZlibCodec, kAlsoInNumcodecs},
    {"bz2", &MakeBz2Codec, kAlsoInNumcodecs},
    {"lzma", &MakeLzmaCodec, kAlsoInNumcodecs},
    {"lz4", &MakeLz4Codec, kAlsoInNumcodecs},
    // Checksums.
    {"numcodecs.crc32c", &MakeChecksumCodec},
    {"numcodecs.crc32", &MakeChecksumCodec},
    {"numcodecs.adler32", &MakeChecksumCodec},
    {"numcodecs.fletcher32", &MakeChecksumCodec},
    {"numcodecs.jenkins_lookup3", &MakeChecksumCodec},
    // Transformations of numbers before compression.
    {"shuffle", &MakeShuffleCodec, kAlsoInNumcodecs},
    {"packbits", &MakePackbitsCodec},
    {"numcodecs.packbits", &MakeNumcodecsPackbitsCodec},
    {"bitround", &MakeBitroundCodec, kAlsoInNumcodecs},
    {"numcodecs.delta", &MakeDeltaCodec},
    {"numcodecs.quantize", &MakeQuantizeCodec},
    {"numcodecs.astype", &MakeAstypeCodec},
    {"cast_value", &MakeCastValueCodec},
    {"scale_offset", &MakeScaleOffsetCodec},
    {"numcodecs.fixedscaleoffset", &MakeFixedScaleOffsetCodec},
    {"zfpy", &MakeZfpyCodec, kAlsoInNumcodecs},
    {"zfp", &MakeZfpCodec},
    {"pcodec", &MakePcodecCodec, kAlsoInNumcodecs},
};

}  // namespace

const CodecFactory* FindCodec(std::string_view name) {
  constexpr std::string_view kPrefix = "numcodecs.";
  const auto has_name = [&](const Row& row) {
    return row.name == name || (row.also_in_numcodecs && name.starts_with(kPrefix) &&
                                row.name == name.substr(kPrefix.size()));
  };
  const Row* const row = std::ranges::find_if(kCodecs, has_name);
  return row == std::end(kCodecs) ? nullptr : &row->factory;
}

}  // namespace zarrfs
