#include "zarrcore/codec/bitround.h"

#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

class BitroundCodec : public StoredAsCodec {
 public:
  using StoredAsCodec::StoredAsCodec;

 private:
  Result<Bytes> DecodeElements(BytesView stored, const DataType&) const override {
    return Bytes(stored.begin(), stored.end());
  }
};

}  // namespace

Result<std::shared_ptr<const ArrayToArrayCodec>> MakeBitroundCodec(const CodecSpec& codec,
                                                                   const ChunkSpec& chunk) {
  return std::make_shared<const BitroundCodec>(codec.name, chunk.data_type);
}

}  // namespace zarrfs
