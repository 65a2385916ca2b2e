// Signatures of S3 requests: AWS Signature Version 4, in headers.
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
  std::string token;  // the session token; "" if there is none
};

/// The signed parts of a request. The body is empty.
struct SignedRequest {
  std::string method = "GET";
  std::string host;  // with the port, unless it is the scheme's default
  std::string path;  // percent-encoded, as sent
  std::map<std::string, std::string> query = {};  // names and values, not encoded
  // Additional headers to sign, with names in lower case.
  std::map<std::string, std::string> headers = {};
};

/// The region, service and time of a signature, which is valid for some minutes. `time` has the
/// form "20130524T000000Z".
struct SigningScope {
  std::string region;
  std::string service = "s3";
  std::string time;
};

/// The query as it must be sent for the signature to match: encoded, and sorted by name.
[[nodiscard]] std::string CanonicalQuery(const std::map<std::string, std::string>& query);

/// Returns the headers to send in addition to those of `request`, as "Name: value".
[[nodiscard]] std::vector<std::string> Sign(const SignedRequest& request, const AwsKey& key,
                                            const SigningScope& scope);

/// Returns only the signature. It covers "host" and the headers of `request`, and no other header.
[[nodiscard]] std::string SignatureOf(const SignedRequest& request, std::string_view secret,
                                      const SigningScope& scope, std::string_view body_digest);

}  // namespace zarrfs
