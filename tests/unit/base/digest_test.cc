#include "zarrcore/base/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace zarrfs::digest_test {
namespace {

std::string Hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string Sha256(const std::string& text) {
  DigestBuilder builder;
  builder.AddRaw(text);
  return Hex(builder.Finish());
}

// FIPS 180-4 and its examples; the others are from Python's hashlib.
TEST(Digest, IsSha256) {
  EXPECT_EQ(Sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, AnotherListOfValuesHasAnother) {
  const auto of = [](auto... values) {
    DigestBuilder builder;
    (builder.Add(values), ...);
    return builder.Finish();
  };
  using Text = std::string_view;
  EXPECT_EQ(of(Text("ab"), Text("c")), of(Text("ab"), Text("c")));
  EXPECT_NE(of(Text("ab"), Text("c")), of(Text("a"), Text("bc")));
  EXPECT_NE(of(Text("")), of());
  EXPECT_NE(of(uint64_t{1}), of(uint64_t{2}));
}

}  // namespace
}  // namespace zarrfs::digest_test
