#include "zarrcore/net/sigv4.h"

#include <gtest/gtest.h>

// The examples of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
// and of AWS's suite of tests for Signature Version 4.
namespace zarrfs::sigv4_test {
namespace {

constexpr std::string_view kEmpty =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const AwsKey kKey{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const SigningScope kScope{.region = "us-east-1", .time = "20130524T000000Z"};
constexpr const char* kHost = "examplebucket.s3.amazonaws.com";

std::map<std::string, std::string> HeadersOfExamples() {
  return {{"x-amz-content-sha256", std::string(kEmpty)}, {"x-amz-date", kScope.time}};
}

TEST(SigV4Test, GetOfARange) {
  SignedRequest request{.host = kHost, .path = "/test.txt", .headers = HeadersOfExamples()};
  request.headers["range"] = "bytes=0-9";
  EXPECT_EQ(SignatureOf(request, kKey.secret, kScope, kEmpty),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4Test, QueryWithoutAValue) {
  const SignedRequest request{
      .host = kHost, .path = "/", .query = {{"lifecycle", ""}}, .headers = HeadersOfExamples()};
  EXPECT_EQ(SignatureOf(request, kKey.secret, kScope, kEmpty),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4Test, ListingOfKeys) {
  const SignedRequest request{.host = kHost,
                              .path = "/",
                              .query = {{"max-keys", "2"}, {"prefix", "J"}},
                              .headers = HeadersOfExamples()};
  EXPECT_EQ(SignatureOf(request, kKey.secret, kScope, kEmpty),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4Test, VanillaOfTheSuite) {
  const SignedRequest request{.host = "example.amazonaws.com",
                              .path = "/",
                              .headers = {{"x-amz-date", "20150830T123600Z"}}};
  EXPECT_EQ(SignatureOf(request, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                        {.region = "us-east-1", .service = "service", .time = "20150830T123600Z"},
                        kEmpty),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(SigV4Test, HeadersNameTheKeyAndWhatIsSigned) {
  const auto lines = Sign({.host = kHost, .path = "/"}, kKey, kScope);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "x-amz-content-sha256: " + std::string(kEmpty));
  EXPECT_EQ(lines[1], "x-amz-date: 20130524T000000Z");
  EXPECT_TRUE(
      lines[2].starts_with("Authorization: AWS4-HMAC-SHA256 "
                           "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                           "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="))
      << lines[2];
}

TEST(SigV4Test, TokenOfASessionIsSigned) {
  const auto lines = Sign({.host = kHost, .path = "/"}, {"id", "secret", "token"}, kScope);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2], "x-amz-security-token: token");
  EXPECT_NE(lines[3].find(";x-amz-security-token,"), std::string::npos) << lines[3];
}

TEST(SigV4Test, QueryIsEncodedAndInOrder) {
  EXPECT_EQ(CanonicalQuery({{"prefix", "a b/c=ü+~"}, {"list-type", "2"}}),
            "list-type=2&prefix=a%20b%2Fc%3D%C3%BC%2B~");
}

}  // namespace
}  // namespace zarrfs::sigv4_test
