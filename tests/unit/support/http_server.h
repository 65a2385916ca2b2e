// HttpServer: a web server on a local port. A test writes its responses byte by byte.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class HttpServer {
 public:
  /// Sends a piece of the response. May be called any number of times.
  using Send = std::function<void(std::string_view piece)>;
  using Handler = std::function<void(const std::string& request, const Send& send)>;

  /// Calls `handler` on one thread, for one connection at a time. Each connection has one request,
  /// and is closed after the response.
  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    socklen_t length = sizeof address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~HttpServer() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

 private:
  void Serve() {
    for (;;) {
      const Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      std::string request;
      while (request.find("\r\n\r\n") == request.npos) {
        char piece[4096];
        const ssize_t count = recv(client.get(), piece, sizeof piece, 0);
        if (count <= 0) break;
        request.append(piece, static_cast<size_t>(count));
      }
      if (request.empty()) continue;
      handler_(request, [&client](std::string_view piece) {
        while (!piece.empty()) {
          const ssize_t count = send(client.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
          if (count <= 0) return;
          piece.remove_prefix(static_cast<size_t>(count));
        }
      });
    }
  }

  const Handler handler_;
  const Descriptor listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port_ = 0;
  std::thread thread_;
};

}  // namespace zarrfs
