// Kernel: speaks FUSE messages with a Server over a socket, in the kernel's place.
//
//   Kernel kernel(store);
//   const uint64_t lookup = kernel.LookUp("0");
//   kernel.Interrupt(lookup);
//   EXPECT_EQ(kernel.AnswerTo(lookup).error, -EINTR);
//
// Threads of its own serve the requests, as libfuse's do. The server, its session and these threads
// live until the process ends, as those of a mount do.
#pragma once

#include <fmt/format.h>
#include <fuse_lowlevel.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "fs/fuse/server.h"
#include "fs/tree/tree.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs {

class Kernel {
 public:
  struct Answer {
    int error = 0;  // negative errno
    std::string body;
  };

  static constexpr uint32_t kThreads = 12;

  /// Mounts the view v2 of the store, at the root.
  explicit Kernel(const std::shared_ptr<FakeStore>& store) {
    TreeOptions shown;
    shown.view = "v2";
    server_ = new Server(*Tree::Open(store, shown), {.no_epoch = true, .threads = kThreads});
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) abort();
    kernel_ = ends[0];
    Serve(ends[1]);
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = FUSE_KERNEL_MINOR_VERSION;
    init.max_readahead = 1 << 20;
    init.flags = FUSE_MAX_PAGES | FUSE_PARALLEL_DIROPS;
    AnswerTo(Ask(FUSE_INIT, 0, Bytes(init)));
    server_->OnMounted(session_);
  }

  // --- Requests; each gives its number -----------------------------------------------------------

  uint64_t LookUp(std::string_view name) {
    return Ask(FUSE_LOOKUP, FUSE_ROOT_ID, std::string(name) + '\0');
  }
  uint64_t Read(uint64_t id) {
    fuse_read_in read{};
    read.size = 4096;
    return Ask(FUSE_READ, id, Bytes(read));
  }
  /// Of a request that is under way, was answered, or comes next (NextNumber()).
  void Interrupt(uint64_t number) {
    Send(FUSE_INTERRUPT, number + 1, 0, Bytes(fuse_interrupt_in{number}));
  }
  [[nodiscard]] uint64_t NextNumber() const { return next_; }

  // --- Answers -----------------------------------------------------------------------------------

  /// The one answer to the request. Fails if none comes within 20 s, or one comes that was given.
  Answer AnswerTo(uint64_t number) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!answers_.contains(number)) {
      if (std::chrono::steady_clock::now() > until || !Receive(std::chrono::seconds(20))) {
        ADD_FAILURE() << "no answer to request " << number;
        return {};
      }
    }
    return answers_.at(number);
  }
  /// Nothing more is answered, for so long.
  [[nodiscard]] bool IsSilent(std::chrono::milliseconds time) { return !Receive(time); }

  [[nodiscard]] Server& server() { return *server_; }

 private:
  template <typename Body>
  static std::string Bytes(const Body& body) {
    return {reinterpret_cast<const char*>(&body), sizeof body};
  }

  static ssize_t ReadMessage(int fd, void* buffer, size_t size, void*) {
    const ssize_t length = read(fd, buffer, size);
    if (length != 0) return length;
    errno = ENODEV;  // as when a mount is gone
    return -1;
  }
  static ssize_t WriteMessage(int fd, iovec* parts, int count, void*) {
    return writev(fd, parts, count);
  }

  void Serve(int device) {
    std::string words[] = {"server", "-o", fmt::format("max_read={}", kMaxRead)};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    fuse_args arguments = FUSE_ARGS_INIT(3, argv);
    const fuse_lowlevel_ops& operations = Server::Operations();
    session_ = fuse_session_new(&arguments, &operations, sizeof operations, server_);
    fuse_opt_free_args(&arguments);
    fuse_custom_io io{};
    io.read = ReadMessage;
    io.writev = WriteMessage;
    if (session_ == nullptr || fuse_session_custom_io(session_, &io, device) != 0) abort();
    for (uint32_t i = 0; i < kThreads; ++i) {
      std::thread([session = session_] {
        fuse_buf buffer = {};
        while (fuse_session_receive_buf(session, &buffer) > 0) {
          fuse_session_process_buf(session, &buffer);
        }
      }).detach();
    }
  }

  void Send(uint32_t opcode, uint64_t number, uint64_t id, const std::string& body) {
    fuse_in_header header{};
    header.len = static_cast<uint32_t>(sizeof header + body.size());
    header.opcode = opcode;
    header.unique = number;
    header.nodeid = id;
    const std::string message = Bytes(header) + body;
    EXPECT_EQ(write(kernel_, message.data(), message.size()), static_cast<ssize_t>(message.size()));
  }
  uint64_t Ask(uint32_t opcode, uint64_t id, const std::string& body) {
    const uint64_t number = std::exchange(next_, next_ + 2);
    Send(opcode, number, id, body);
    return number;
  }

  // Takes messages until one is an answer to a request. False if none comes within that time.
  bool Receive(std::chrono::milliseconds time) {
    for (;;) {
      pollfd wait = {kernel_, POLLIN, 0};
      if (poll(&wait, 1, static_cast<int>(time.count())) <= 0) return false;
      std::string message(1 << 21, '\0');
      const ssize_t length = read(kernel_, message.data(), message.size());
      fuse_out_header header{};
      if (length < static_cast<ssize_t>(sizeof header)) return false;
      std::memcpy(&header, message.data(), sizeof header);
      // A notice; or an interruption of what was unknown, which the kernel would send again.
      if (header.unique == 0 || header.unique % 2 == 1) continue;
      message.resize(static_cast<size_t>(length));
      const bool is_new =
          answers_.emplace(header.unique, Answer{header.error, message.substr(sizeof header)})
              .second;
      EXPECT_TRUE(is_new) << "request " << header.unique << " was answered twice";
      return true;
    }
  }

  Server* server_ = nullptr;
  fuse_session* session_ = nullptr;
  int kernel_ = -1;
  uint64_t next_ = 2;
  std::map<uint64_t, Answer> answers_;
};

}  // namespace zarrfs
