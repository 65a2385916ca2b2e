#include "zarrcore/net/redirection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zarrfs::redirection_test {
namespace {

constexpr const char* kUrl = "https://host/b/key?signature";

std::string From(const char* url, const std::string& location, long status = 302) {
  HttpReply reply;
  reply.status = status;
  reply.location = location;
  return RedirectionOf(reply, url).value_or("none");
}

TEST(RedirectionTest, LeadsToAnAddress) {
  EXPECT_EQ(From(kUrl, "https://other/x?y=1#part"), "https://other/x?y=1");
  EXPECT_EQ(From(kUrl, "/c/key"), "https://host/c/key");
  EXPECT_EQ(From(kUrl, "other"), "https://host/b/other");
  EXPECT_EQ(From(kUrl, "//other/x"), "https://other/x");
  EXPECT_EQ(From("http://host/b", "http://other/x"), "http://other/x");
  EXPECT_EQ(From("http://host/b", "https://other/x"), "https://other/x");
  for (const long status : {301L, 302L, 303L, 307L, 308L}) {
    EXPECT_EQ(From(kUrl, "/x", status), "https://host/x") << status;
  }
}

TEST(RedirectionTest, LeadsNowhereElse) {
  for (const char* const location :
       {"", "http://host/b/key", "http://other/x", "file:///etc/passwd", "ftp://other/x",
        "gopher://other/x", "https://user:secret@other/x", "https://user@other/x", "https://",
        "/x\r\nHeader: 1", "https://other:99999/x"}) {
    EXPECT_EQ(From(kUrl, location), "none") << location;
  }
  for (const long status : {200L, 300L, 304L, 305L, 404L}) {
    EXPECT_EQ(From(kUrl, "/x", status), "none") << status;
  }
}

HttpGet Redirected(const std::string& url) {
  HttpGet get{.url = "https://Host/b/key",
              .headers = {"Authorization: Bearer secret", "If-Match: \"1\""},
              .range = {},
              .into = {},
              .uses_netrc = true};
  Redirect(url, get);
  EXPECT_EQ(get.url, url);
  return get;
}

TEST(RedirectionTest, AnotherHostGetsNoCredentials) {
  for (const char* const url :
       {"https://other/x", "https://host:8443/x", "https://host.other/x", "http://host/x"}) {
    const HttpGet get = Redirected(url);
    EXPECT_EQ(get.headers, std::vector<std::string>{"If-Match: \"1\""}) << url;
    EXPECT_FALSE(get.uses_netrc) << url;
    EXPECT_TRUE(get.is_guarded) << url;
    EXPECT_EQ(get.guard_host, "Host") << "not the host that the server chose";
  }
  for (const char* const url : {"https://host/x", "https://HOST:443/x"}) {
    EXPECT_EQ(Redirected(url).headers.size(), 2U) << url;
    EXPECT_TRUE(Redirected(url).uses_netrc) << url;
  }
}

}  // namespace
}  // namespace zarrfs::redirection_test
