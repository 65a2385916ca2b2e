#include "zarrcore/codec/registry.h"

#include "zarrcore/codec/blosc.h"
#include "zarrcore/codec/bytes.h"
#include "zarrcore/codec/crc32c.h"
#include "zarrcore/codec/gzip.h"
#include "zarrcore/codec/transpose.h"
#include "zarrcore/codec/zstd.h"

namespace zarrfs {
namespace {

struct Row {
  std::string_view name;
  CodecFactory factory;
};

const Row kCodecs[] = {
    {"transpose", &MakeTransposeCodec}, {"bytes", &MakeBytesCodec}, {"blosc", &MakeBloscCodec},
    {"crc32c", &MakeCrc32cCodec},       {"gzip", &MakeGzipCodec},   {"zstd", &MakeZstdCodec},
};

}  // namespace

const CodecFactory* FindCodec(std::string_view name) {
  for (const Row& row : kCodecs) {
    if (row.name == name) return &row.factory;
  }
  return nullptr;
}

}  // namespace zarrfs
