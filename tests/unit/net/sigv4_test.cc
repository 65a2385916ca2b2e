#include "zarrcore/net/sigv4.h"

#include <gtest/gtest.h>

#include "zarrcore/net/remote_source.h"

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

TEST(SigV4Test, RequestsOfTheSuite) {
  struct Case {
    const char* name;
    std::string path;
    std::map<std::string, std::string> query;
    std::string token;
    const char* signature;
  };
  const std::string unreserved =
      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
  const std::string utf8 = "\u1234";
  const std::vector<Case> cases = {
      {"get-vanilla",
       "/",
       {},
       "",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-unreserved",
       "/" + unreserved,
       {},
       "",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8",
       "/" + utf8,
       {},
       "",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-space",
       "/example space/",
       {},
       "",
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-vanilla-query-order-key-case",
       "/",
       {{"Param2", "value2"}, {"Param1", "value1"}},
       "",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-unreserved",
       "/",
       {{unreserved, unreserved}},
       "",
       "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
      {"get-vanilla-utf8-query",
       "/",
       {{utf8, "bar"}},
       "",
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-vanilla-with-session-token",
       "/",
       {},
       token,
       "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
  };
  for (const Case& each : cases) {
    SignedRequest request{.host = "example.amazonaws.com",
                          .path = PercentEncode(each.path),
                          .query = each.query,
                          .headers = {{"x-amz-date", "20150830T123600Z"}}};
    if (!each.token.empty()) request.headers["x-amz-security-token"] = each.token;
    EXPECT_EQ(SignatureOf(request, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                          {.region = "us-east-1", .service = "service", .time = "20150830T123600Z"},
                          kEmpty),
              each.signature)
        << each.name;
  }
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
