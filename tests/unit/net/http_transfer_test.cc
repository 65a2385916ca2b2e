#include "zarrcore/net/http_transfer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "zarrcore/os/descriptor.h"

namespace zarrfs::http_transfer_test {
namespace {

// Gives one connection after the other an answer, whatever is asked.
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

// A header that begins with a blank goes on with the one before it: here, with none. (Sanitizers
// see what is wrong with that.)
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

// rclone's S3 server answers every range with 200 and Content-Range.
TEST(HttpTransferTest, ContentRangeSaysWhichBytesCameWhateverTheStatus) {
  struct Case {
    std::string status, range, length;
    std::string wrong;  // a part of it; "": the bytes are taken
  };
  const std::vector<Case> cases = {
      {"200 OK", "bytes 4-11/32", "8", ""},
      {"200 OK", "bytes 4-11/32", "", ""},
      {"200 OK", "bytes 0-31/32", "32", ""},  // the whole object
      {"200 OK", "", "32", ""},
      {"206 Partial Content", "bytes 4-11/32", "8", ""},
      {"206 Partial Content", "Bytes 4-11/32", "", ""},
      {"206 Partial Content", "", "8", "without the size"},
      {"200 OK", "bytes 5-12/32", "8", "bytes 5-12, not 8 from 4"},
      {"200 OK", "bytes 4-11/*", "8", "without the size"},
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

// Such a version could not be asked for again.
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

}  // namespace
}  // namespace zarrfs::http_transfer_test
