#include "zarrcore/codec/registry.h"

#include "zarrcore/codec/bitround.h"
#include "zarrcore/codec/blosc.h"
#include "zarrcore/codec/bytes.h"
#include "zarrcore/codec/bz2.h"
#include "zarrcore/codec/cast.h"
#include "zarrcore/codec/checksum.h"
#include "zarrcore/codec/crc32c.h"
#include "zarrcore/codec/delta.h"
#include "zarrcore/codec/gzip.h"
#include "zarrcore/codec/lz4.h"
#include "zarrcore/codec/lzma.h"
#include "zarrcore/codec/not_built.h"
#include "zarrcore/codec/packbits.h"
#include "zarrcore/codec/scale_offset.h"
#include "zarrcore/codec/shuffle.h"
#include "zarrcore/codec/transpose.h"
#include "zarrcore/codec/zfp.h"
#include "zarrcore/codec/zlib.h"
#include "zarrcore/codec/zstd.h"

namespace zarrfs {
namespace {

struct Row {
  std::string_view name;
  CodecFactory factory;
};

const Row kCodecs[] = {
    // The core specification.
    {"transpose", &MakeTransposeCodec},
    {"bytes", &MakeBytesCodec},
    {"blosc", &MakeBloscCodec},
    {"crc32c", &MakeCrc32cCodec},
    {"gzip", &MakeGzipCodec},
    {"zstd", &MakeZstdCodec},
    // Compressors.
    {"numcodecs.blosc", &MakeBloscCodec},
    {"numcodecs.gzip", &MakeGzipCodec},
    {"numcodecs.zstd", &MakeZstdCodec},
    {"zlib", &MakeZlibCodec},
    {"numcodecs.zlib", &MakeZlibCodec},
    {"bz2", &MakeBz2Codec},
    {"numcodecs.bz2", &MakeBz2Codec},
    {"lzma", &MakeLzmaCodec},
    {"numcodecs.lzma", &MakeLzmaCodec},
    {"lz4", &MakeLz4Codec},
    {"numcodecs.lz4", &MakeLz4Codec},
    // Checksums.
    {"numcodecs.crc32c", &MakeNumcodecsChecksumCodec},
    {"numcodecs.crc32", &MakeNumcodecsChecksumCodec},
    {"numcodecs.adler32", &MakeNumcodecsChecksumCodec},
    {"numcodecs.fletcher32", &MakeNumcodecsChecksumCodec},
    {"numcodecs.jenkins_lookup3", &MakeNumcodecsChecksumCodec},
    // Transformations of numbers before compression.
    {"shuffle", &MakeShuffleCodec},
    {"numcodecs.shuffle", &MakeShuffleCodec},
    {"packbits", &MakePackbitsCodec},
    {"numcodecs.packbits", &MakeNumcodecsPackbitsCodec},
    {"bitround", &MakeBitroundCodec},
    {"numcodecs.bitround", &MakeBitroundCodec},
    {"numcodecs.delta", &MakeDeltaCodec},
    {"numcodecs.quantize", &MakeQuantizeCodec},
    {"numcodecs.astype", &MakeAstypeCodec},
    {"cast_value", &MakeCastValueCodec},
    {"scale_offset", &MakeScaleOffsetCodec},
    {"numcodecs.fixedscaleoffset", &MakeFixedScaleOffsetCodec},
    {"zfpy", &MakeZfpyCodec},
    {"numcodecs.zfpy", &MakeZfpyCodec},
    {"zfp", &MakeZfpCodec},
    // Known, but not supported.
    {"pcodec", &RefusePcodec},
    {"numcodecs.pcodec", &RefusePcodec},
};

}  // namespace

const CodecFactory* FindCodec(std::string_view name) {
  for (const Row& row : kCodecs) {
    if (row.name == name) return &row.factory;
  }
  return nullptr;
}

}  // namespace zarrfs
