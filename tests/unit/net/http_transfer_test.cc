#include "zarrcore/net/http_transfer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/support/http_server.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs::http_transfer_test {
namespace {

// Sends one of `answers` to each connection, regardless of the request.
class Server {
 public:
  explicit Server(std::vector<std::string> answers) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name_.copy(address.sun_path + 1, name_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        char asked[4096];
        EXPECT_GT(recv(client.get(), asked, sizeof asked, 0), 0);
        EXPECT_EQ(send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(answer.size()));
      }
    });
  }
  ~Server() { thread_.join(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  [[nodiscard]] const char* name() const { return name_.c_str(); }

 private:
  const std::string name_ = fmt::format("zarrfs-http-transfer-{}", getpid());
  const Descriptor listener_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::thread thread_;
};

// A header that begins with a blank continues the previous header, but here no header precedes it.
// If the handle is reused, old versions of libcurl then read freed memory, which sanitizers detect.
TEST(HttpTransferTest, HeadersOfTheTransferBeforeAreForgotten) {
  const Server server({"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nServer: one\r\n\r\n",
                       "HTTP/1.1 429 Later\r\n 468:8\r\nRetry-After: 2\r\n\r\n"});
  HttpTransfer transfer;
  for (const std::string etag : {"\"1\"", ""}) {
    transfer.Prepare({.url = "http://127.0.0.1/key", .into = {}});
    curl_easy_setopt(transfer.handle(), CURLOPT_ABSTRACT_UNIX_SOCKET, server.name());
    const CURLcode code = curl_easy_perform(transfer.handle());
    EXPECT_EQ(transfer.Finish(code).etag, etag);
  }
}

HttpReply AnswerTo(std::optional<ByteRange> range, const std::string& headers,
                   const std::string& body, std::span<std::byte> into) {
  const Server server({headers + "\r\n" + body});
  HttpTransfer transfer;
  transfer.Prepare({.url = "http://127.0.0.1/key", .range = range, .into = into});
  curl_easy_setopt(transfer.handle(), CURLOPT_ABSTRACT_UNIX_SOCKET, server.name());
  const CURLcode code = curl_easy_perform(transfer.handle());
  return transfer.Finish(code);
}

TEST(HttpTransferTest, ACacheSaysWhatItKnewAndHowOldTheAnswerIs) {
  const HttpReply reply = AnswerTo({},
                                   "HTTP/1.1 404 Not Found\r\nX-Cache-Status: HIT\r\nAge: 70\r\n"
                                   "Retry-After: 7200\r\n",
                                   "", {});
  EXPECT_EQ(reply.cache_status, "HIT");
  EXPECT_EQ(reply.age_s, 70);
  EXPECT_EQ(reply.retry_after_s, 3600);
  EXPECT_EQ(AnswerTo({}, "HTTP/1.1 404 Not Found\r\nAge: never\r\n", "", {}).age_s, 0);
}

// rclone's S3 server answers every range with 200 and Content-Range.
TEST(HttpTransferTest, ContentRangeSaysWhichBytesCameWhateverTheStatus) {
  struct Case {
    std::string status, range, length;
    std::string wrong;  // a part of HttpReply::wrong; "" if the bytes are used
  };
  const std::vector<Case> cases = {
      {"200 OK", "bytes 4-11/32", "8", ""},
      {"200 OK", "bytes 4-11/32", "", ""},
      {"200 OK", "bytes 0-31/32", "32", ""},  // the whole object
      {"200 OK", "", "32", ""},
      {"206 Partial Content", "bytes 4-11/32", "8", ""},
      {"206 Partial Content", "Bytes 4-11/32", "", ""},
      {"206 Partial Content", "", "8", "does not state the size"},
      {"200 OK", "bytes 5-12/32", "8", "bytes 5-12, not 8 from 4"},
      {"200 OK", "bytes 4-11/*", "8", "does not state the size"},
      {"200 OK", "bytes 4-11/32", "32", "contradict"},
      {"206 Partial Content", "bytes 4-11/32", "9", "contradict"},
      {"200 OK", "bytes 4-11/8", "8", "invalid Content-Range"},
      {"200 OK", "bytes 11-4/32", "8", "invalid Content-Range"},
      {"200 OK", "bytes */32", "8", "invalid Content-Range"},
      {"200 OK", "items 4-11/32", "8", "invalid Content-Range"},
      {"200 OK", "bytes 4-11/32\r\nContent-Range: bytes 4-11/33", "8", "two different headers"},
  };
  const std::string object = "0123456789abcdefghijklmnopqrstuv";
  for (const Case& each : cases) {
    SCOPED_TRACE(each.status + ", " + each.range + ", " + each.length);
    std::string headers = "HTTP/1.1 " + each.status + "\r\nConnection: close\r\n";
    if (!each.range.empty()) headers += "Content-Range: " + each.range + "\r\n";
    if (!each.length.empty()) headers += "Content-Length: " + each.length + "\r\n";
    const bool is_whole =
        each.range == "bytes 0-31/32" || (each.range.empty() && each.status == "200 OK");
    std::vector<std::byte> into(8);
    const HttpReply reply =
        AnswerTo(ByteRange::At(4, 8), headers, is_whole ? object : object.substr(4, 8), into);
    EXPECT_NE(reply.wrong.find(each.wrong), std::string::npos) << reply.wrong;
    EXPECT_EQ(reply.wrong.empty(), each.wrong.empty()) << reply.wrong;
    EXPECT_EQ(reply.is_whole, each.wrong.empty());
    if (!reply.is_whole) continue;
    EXPECT_EQ(reply.size, 32U);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(into.data()), reply.length), "456789ab");
  }
}

