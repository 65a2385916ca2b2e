// Messages between the processes of a mount, over a socket pair. When one process ends, the other
// one sees the end of the channel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// An old worker may get messages from a new keeper: any change here requires another
/// HandOver::kFormat.
struct Message {
  enum class Kind : uint32_t {
    // From the worker; the last two also from the keeper to the process that waits for the start.
    kOpened,  // the store is open: mount now; may pass its root (WorkerStart::source)
    kReady,   // the mount answers
    kFailed,  // the start failed, also of a replacement worker: exit code, error line
    // From the keeper to the worker.
    kMounted,     // passes the FUSE device; device numbers at the mount point before and after;
                  // 1 if requests can be resent; FUSE_INIT, unless the worker must read it
    kEnd,         // the mount has ended, or will soon: exit
    kLogLevel,    // the name of the level
    kCacheSizes,  // index cache, cache, memory (0: the default); bytes
    // From another program of the user or of root; the keeper answers as to the process that waits
    // for the start.
    kUpgrade,   // passes the program file
    kSettings,  // live settings, as after -o
    // From the worker.
    kStarted,  // before anything else: its program is running
    kBeat,     // from kReady on, every Heartbeat::kPeriod: its text is a Beat
    // Like kUpgrade: asks for the state of the mount. The answer, kReady, has its device number,
    // and the problem of the worker as text.
    kState,
  };
  Kind kind = Kind::kEnd;
  std::array<uint64_t, 3> numbers = {};
  std::string text = {};
  Descriptor passed = {};  // when received: the descriptor that came with the message
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Both ends; nullopt if no descriptors are left.
  [[nodiscard]] static std::optional<std::pair<Channel, Channel>> MakePair();

  void Close() { socket_.reset(); }

  /// For poll(); -1 if it is closed.
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// Thread-safe; never waits. False if the other end is closed or does not read. `passed`: a
  /// descriptor; the message carries a copy.
  bool Send(const Message& message, int passed = -1) const;

  /// Waits for the next message; nullopt at the end of the channel, and for a malformed message.
  /// Carries at most one descriptor: the kernel closes others.
  [[nodiscard]] std::optional<Message> Receive() const;

 private:
  Descriptor socket_;
};

}  // namespace zarrfs
