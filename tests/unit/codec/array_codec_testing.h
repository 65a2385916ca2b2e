// OneAxisCodec: an array-to-array codec for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs {

inline DataType TypeNamed(const std::string& name) { return *ParseDataType(Json(name), "test"); }

/// A codec for chunks of one axis, whose length follows from the input.
class OneAxisCodec {
 public:
  OneAxisCodec(const std::string& name, std::string_view configuration, const std::string& type)
      : type_(TypeNamed(type)),
        codec_(std::get<ArrayToArrayFactory>(*FindCodec(name))(
            CodecSpec{name, Configuration(configuration)}, {type_, {1}})) {}

  [[nodiscard]] bool made() const { return codec_.has_value(); }
  [[nodiscard]] Error error() const { return codec_ ? Error{} : codec_.error(); }
  [[nodiscard]] std::string StoredType() const {
    return (*codec_)->EncodedSpec({type_, {1}}).data_type.name;
  }
  [[nodiscard]] Result<Bytes> Decode(std::string_view hex) const {
    const Bytes stored = Hex(hex);
    const size_t size = (*codec_)->EncodedSpec({type_, {1}}).data_type.item_size;
    return (*codec_)->Decode(stored, {type_, {stored.size() / size}});
  }
  [[nodiscard]] Result<Bytes> Encode(std::string_view hex) const {
    const Bytes elements = Hex(hex);
    return (*codec_)->Encode(elements, {type_, {elements.size() / type_.item_size}});
  }

 private:
  const DataType type_;
  const Result<std::shared_ptr<const ArrayToArrayCodec>> codec_;
};

}  // namespace zarrfs
