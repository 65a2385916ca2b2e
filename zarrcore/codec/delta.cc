#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/codec/stored_as.h"

namespace zarrfs {
namespace {

// Applies `operation`, an addition or subtraction. Integers wrap.
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
  // Decodes piece by piece. Converting all elements to the wider type at once could take twice the
  // memory of the chunk.
  Result<Bytes> DecodeElements(Bytes encoded, const DataType& type) const override {
    constexpr size_t kElementsAtOnce = 64 << 10;
    const DataType wide = PromotedType(stored(), type);
    Bytes decoded(encoded.size() / stored().item_size * type.item_size);
    auto to = decoded.begin();
    auto summed = WithElementType(wide, [&]<typename T>(std::type_identity<T>) -> Result<void> {
      std::optional<T> sum;
      for (BytesView rest = encoded; !rest.empty();) {
        const BytesView piece =
            rest.first(std::min(rest.size(), kElementsAtOnce * stored().item_size));
        rest = rest.subspan(piece.size());
        auto elements = ConvertElements({piece.begin(), piece.end()}, stored(), wide, Conversion());
        if (!elements) return Fail(elements);
        for (size_t at = 0; at < elements->size(); at += sizeof(T)) {
          const T step = LoadElement<T>(elements->data() + at);
          sum = sum ? Calculate(*sum, step, std::plus()) : step;
          StoreElement(elements->data() + at, *sum);
        }
        elements = ConvertElements(std::move(*elements), wide, type, Conversion());
        if (!elements) return Fail(elements);
        to = std::ranges::copy(*elements, to).out;
      }
      return {};
    });
    if (!summed) return Fail(summed);
    return decoded;
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
    return ConvertElements(std::move(steps), type, stored(), Conversion());
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
