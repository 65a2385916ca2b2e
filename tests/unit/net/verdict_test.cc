#include "zarrcore/net/verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace zarrfs::verdict_test {
namespace {

using Kind = Verdict::Kind;

constexpr const char* kUrl = "https://host/b/a%20b";

std::string Xml(const std::string& code) { return "<Error><Code>" + code + "</Code></Error>"; }

Verdict Of(long status, const std::string& code = "", bool is_s3 = true, bool absent_403 = false) {
  RemoteSource source;
  source.is_s3 = is_s3;
  source.name = "s3://b";
  source.region = "us-east-1";
  source.options.forbidden_is_absent = absent_403;
  HttpReply reply;
  reply.status = status;
  if (!code.empty()) reply.text = Xml(code);
  return Judge(reply, source, "s3://b/a b", kUrl);
}

TEST(VerdictTest, OnlyNoSuchKeyMakesAnObjectOfABucketAbsent) {
  EXPECT_EQ(Of(404, "NoSuchKey").error.code, ErrorCode::kNotFound);
  for (const Verdict& verdict : {Of(404), Of(404, "NoSuchBucket"), Of(403, "AccessDenied"), Of(403),
                                 Of(400), Of(301), Of(500), Of(503, "SlowDown")}) {
    EXPECT_NE(verdict.kind, Kind::kBytes);
    EXPECT_NE(verdict.error.code, ErrorCode::kNotFound) << verdict.error.message;
  }
}

TEST(VerdictTest, OnAWebServer404And410Do) {
  EXPECT_EQ(Of(404, "", false).error.code, ErrorCode::kNotFound);
  EXPECT_EQ(Of(410, "", false).error.code, ErrorCode::kNotFound);
  EXPECT_EQ(Of(403, "", false).error.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(Of(401, "", false).error.code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(Of(302, "", false).error.code, ErrorCode::kIo);
}

TEST(VerdictTest, ForbiddenIsAbsentWhereTheUserSaysSoAndTheKeyIsGood) {
  EXPECT_EQ(Of(403, "AccessDenied", true, true).error.code, ErrorCode::kNotFound);
  EXPECT_EQ(Of(403, "", false, true).error.code, ErrorCode::kNotFound);
  for (const char* code : {"SignatureDoesNotMatch", "InvalidAccessKeyId", "RequestTimeTooSkewed",
                           "ExpiredToken", "AllAccessDisabled"}) {
    EXPECT_EQ(Of(403, code, true, true).error.code, ErrorCode::kPermissionDenied) << code;
  }
}

TEST(VerdictTest, RegionThatAServerNamesIsOneLineOfText) {
  RemoteSource source;
  source.is_s3 = true;
  HttpReply reply;
  reply.bucket_region = "eu\x1b[31m\xff";
  for (const auto& [status, text] :
       {std::pair(301L, std::string()), std::pair(400L, Xml("AuthorizationHeaderMalformed"))}) {
    reply.status = status;
    reply.text = text;
    const std::string message = Judge(reply, source, "s3://b/a", kUrl).error.message;
    EXPECT_NE(message.find("use region=eu"), message.npos) << message;
    EXPECT_EQ(message.find_first_of("\x1b\xff"), message.npos) << message;
  }
}

TEST(VerdictTest, WhatMayPassIsAskedAgain) {
  for (const long status : {408L, 425L, 429L, 500L, 502L, 503L, 504L}) {
    EXPECT_EQ(Of(status).kind, Kind::kAgain) << status;
  }
  EXPECT_TRUE(Of(503, "SlowDown").slow_down);
  EXPECT_EQ(Of(412).error.code, ErrorCode::kStale);
  EXPECT_EQ(Of(416).kind, Kind::kNoRange);
}

TEST(VerdictTest, RedirectionThatAddsASlashIsAFolderOfAWebServer) {
  RemoteSource source;
  HttpReply reply;
  reply.status = 301;
  for (const char* const location :
       {"https://host/b/a%20b/", "https://HOST:443/b/a%20b/", "/b/a%20b/", "/b/a%20b/?x",
        // The server does not know that it is behind a TLS proxy.
        "http://host/b/a%20b/", "http://Host:8080/b/a%20b/"}) {
    reply.location = location;
    EXPECT_EQ(Judge(reply, source, "a b", kUrl).error.code, ErrorCode::kNotFound) << location;
  }
  reply.location = "/a+b%3D/";
  EXPECT_EQ(Judge(reply, source, "a+b=", "https://host/a%2Bb%3d").error.code, ErrorCode::kNotFound);
  reply.location = "/login?token=secret";
  const Error error = Judge(reply, source, "a b", kUrl).error;
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_EQ(error.message.find("secret"), std::string::npos) << error.message;
}

// A server cannot say what exists on another server.
TEST(VerdictTest, RedirectionToAnotherServerMakesNothingAbsent) {
  const RemoteSource source;
  HttpReply reply;
  reply.status = 301;
  for (const char* const location :
       {"https://other/b/a%20b/", "https://host.other/b/a%20b/", "https://host:8443/b/a%20b/",
        "http://other/b/a%20b/", "http://host.other:80/b/a%20b/", "http://host/b/a%20b",
        "http://host/c/", "//other/b/a%20b/", "//host/b/a%20b/", "https://other", "a%20b/",
        "://b/a%20b/", ""}) {
    reply.location = location;
    const Error error = Judge(reply, source, "a b", kUrl).error;
    EXPECT_EQ(error.code, ErrorCode::kIo) << location;
    EXPECT_NE(error.message.find("redirects to"), std::string::npos) << error.message;
  }
  reply.location = "//b/a/";
  EXPECT_EQ(Judge(reply, source, "a", "https://host//b/a").error.code, ErrorCode::kIo);
}

TEST(VerdictTest, MessagesSayWhatToDo) {
  RemoteSource source;
  source.is_s3 = true;
  source.region = "us-east-1";
  HttpReply reply;
  reply.status = 301;
  reply.bucket_region = "eu-west-1";
  EXPECT_NE(Judge(reply, source, "x", kUrl).error.message.find("region=eu-west-1"),
            std::string::npos);
  reply = {};
  reply.status = 400;
  reply.text = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></Error>";
  EXPECT_NE(Judge(reply, source, "x", kUrl).error.message.find("use region=eu-west-2"),
            std::string::npos);
  EXPECT_NE(Of(403, "AccessDenied").error.message.find("absent=403"), std::string::npos);
}

TEST(VerdictTest, OfAPrefixOfVirtualChunksNamesNoOptionOfTheStore) {
  RemoteSource source;
  source.is_virtual = true;
  HttpReply reply;
  reply.refused = "127.0.0.1";
  Verdict verdict = Judge(reply, source, "x", kUrl);
  EXPECT_EQ(verdict.kind, Kind::kError) << "it is not asked again";
  EXPECT_EQ(verdict.error.code, ErrorCode::kPermissionDenied);
  EXPECT_NE(verdict.error.message.find("leads to the address 127.0.0.1"), std::string::npos);
  reply = {};
  reply.status = 301;
  reply.location = std::string(kUrl) + "/";
  verdict = Judge(reply, source, "x", kUrl);
  EXPECT_EQ(verdict.error.code, ErrorCode::kIo) << "not even to a folder";
  EXPECT_NE(verdict.error.message.find("never followed"), std::string::npos);
  for (const long status : {401L, 403L}) {
    reply = {};
    reply.status = status;
    const Error error = Judge(reply, source, "x", kUrl).error;
    EXPECT_EQ(error.code, ErrorCode::kPermissionDenied);
    EXPECT_NE(error.message.find("without credentials"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("absent=403"), std::string::npos) << error.message;
  }
  source.options.headers_file = "/token";
  reply = {};
  reply.status = 403;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.message.find("without credentials"),
            std::string::npos);
  source.is_s3 = true;
  reply = {};
  reply.status = 301;
  reply.bucket_region = "us-west-2";
  EXPECT_NE(Judge(reply, source, "x", kUrl)
                .error.message.find("use virtual_file=, with region=us-west-2"),
            std::string::npos);
}

TEST(VerdictTest, AServerWithTlsIsRecognizedByItsAnswerToHttp) {
  const RemoteSource source;
  const auto message_of = [&](const HttpReply& reply, const char* url) {
    return Judge(reply, source, "what", url).error.message;
  };
  for (const char* text :
       {"<center><h1>400 Bad Request</h1></center><center>The plain HTTP request was sent to HTTPS "
        "port</center>",
        "Client sent an HTTP request to an HTTPS server.\n",
        "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />"}) {
    HttpReply reply;
    reply.status = 400;
    reply.text = text;
    EXPECT_EQ(message_of(reply, "http://host:443/x"),
              "what: host:443 answers 400 to HTTP without TLS: does it expect https://?");
    EXPECT_EQ(message_of(reply, "https://host/x"), "what: host answers 400");
  }
  HttpReply reply;
  reply.status = 400;
  reply.text = "Bad Request";
  EXPECT_EQ(message_of(reply, "http://host:443/x"), "what: host:443 answers 400");
  reply = {};
  reply.code = CURLE_GOT_NOTHING;
  reply.failure = "Empty reply from server";
  EXPECT_NE(message_of(reply, "http://host/x").find("does it expect https://?"), std::string::npos);
  EXPECT_EQ(message_of(reply, "https://host/x").find("does it expect https://?"),
            std::string::npos);
}

TEST(VerdictTest, AProxyThatDoesNotAnswerIsNamed) {
  const RemoteSource source;
  HttpReply reply;
  const auto message_of = [&](const char* failure, const char* url) {
    reply.failure = failure;
    return Judge(reply, source, "what", url).error.message;
  };
  reply.code = CURLE_COULDNT_CONNECT;
  for (const char* url : {"http://host/x", "https://host:3128/x", "http://127.0.0.1:80/x"}) {
    EXPECT_TRUE(message_of("Failed to connect to 127.0.0.1 port 9 after 0 ms: refused", url)
                    .starts_with("what: the proxy 127.0.0.1:9 does not accept connections"))
        << url;
  }
  for (const char* url : {"http://127.0.0.1:9/x", "http://127.0.0.1/x"}) {
    EXPECT_TRUE(message_of("Failed to connect to 127.0.0.1 port 9 after 0 ms: refused", url)
                    .starts_with("what: 127.0.0.1"))
        << url;
  }
  EXPECT_TRUE(message_of("Failed to connect to ::1 port 9 after 0 ms: refused", "http://[::1]:9/x")
                  .starts_with("what: [::1]:9 does not accept connections"));
  EXPECT_TRUE(message_of("Couldn't connect to server", "http://host/x")
                  .starts_with("what: host does not accept connections"));
  reply.code = CURLE_COULDNT_RESOLVE_PROXY;
  EXPECT_TRUE(message_of("Could not resolve proxy: squid", "http://host/x")
                  .starts_with("what: Could not resolve proxy: squid; the environment"));
}

TEST(VerdictTest, AnswerThatIsCutOffIsNoAnswer) {
  RemoteSource source;
  HttpReply reply;
  reply.status = 206;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kAgain);
  reply.is_whole = true;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kBytes);
}

TEST(VerdictTest, AnotherRangeMayPassAndAServerWithoutRangesDoesNot) {
  RemoteSource source;
  HttpReply reply;
  reply.is_whole = true;
  reply.wrong = "another range";
  reply.status = 206;
  reply.is_other_range = true;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kAgain);
  reply.of_suffix = true;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kError)
      << "it may not know ranges from the end";
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kUnsupported);
  reply.is_other_range = reply.of_suffix = false;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kError) << "something else is wrong";
  reply.status = 200;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kError);
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kUnsupported);
}

TEST(VerdictTest, OnlyARangeFromTheEndIsUnsupported) {
  RemoteSource source;
  HttpReply reply;
  reply.status = 400;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kIo);
  reply.of_suffix = true;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kUnsupported);
  reply.status = 500;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kError) << "it is not asked again";
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kUnsupported);
  source.is_s3 = true;
  EXPECT_EQ(Judge(reply, source, "x", kUrl).kind, Kind::kAgain) << "buckets know such ranges";
  EXPECT_EQ(Judge(reply, source, "x", kUrl).error.code, ErrorCode::kIo);
}

}  // namespace
}  // namespace zarrfs::verdict_test
