// Base of array -> array codecs that store each element as one of another data type.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// The type in which a numcodecs codec stores elements of `type`: the member `stored`, by default
/// `type`. Both members are names of numpy ("<i4", "i4") or of core data types ("int32"); their
/// byte order is ignored, because the array -> bytes codec defines it. kDamaged if the member
/// `decoded` is a type other than `type`; kUnsupported for types that are neither numbers nor bool.
[[nodiscard]] Result<DataType> StoredType(const CodecSpec& codec, const DataType& type,
                                          std::string_view decoded = "dtype",
                                          std::string_view stored = "astype");

/// kUnsupported: "codec 'numcodecs.astype': complex64 stored as int8 is not known".
[[nodiscard]] tl::unexpected<Error> RefuseTypes(const CodecSpec& codec, const DataType& type,
                                                const DataType& stored);

class StoredAsCodec : public ArrayToArrayCodec {
 public:
  /// `name` is for messages.
  StoredAsCodec(std::string name, DataType stored)
      : name_(std::move(name)), stored_(std::move(stored)) {}

  ChunkSpec EncodedSpec(const ChunkSpec& decoded) const final { return {stored_, decoded.shape}; }
  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const final {
    return DecodeInPlace({encoded.begin(), encoded.end()}, decoded);
  }
  Result<Bytes> DecodeInPlace(Bytes encoded, const ChunkSpec& decoded) const final;
  uint64_t MemoryToDecode(uint64_t encoded, const ChunkSpec& decoded) const final;
  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const final;

 protected:
  const std::string& name() const { return name_; }
  const DataType& stored() const { return stored_; }

 private:
  /// The base has checked the number of elements. `type` is the decoded type.
  [[nodiscard]] virtual Result<Bytes> DecodeElements(Bytes stored, const DataType& type) const = 0;
  /// Element size of an intermediate type in bytes; 0 if there is none.
  [[nodiscard]] virtual size_t CalculatedItemSize(const DataType& /*type*/) const { return 0; }
  /// kUnsupported unless overridden.
  [[nodiscard]] virtual Result<Bytes> EncodeElements(BytesView elements,
                                                     const DataType& type) const;

  const std::string name_;
  const DataType stored_;
};

}  // namespace zarrfs
