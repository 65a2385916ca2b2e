// Simulates a link to a distant server: forwards TCP connections, with a delay in each direction
// and a bandwidth that all connections share.
//
//   slow_link LISTEN_PORT SERVER_PORT DELAY_MS MBIT_PER_S
//
// Both ports are on 127.0.0.1. DELAY_MS is the delay in one direction. A new connection is delayed
// by one round trip, like the handshake of TCP. For each line on its standard input, the program
// prints "REQUESTS UP DOWN": the number of HTTP requests (HTTP/1.1 without TLS), and the bytes in
// each direction, since it started. It exits at the end of its standard input.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// Maximum bytes per read, so connections take turns.
constexpr size_t kPiece = 16 << 10;
// Maximum length of the queue before the link. Further bytes wait in the sender's socket.
constexpr auto kQueue = std::chrono::milliseconds(10);

sockaddr_in Local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Piece {
  Time due;
  std::vector<char> bytes;
};

// One direction of the link.
struct Lane {
  double bytes_per_s;
  Clock::duration delay;
  Time free{};  // when all bytes received so far have been put on the link
  uint64_t bytes = 0;

  [[nodiscard]] bool IsOpen(Time now) const { return free < now + kQueue; }
  Time Arrival(Time now, size_t size) {
    const std::chrono::duration<double> takes(static_cast<double>(size) / bytes_per_s);
    free = std::max(free, now) + std::chrono::duration_cast<Clock::duration>(takes);
    bytes += size;
    return free + delay;
  }
};

// One direction of a connection.
struct Stream {
  int from;
  int to;
  Lane& lane;
  Time begin;  // nothing is forwarded before this time
  std::deque<Piece> pieces{};
  size_t sent = 0;  // bytes of the first piece that were sent
  bool is_over = false;
  bool is_shut = false;
};

struct Connection {
  Stream up;
  Stream down;
};

class Link {
 public:
  Link(int listener, int server_port, Clock::duration delay, double bytes_per_s)
      : listener_(listener),
        server_port_(server_port),
        up_{bytes_per_s, delay},
        down_{bytes_per_s, delay} {}

  void Run();

 private:
  void Accept(Time now);
  void Take(Stream& stream, Time now);
  static void Give(Stream& stream, Time now);
  // The time until the first piece is due or the link has room.
  [[nodiscard]] Clock::duration Pause(Time now) const;

  const int listener_;
  const int server_port_;
  Lane up_;
  Lane down_;
  std::list<Connection> connections_;
  uint64_t requests_ = 0;
};

void Link::Accept(Time now) {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Local(server_port_);
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    close(client);
    return;
  }
  const Time begin = now + 2 * up_.delay;
  connections_.push_back({{client, server, up_, begin}, {server, client, down_, begin}});
}

void Link::Take(Stream& stream, Time now) {
  std::vector<char> bytes(kPiece);
  const ssize_t length = recv(stream.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (length <= 0) {
    stream.is_over = true;
    return;
  }
  bytes.resize(static_cast<size_t>(length));
  const std::string_view text(bytes.data(), bytes.size());
  for (const std::string_view method : {"GET ", "HEAD ", "PUT ", "POST ", "DELETE "}) {
    if (&stream.lane == &up_ && text.starts_with(method)) ++requests_;
  }
  stream.pieces.push_back({stream.lane.Arrival(std::max(now, stream.begin), bytes.size()), bytes});
}

void Link::Give(Stream& stream, Time now) {
  while (!stream.pieces.empty() && stream.pieces.front().due <= now) {
    const std::vector<char>& bytes = stream.pieces.front().bytes;
    const ssize_t length = send(stream.to, bytes.data() + stream.sent, bytes.size() - stream.sent,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length < 0 && errno == EAGAIN) return;
    if (length < 0) {
      stream.is_over = true;
      stream.pieces.clear();
      break;
    }
    stream.sent += static_cast<size_t>(length);
    if (stream.sent < bytes.size()) continue;
    stream.pieces.pop_front();
    stream.sent = 0;
  }
  if (stream.is_over && stream.pieces.empty() && !std::exchange(stream.is_shut, true)) {
    shutdown(stream.to, SHUT_WR);
  }
}

Clock::duration Link::Pause(Time now) const {
  Clock::duration pause = std::chrono::seconds(1);
  for (const Connection& connection : connections_) {
    for (const Stream* stream : {&connection.up, &connection.down}) {
      if (!stream->pieces.empty()) pause = std::min(pause, stream->pieces.front().due - now);
      if (!stream->lane.IsOpen(now)) pause = std::min(pause, stream->lane.free - kQueue - now);
    }
  }
  return std::max<Clock::duration>(pause, std::chrono::microseconds(20));
}

void Link::Run() {
  for (;;) {
    Time now = Clock::now();
    std::vector<pollfd> waits = {{STDIN_FILENO, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      for (const Stream* stream : {&connection.up, &connection.down}) {
        const bool takes = !stream->is_over && stream->lane.IsOpen(now);
        waits.push_back({takes ? stream->from : -1, POLLIN, 0});
      }
    }
    const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(Pause(now)).count();
    const timespec limit = {pause / 1'000'000'000, pause % 1'000'000'000};
    if (ppoll(waits.data(), waits.size(), &limit, nullptr) < 0 && errno != EINTR) return;
    now = Clock::now();
    if (waits[0].revents != 0) {
      char line[256];
      if (read(STDIN_FILENO, line, sizeof line) <= 0) return;
      std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(requests_),
                  static_cast<unsigned long long>(up_.bytes),
                  static_cast<unsigned long long>(down_.bytes));
      std::fflush(stdout);
    }
    size_t at = 2;
    for (Connection& connection : connections_) {
      for (Stream* stream : {&connection.up, &connection.down}) {
        if (waits[at++].revents != 0) Take(*stream, now);
        Give(*stream, now);
      }
    }
    std::erase_if(connections_, [](const Connection& connection) {
      const bool is_over = connection.up.is_shut && connection.down.is_shut;
      if (is_over) {
        close(connection.up.from);
        close(connection.up.to);
      }
      return is_over;
    });
    if (waits[1].revents != 0) Accept(now);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: slow_link LISTEN_PORT SERVER_PORT DELAY_MS MBIT_PER_S\n");
    return 1;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = Local(std::atoi(argv[1]));
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 512) != 0) {
    std::perror("slow_link");
    return 1;
  }
  const std::chrono::duration<double, std::milli> delay(std::atof(argv[3]));
  Link(listener, std::atoi(argv[2]), std::chrono::duration_cast<Clock::duration>(delay),
       std::atof(argv[4]) * 1e6 / 8)
      .Run();
}
