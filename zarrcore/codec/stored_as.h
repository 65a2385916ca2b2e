// An array -> array codec that keeps the shape and stores each element as one of another data type.
#ifndef ZARRCORE_CODEC_STORED_AS_H_
#define ZARRCORE_CODEC_STORED_AS_H_

#include <string>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

class StoredAsCodec : public ArrayToArrayCodec {
 public:
  /// `name` is for messages.
  StoredAsCodec(std::string name, DataType stored)
      : name_(std::move(name)), stored_(std::move(stored)) {}

  ChunkSpec EncodedSpec(const ChunkSpec& decoded) const final { return {stored_, decoded.shape}; }
  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const final;
  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const final;

 protected:
  const std::string& name() const { return name_; }
  const DataType& stored() const { return stored_; }

 private:
  /// The elements are as many as the chunk has. `type` is that of the decoded ones.
  [[nodiscard]] virtual Result<Bytes> DecodeElements(BytesView stored,
                                                     const DataType& type) const = 0;
  /// kUnsupported unless overridden.
  [[nodiscard]] virtual Result<Bytes> EncodeElements(BytesView elements,
                                                     const DataType& type) const;

  const std::string name_;
  const DataType stored_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_CODEC_STORED_AS_H_
