// Messages between the processes of a mount, on a pair of sockets. When one process ends, the other
// one sees the end of the channel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// An old worker may get messages of a new keeper: whatever changes here needs another
/// HandOver::kFormat.
struct Message {
  enum class Kind : uint32_t {
    // From the worker, the last two also from the keeper to the process that waits for the start.
    kOpened,  // the store is open: mount now; may pass its root (WorkerStart::source)
    kReady,   // the mount answers
    kFailed,  // the start failed, also of a worker that replaces another: exit code, error line
    // From the keeper to the worker.
    kMounted,     // passes the FUSE device; device numbers at the mount point before and after;
                  // 1 if requests can come again; FUSE_INIT, unless the worker is to read it
    kEnd,         // the mount is gone, or will be soon: end
    kLogLevel,    // the name of the level
    kCacheSizes,  // index cache, cache, memory (0: the default); bytes
    // From another program of the user or of root, to which the keeper answers as to the process
    // that waits for the start.
    kUpgrade,   // passes the program file
    kSettings,  // live settings, as after -o
    // From the worker.
    kStarted,  // before anything else: its program runs
    kBeat,     // from kReady on, each Heartbeat::kPeriod: its text is a Beat
    // As kUpgrade: asks for the state of the mount. The answer, kReady, has its device number and,
    // as text, what is wrong with the worker.
    kState,
  };
  Kind kind = Kind::kEnd;
  std::array<uint64_t, 3> numbers = {};
  std::string text = {};
  Descriptor passed = {};  // on receipt: the descriptor that came with the message
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Both ends; nullopt if there are no descriptors left.
  [[nodiscard]] static std::optional<std::pair<Channel, Channel>> MakePair();

  void Close() { socket_.reset(); }

  /// For poll(); -1 if it is closed.
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// Thread-safe; never waits. False if the other end is closed or does not read. `passed`: a
  /// descriptor to pass a copy of.
  bool Send(const Message& message, int passed = -1) const;

  /// Waits for the next message; nullopt at the end of the channel, and for what is no message. At
  /// most one descriptor comes with a message: the kernel closes others.
  [[nodiscard]] std::optional<Message> Receive() const;

 private:
  Descriptor socket_;
};

}  // namespace zarrfs
