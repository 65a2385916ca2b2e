// "transpose": decodes and encodes with one strided copy, which writes the output front to back and
// reads the input with strides. Before the copy, axes of length 1 are dropped, and axes that are
// adjacent in input and output are merged. So an order that moves nothing is one memcpy, and an
// order that keeps the last axis copies whole rows.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/registry.h"

namespace zarrfs {
namespace {

struct Axis {
  uint64_t extent;
  uint64_t stride;  // the distance in bytes between consecutive indexes in the input
};

std::vector<uint64_t> StridesInC(const std::vector<uint64_t>& shape, uint64_t item_size) {
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = item_size;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::vector<Axis> Merge(const std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.extent) {
      merged.back() = {merged.back().extent * axis.extent, axis.stride};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

// Copies the items of one row. `kSize`: the size of an item, or 0 if only `item_size` states it.
template <size_t kSize>
void CopyRow(const std::byte* from, Axis row, size_t item_size, std::byte* to) {
  const size_t size = kSize == 0 ? item_size : kSize;
  for (uint64_t i = 0; i < row.extent; ++i) {
    std::memcpy(to, from, size);
    from += row.stride;
    to += size;
  }
}

using RowCopy = void (*)(const std::byte*, Axis, size_t, std::byte*);

RowCopy RowCopyFor(size_t item_size) {
  switch (item_size) {
    case 1:
      return &CopyRow<1>;
    case 2:
      return &CopyRow<2>;
    case 4:
      return &CopyRow<4>;
    case 8:
      return &CopyRow<8>;
    case 16:
      return &CopyRow<16>;
    default:
      return &CopyRow<0>;
  }
}

// Fills `output` with items of `from`. `axes`: the axes of the output, outermost first, with their
// strides in the input.
void StridedCopy(const std::byte* from, const std::vector<Axis>& axes, size_t item_size,
                 Bytes& output) {
  std::vector<Axis> outer = Merge(axes);
  Axis row = {1, item_size};
  if (!outer.empty()) {
    row = outer.back();
    outer.pop_back();
  }
  if (row.stride == item_size) {  // each row is contiguous in the input
    item_size *= row.extent;
    row = {1, item_size};
  }
  const RowCopy copy_row = RowCopyFor(item_size);
  const size_t row_size = row.extent * item_size;
  std::vector<uint64_t> index(outer.size(), 0);
  for (std::byte* to = output.data();;) {
    copy_row(from, row, item_size, to);
    to += row_size;
    size_t axis = outer.size();
    while (axis > 0 && ++index[axis - 1] == outer[axis - 1].extent) {
      --axis;
      index[axis] = 0;
      from -= outer[axis].stride * (outer[axis].extent - 1);
    }
    if (axis == 0) return;
    from += outer[axis - 1].stride;
  }
}

class TransposeCodec : public ArrayToArrayCodec {
 public:
  explicit TransposeCodec(std::vector<size_t> order) : order_(std::move(order)) {}

  ChunkSpec EncodedSpec(const ChunkSpec& decoded) const override {
    ChunkSpec encoded{decoded.data_type, {}};
    for (const size_t axis : order_) encoded.shape.push_back(decoded.shape[axis]);
    return encoded;
  }

  Result<Bytes> Decode(BytesView encoded, const ChunkSpec& decoded) const override {
    const std::vector<uint64_t> strides =
        StridesInC(EncodedSpec(decoded).shape, decoded.data_type.item_size);
    std::vector<Axis> axes(order_.size());
    for (size_t j = 0; j < order_.size(); ++j) {
      axes[order_[j]] = {decoded.shape[order_[j]], strides[j]};
    }
    return Copy(encoded, axes, decoded, ErrorCode::kDamaged);
  }

  Result<Bytes> Encode(BytesView decoded, const ChunkSpec& spec) const override {
    const std::vector<uint64_t> strides = StridesInC(spec.shape, spec.data_type.item_size);
    std::vector<Axis> axes(order_.size());
    for (size_t j = 0; j < order_.size(); ++j) {
      axes[j] = {spec.shape[order_[j]], strides[order_[j]]};
    }
    return Copy(decoded, axes, spec, ErrorCode::kInvalidArgument);
  }

 private:
  static Result<Bytes> Copy(BytesView from, const std::vector<Axis>& axes, const ChunkSpec& spec,
                            ErrorCode wrong_size) {
    const auto checked = CheckSize("transpose", from, spec.data_type, spec.shape, wrong_size);
    if (!checked) return Fail(checked);
    Bytes to(from.size());
    if (!to.empty()) StridedCopy(from.data(), axes, spec.data_type.item_size, to);
    return to;
  }

  const std::vector<size_t> order_;
};

}  // namespace

Result<std::vector<size_t>> TransposeOrder(const CodecSpec& codec, size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  const Json& member = MemberOrNull(codec.configuration, "order");
  if (member == "C") return order;  // "C" and "F" occur in drafts of the specification
  if (member == "F") return std::vector(order.rbegin(), order.rend());
  const auto is_axis = [](const Json& axis) { return axis.is_number_unsigned(); };
  if (!member.is_array() || !std::ranges::all_of(member, is_axis) ||
      !std::ranges::is_permutation(member.get<std::vector<size_t>>(), order)) {
    return WrongMember(codec, "order", fmt::format("a permutation of {} axes", rank));
  }
  return member.get<std::vector<size_t>>();
}

Result<ArrayToArrayPtr> MakeTransposeCodec(const CodecSpec& codec, const ChunkSpec& chunk) {
  Result<std::vector<size_t>> order = TransposeOrder(codec, chunk.shape.size());
  if (!order) return Fail(order);
  return std::make_shared<const TransposeCodec>(std::move(*order));
}

}  // namespace zarrfs
