#include <functional>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

// (Integers wrap.)
template <typename T, typename Operation>
T Calculate(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(operation(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return operation(a, b);
  }
}

class DeltaCodec : public StoredAsCodec {
 public:
  using StoredAsCodec::StoredAsCodec;

 private:
  Result<Bytes> DecodeElements(BytesView encoded, const DataType& type) const override {
    const DataType wide = PromotedType(stored(), type);
    Result<Bytes> elements = ConvertElements(encoded, stored(), wide, Conversion());
    if (!elements) return elements;
    WithElementType(wide, [&]<typename T>(std::type_identity<T>) {
      T sum = {};
      for (size_t at = 0; at < elements->size(); at += sizeof(T)) {
        const T step = LoadElement<T>(elements->data() + at);
        sum = at == 0 ? step : Calculate(sum, step, std::plus());
        StoreElement(elements->data() + at, sum);
      }
    });
    return ConvertElements(*elements, wide, type, Conversion());
  }

  Result<Bytes> EncodeElements(BytesView elements, const DataType& type) const override {
    Bytes steps(elements.begin(), elements.end());
    WithElementType(type, [&]<typename T>(std::type_identity<T>) {
      for (size_t at = sizeof(T); at < steps.size(); at += sizeof(T)) {
        const T before = LoadElement<T>(elements.data() + at - sizeof(T));
        StoreElement(steps.data() + at,
                     Calculate(LoadElement<T>(elements.data() + at), before, std::minus()));
      }
    });
    return ConvertElements(steps, type, stored(), Conversion());
  }
};

}  // namespace

Result<ArrayToArrayPtr> MakeDeltaCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  const Result<DataType> stored = StoredType(codec, chunk.data_type);
  if (!stored) return Fail(stored);
  if (!IsIntegerOrFloat(chunk.data_type) || !IsIntegerOrFloat(*stored)) {
    return Fail(ErrorCode::kUnsupported, "codec '{}': differences of {} as {} are not known",
                codec.name, chunk.data_type.name, stored->name);
  }
  return std::make_shared<const DeltaCodec>(codec.name, *stored);
}

}  // namespace zarrfs