// Later requests could not send such an ETag.
TEST(HttpTransferTest, AnETagWithControlCharactersIsRefused) {
  std::vector<std::byte> into(8);
  const auto answer = [&](const std::string& etag) {
    return AnswerTo(ByteRange::At(0, 8),
                    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nETag: " + etag + "\r\n", "01234567",
                    into);
  };
  EXPECT_TRUE(answer("\"caf\xc3\xa9 1\"").is_whole);
  for (const char* const etag : {"\"a\x01z\"", "\"a\tz\"", "\"a\x7fz\""}) {
    const HttpReply reply = answer(etag);
    EXPECT_FALSE(reply.is_whole);
    EXPECT_EQ(reply.wrong, "an ETag with control characters");
  }
}

TEST(HttpTransferTest, APartIsNoListing) {
  std::vector<std::byte> into(32);
  const auto answer = [&](const std::string& range) {
    return AnswerTo(std::nullopt,
                    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Range: " + range + "\r\n",
                    "<Result>", into);
  };
  EXPECT_TRUE(answer("bytes 0-7/8").is_whole);
  EXPECT_FALSE(answer("bytes 0-7/9").is_whole);
}

// Sends a GET to a port of this machine, which the name data.example leads to, too.
HttpReply ReplyAt(CURLM* multi, const std::string& host, int port, bool is_guarded) {
  std::vector<std::byte> into(8);
  HttpTransfer transfer;
  transfer.Prepare(
      {.url = fmt::format("http://{}:{}/key", host, port), .into = into, .is_guarded = is_guarded});
  const std::string name = fmt::format("data.example:{}:127.0.0.1", port);
  curl_slist* const names = curl_slist_append(nullptr, name.c_str());
  curl_easy_setopt(transfer.handle(), CURLOPT_RESOLVE, names);
  curl_multi_add_handle(multi, transfer.handle());
  CURLcode code = CURLE_OK;
  for (int running = 1; running > 0;) {
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
      code = message->data.result;
    }
    curl_multi_poll(multi, nullptr, 0, 100, nullptr);
  }
  curl_multi_remove_handle(multi, transfer.handle());
  curl_slist_free_all(names);
  return transfer.Finish(code);
}

TEST(HttpTransferTest, AGuardedOneConnectsToThisMachineOnlyByItsName) {
  int asked = 0;
  const HttpServer server([&](const std::string& /*request*/, const HttpServer::Send& send) {
    ++asked;
    send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nkeys");
  });
  CURLM* const multi = curl_multi_init();
  const std::string url = server.url();
  const int port = std::stoi(url.substr(url.rfind(':') + 1));
  HttpReply reply = ReplyAt(multi, "data.example", port, /*is_guarded=*/true);
  EXPECT_EQ(reply.refused, "127.0.0.1");
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(asked, 0);
  reply = ReplyAt(multi, "127.0.0.1", port, /*is_guarded=*/true);
  EXPECT_EQ(reply.refused, "");
  EXPECT_EQ(reply.status, 200);
  reply = ReplyAt(multi, "data.example", port, /*is_guarded=*/false);
  EXPECT_EQ(reply.status, 200);
  curl_multi_cleanup(multi);
}

TEST(HttpTransferTest, AGuardedOneMakesNoConnectionThatItMayNotMake) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  CURLM* const multi = curl_multi_init();
  ReplyAt(multi, "data.example", ntohs(address.sin_port), /*is_guarded=*/true);
  curl_multi_cleanup(multi);
  EXPECT_EQ(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// Another transfer, which is not guarded, may have left a connection open.
TEST(HttpTransferTest, AGuardedOneSendsNothingOverAConnectionThatItMayNotMake) {
  std::atomic<int> asked = 0;
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
  std::thread serving([&] {
    const Descriptor client(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char request[4096];
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeys";
    while (client && recv(client.get(), request, sizeof request, 0) > 0) {
      ++asked;
      send(client.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    }
  });
  CURLM* const multi = curl_multi_init();
  const int port = ntohs(address.sin_port);
  for (const bool is_guarded : {false, true}) {
    const HttpReply reply = ReplyAt(multi, "data.example", port, is_guarded);
    EXPECT_EQ(reply.status, is_guarded ? 0 : 200);
    EXPECT_EQ(reply.refused, is_guarded ? "127.0.0.1" : "");
  }
  curl_multi_cleanup(multi);
  shutdown(listener.get(), SHUT_RDWR);
  serving.join();
  EXPECT_EQ(asked, 1);
}

// Conda sets SSL_CERT_FILE for all programs; users set AWS_CA_BUNDLE for S3.
TEST(CertificatesFileTest, OfAmazonsProgramsIsFirstForS3) {
  for (const char* const name : {"CURL_CA_BUNDLE", "AWS_CA_BUNDLE"}) unsetenv(name);
  setenv("SSL_CERT_FILE", "/of/all", 1);
  EXPECT_EQ(CertificatesFile(/*is_s3=*/true), "/of/all");
  setenv("AWS_CA_BUNDLE", "/of/aws", 1);
  EXPECT_EQ(CertificatesFile(/*is_s3=*/true), "/of/aws");
  EXPECT_EQ(CertificatesFile(/*is_s3=*/false), "/of/all");
  unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(CertificatesFile(/*is_s3=*/false), "/of/aws");
  unsetenv("AWS_CA_BUNDLE");
}

}  // namespace
}  // namespace zarrfs::http_transfer_test
