// What the keeper of a mount and its worker tell each other: whole messages on a pair of sockets.
// The end of one process is the end of the other one's conversation.
#ifndef FS_DAEMON_CHANNEL_H_
#define FS_DAEMON_CHANNEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/descriptor.h"

namespace zarrfs {

struct Message {
  enum class Kind : uint32_t {
    // From the worker.
    kOpened,  // the store is open: mount now
    kReady,   // the mount answers
    kFailed,  // the start failed: exit code, line for the user
    // From the keeper.
    kMounted,     // with the FUSE device; device numbers at the mount point before and after
    kEnd,         // the mount is gone, or will be: end soon
    kLogLevel,    // the name of the level
    kCacheSizes,  // index cache, cache; bytes
  };
  Kind kind = Kind::kEnd;
  std::array<uint64_t, 2> numbers = {};
  std::string text = {};
  Descriptor passed = {};  // of a received message: the descriptor that came with it
};

class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Both ends; nullopt if there are no descriptors left.
  [[nodiscard]] static std::optional<std::pair<Channel, Channel>> MakePair();

  /// For poll().
  [[nodiscard]] int fd() const { return socket_.get(); }

  /// From any thread; never waits. False if nobody is at the other end, or hundreds of messages
  /// wait there already. `passed`: a descriptor that the receiver gets a copy of.
  bool Send(const Message& message, int passed = -1) const;

  /// Waits for the next message; nullopt at the end of the conversation.
  [[nodiscard]] std::optional<Message> Receive() const;

 private:
  Descriptor socket_;
};

}  // namespace zarrfs

#endif  // FS_DAEMON_CHANNEL_H_
