// StoredAsCodec: the base of array-to-array codecs that store each element as an element of another
// data type.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"

namespace zarrfs {

/// Returns the data type in which a numcodecs codec stores elements of `type`. The configuration
/// member called `stored` names it; if absent, it is `type`. The member called `decoded` must name
/// `type` or be absent; otherwise this fails with kDamaged. Both members may contain numpy names
/// ("<i4", "i4") or core data types ("int32"). The byte order in a name is ignored, because the
/// array-to-bytes codec determines the byte order. Fails with kUnsupported for types that are
/// neither numbers nor bool.
[[nodiscard]] Result<DataType> StoredType(const CodecSpec& codec, const DataType& type,
                                          std::string_view decoded = "dtype",
                                          std::string_view stored = "astype");

/// Returns a kUnsupported error such as "codec 'numcodecs.astype': complex64 stored as int8 is not
/// known".
[[nodiscard]] tl::unexpected<Error> RefuseTypes(const CodecSpec& codec, const DataType& type,
                                                const DataType& stored);

class StoredAsCodec : public ArrayToArrayCodec {
 public:
  /// `name`: used in messages.
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
  /// Converts stored elements to `type`, the decoded type. The caller has checked the number of
  /// elements.
  [[nodiscard]] virtual Result<Bytes> DecodeElements(Bytes stored, const DataType& type) const = 0;
  /// The size in bytes of an element of the intermediate type in which the codec computes; 0 if it
  /// needs none.
  [[nodiscard]] virtual size_t CalculatedItemSize(const DataType& /*type*/) const { return 0; }
  /// Converts decoded elements to the stored type. Fails with kUnsupported unless overridden.
  [[nodiscard]] virtual Result<Bytes> EncodeElements(BytesView elements,
                                                     const DataType& type) const;

  const std::string name_;
  const DataType stored_;
};

}  // namespace zarrfs
