#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/codec/codec_testing.h"

namespace zarrfs::transpose_test {
namespace {

using Order = std::vector<size_t>;

CodecSpec Spec(std::string_view order) {
  return {"transpose", Configuration(fmt::format(R"({{"order": {}}})", order))};
}

std::shared_ptr<const ArrayToArrayCodec> Make(std::string_view order, const ChunkSpec& chunk) {
  const auto made = MakeTransposeCodec(Spec(order), chunk);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : nullptr;
}

// Encodes by the definition: element (e0, e1, ...) of the encoded chunk is the decoded element
// whose index along axis order[j] is ej.
Bytes ByDefinition(const Bytes& decoded, const ChunkSpec& spec, const Order& order) {
  const size_t rank = order.size();
  const size_t item = spec.data_type.item_size;
  Bytes encoded;
  for (size_t n = 0; n < decoded.size() / item; ++n) {
    std::vector<uint64_t> index(rank);
    uint64_t rest = n;
    for (size_t j = rank; j-- > 0;) {
      index[order[j]] = rest % spec.shape[order[j]];
      rest /= spec.shape[order[j]];
    }
    uint64_t at = 0;
    for (size_t axis = 0; axis < rank; ++axis) at = at * spec.shape[axis] + index[axis];
    const auto first = decoded.begin() + static_cast<ptrdiff_t>(at * item);
    encoded.insert(encoded.end(), first, first + static_cast<ptrdiff_t>(item));
  }
  return encoded;
}

TEST(TransposeCodec, ReversedAxesAreColumnMajor) {
  const ChunkSpec spec{Type("uint8", DataKind::kUint, 1), {2, 3}};
  const auto codec = Make("[1, 0]", spec);
  EXPECT_EQ(codec->EncodedSpec(spec).shape, (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(codec->Encode(Hex("010203 040506"), spec), Hex("0104 0205 0306"));
  EXPECT_EQ(codec->Decode(Hex("0104 0205 0306"), spec), Hex("010203 040506"));
}

TEST(TransposeCodec, EncodedAxisIsTheDecodedOneThatOrderNames) {
  const ChunkSpec spec{Type("uint8", DataKind::kUint, 1), {2, 3, 4}};
  EXPECT_EQ(Make("[2, 0, 1]", spec)->EncodedSpec(spec).shape, (std::vector<uint64_t>{4, 2, 3}));
}

TEST(TransposeCodec, EveryOrderOfFourAxesAndEveryItemSizeGoesThereAndBack) {
  for (const size_t item : {1, 2, 3, 4, 8, 16}) {
    const ChunkSpec spec{Type("r", DataKind::kRaw, item), {2, 1, 3, 4}};
    Bytes decoded(24 * item);
    for (size_t i = 0; i < decoded.size(); ++i) decoded[i] = static_cast<std::byte>(i * 37 / 11);
    Order order = {0, 1, 2, 3};
    do {
      const auto codec = Make(fmt::format("[{}]", fmt::join(order, ",")), spec);
      const Result<Bytes> encoded = codec->Encode(decoded, spec);
      ASSERT_EQ(encoded, ByDefinition(decoded, spec, order))
          << fmt::format("{}", fmt::join(order, ","));
      ASSERT_EQ(codec->Decode(*encoded, spec), decoded) << fmt::format("{}", fmt::join(order, ","));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(TransposeCodec, HighestRankWorks) {
  ChunkSpec spec{Type("uint16", DataKind::kUint, 2), std::vector<uint64_t>(kMaxRank, 1)};
  spec.shape.front() = 2;
  spec.shape[5] = 3;
  spec.shape.back() = 2;
  const auto codec = Make(R"("F")", spec);
  const Bytes decoded = Hex("0100 0200 0300 0400 0500 0600 0700 0800 0900 0a00 0b00 0c00");
  const Result<Bytes> encoded = codec->Encode(decoded, spec);
  EXPECT_EQ(encoded, Hex("0100 0700 0300 0900 0500 0b00 0200 0800 0400 0a00 0600 0c00"));
  EXPECT_EQ(codec->Decode(*encoded, spec), decoded);
}

TEST(TransposeCodec, AnyOtherSizeIsDamage) {
  const ChunkSpec spec{Type("uint8", DataKind::kUint, 1), {2, 3}};
  for (const size_t size : {0, 5, 7}) {
    const auto decoded = Make("[1, 0]", spec)->Decode(Bytes(size), spec);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, ErrorCode::kDamaged);
  }
}

TEST(TransposeOrder, LegacyLettersNameTheTwoOldOrders) {
  EXPECT_EQ(TransposeOrder(Spec(R"("C")"), 3), (Order{0, 1, 2}));
  EXPECT_EQ(TransposeOrder(Spec(R"("F")"), 3), (Order{2, 1, 0}));
  EXPECT_EQ(TransposeOrder(Spec("[]"), 0), Order{});
}

TEST(TransposeOrder, WhatIsNoPermutationIsDamage) {
  for (const char* wrong : {"[0]", "[0, 0]", "[0, 2]", "[0, -1]", "[0, 1, 2]", "[0, 1.5]",
                            "[0, 18446744073709551615]", "\"A\"", "null", "7", "[\"a\", 0]"}) {
    const auto order = TransposeOrder(Spec(wrong), 2);
    ASSERT_FALSE(order) << wrong;
    EXPECT_EQ(order.error().code, ErrorCode::kDamaged);
  }
  EXPECT_FALSE(TransposeOrder(CodecSpec{"transpose"}, 2));
  EXPECT_EQ(TransposeOrder(Spec("[0, 0]"), 2).error().message,
            "codec 'transpose': order is [0,0], expected a permutation of 2 axes");
}

}  // namespace
}  // namespace zarrfs::transpose_test
