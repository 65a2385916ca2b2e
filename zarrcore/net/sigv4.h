// Signatures of requests to S3: AWS Signature Version 4, in headers.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace zarrfs {

struct AwsKey {
  std::string id;
  std::string secret;
  std::string token;  // of a session; else ""
};

/// What is signed. The body is empty.
struct SignedRequest {
  std::string method = "GET";
  std::string host;                                 // with the port, unless it is the scheme's own
  std::string path;                                 // percent-encoded, as it is sent
  std::map<std::string, std::string> query = {};    // names and values, not encoded
  std::map<std::string, std::string> headers = {};  // further ones to sign, names in lower case
};

/// Where and when: a signature holds for some minutes. `time` is "20130524T000000Z".
struct SigningScope {
  std::string region;
  std::string service = "s3";
  std::string time;
};

/// The query as it has to be sent for the signature to be right: encoded, in the order of names.
[[nodiscard]] std::string CanonicalQuery(const std::map<std::string, std::string>& query);

/// Headers to send, "Name: value", without those of `request`.
[[nodiscard]] std::vector<std::string> Sign(const SignedRequest& request, const AwsKey& key,
                                            const SigningScope& scope);

/// The signature alone, over exactly "host" and the headers of `request`.
[[nodiscard]] std::string SignatureOf(const SignedRequest& request, std::string_view secret,
                                      const SigningScope& scope, std::string_view body_digest);

}  // namespace zarrfs
