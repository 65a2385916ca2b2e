#include "zarrcore/metadata/base64.h"

#include <gtest/gtest.h>

namespace zarrfs::base64_test {
namespace {

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// RFC 4648, section 10.
TEST(Base64, TestVectors) {
  const std::pair<std::string_view, std::string_view> vectors[] = {{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(EncodeBase64(Bytes(bytes)), text);
    EXPECT_EQ(DecodeBase64(text), Bytes(bytes)) << text;
  }
}

TEST(Base64, EveryByteComesBack) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::byte>(i));
  EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
}

TEST(Base64, OtherTextIsRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg==Zg==", "=g==", "Z===", "====", "Zm9v\n", "Zm-_", "Z\xc3\xa9="}) {
    EXPECT_FALSE(DecodeBase64(text)) << text;
  }
}

}  // namespace
}  // namespace zarrfs::base64_test
