// Channel: messages between the processes of a mount, over a socket pair. When one process ends,
// the other one sees the end of the channel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// A message between two processes of a mount. An old keeper may exchange messages with a newer
/// worker, so any change here requires another StartMessage::kFormat.
struct Message {
  enum class Kind : uint32_t {
    // Messages that a worker sends. The keeper also sends kReady and kFailed to the process that
    // waits for the start.
    // kOpened: the store is open, so the keeper must mount. May pass the root of the store
    // (WorkerStart::source).
    kOpened,
    kReady,   // the mount answers requests
    kFailed,  // the start of this worker failed; has the exit code and the error
    // Messages that the keeper sends to a worker.
    // kMounted passes the FUSE device. Its numbers are the device number at the mount point before
    // mounting, the device number of the mount, and 1 if the kernel can resend requests. Its text
    // is FUSE_INIT; "" if the worker must read FUSE_INIT itself.
    kMounted,
    kEnd,       // the mount has ended or is about to end, so the worker must exit
    kLogLevel,  // changes the log level; the text is the name of the level
    // kCacheSizes changes the values of the options index_cache, cache and memory. Its numbers are
    // the three values in bytes; 0 is the default of memory.
    kCacheSizes,
    // Requests to the keeper from a program that the same user or root has started. The keeper
    // answers with kReady or kFailed.
    kUpgrade,   // upgrade to the program file whose descriptor is passed
    kSettings,  // change live settings, given in the syntax of -o
    // Further messages that a worker sends.
    // kStarted is the first message of a program that was executed as a worker. It has the
    // program's FetchChannel::kVersion, and the program's version as its text.
    kStarted,
    kBeat,  // sent every Heartbeat::kPeriod from kReady on; its text is a Beat
    // kState is a request to the keeper, like kUpgrade. It asks for the state of the mount. The
    // answer is a kReady with the device number of the mount. Its text is the problem of the
    // worker, if any.
    kState,
  };
  Kind kind = Kind::kEnd;
  std::array<uint64_t, 3> numbers = {};
  std::string text = {};
  Descriptor passed = {};  // the descriptor that a received message carries
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Makes both ends of a channel; nullopt if the process has no free descriptors.
  [[nodiscard]] static std::optional<std::pair<Channel, Channel>> MakePair();

  void Close() { socket_.reset(); }

  /// The socket, for poll(); -1 if the channel is closed.
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// Sends a message without waiting. If `passed` is a descriptor, the message carries a copy of
  /// it. False if the other end is closed or does not read. Thread-safe.
  bool Send(const Message& message, int passed = -1) const;

  /// Waits for the next message; nullopt at the end of the channel, and for a malformed message. A
  /// message carries at most one descriptor: the kernel closes any others.
  [[nodiscard]] std::optional<Message> Receive() const;

 private:
  Descriptor socket_;
};

}  // namespace zarrfs
