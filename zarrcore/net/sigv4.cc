#include "zarrcore/net/sigv4.h"

#include <fmt/format.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>

#include <array>
#include <cstdint>

#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

// The SHA-256 of an empty body.
constexpr std::string_view kEmptyDigest =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr size_t kDateLength = 8;

using Hash = std::array<uint8_t, SHA256_DIGEST_SIZE>;

std::string Hex(const Hash& hash) {
  std::string text;
  for (const uint8_t byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

Hash Sha256(std::string_view text) {
  sha256_ctx state;
  Hash hash;
  sha256_init(&state);
  sha256_update(&state, text.size(), Bytes(text));
  sha256_digest(&state, hash.size(), hash.data());
  return hash;
}

Hash Hmac(std::string_view key, std::string_view text) {
  hmac_sha256_ctx state;
  Hash hash;
  hmac_sha256_set_key(&state, key.size(), Bytes(key));
  hmac_sha256_update(&state, text.size(), Bytes(text));
  hmac_sha256_digest(&state, hash.size(), hash.data());
  return hash;
}

Hash Hmac(const Hash& key, std::string_view text) {
  return Hmac(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()), text);
}

std::map<std::string, std::string> HeadersToSign(const SignedRequest& request) {
  std::map<std::string, std::string> headers = request.headers;
  headers["host"] = request.host;
  return headers;
}

std::string NamesOf(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string ScopeText(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", scope.time.substr(0, kDateLength), scope.region,
                     scope.service);
}

}  // namespace

std::string CanonicalQuery(const std::map<std::string, std::string>& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", PercentEncode(name, true),
                        PercentEncode(value, true));
  }
  return text;
}

std::string SignatureOf(const SignedRequest& request, std::string_view secret,
                        const SigningScope& scope, std::string_view body_digest) {
  const auto headers = HeadersToSign(request);
  std::string header_lines;
  for (const auto& [name, value] : headers) header_lines += fmt::format("{}:{}\n", name, value);
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path,
                  CanonicalQuery(request.query), header_lines, NamesOf(headers), body_digest);
  const std::string to_sign = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, scope.time,
                                          ScopeText(scope), Hex(Sha256(canonical)));
  const Hash date_key =
      Hmac(fmt::format("AWS4{}", secret), std::string_view(scope.time).substr(0, kDateLength));
  const Hash key = Hmac(Hmac(Hmac(date_key, scope.region), scope.service), "aws4_request");
  return Hex(Hmac(key, to_sign));
}

std::vector<std::string> Sign(const SignedRequest& request, const AwsKey& key,
                              const SigningScope& scope) {
  SignedRequest whole = request;
  whole.headers["x-amz-content-sha256"] = kEmptyDigest;
  whole.headers["x-amz-date"] = scope.time;
  if (!key.token.empty()) whole.headers["x-amz-security-token"] = key.token;
  std::vector<std::string> lines;
  for (const auto& [name, value] : whole.headers) {
    if (!request.headers.contains(name)) lines.push_back(fmt::format("{}: {}", name, value));
  }
  lines.push_back(fmt::format("Authorization: {} Credential={}/{}, SignedHeaders={}, Signature={}",
                              kAlgorithm, key.id, ScopeText(scope), NamesOf(HeadersToSign(whole)),
                              SignatureOf(whole, key.secret, scope, kEmptyDigest)));
  return lines;
}

}  // namespace zarrfs
