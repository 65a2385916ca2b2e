#include "zarrcore/net/http_transfer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
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

}  // namespace
}  // namespace zarrfs::http_transfer_test
