#include "fs/mount/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

constexpr size_t kMaxMessageText = 4096;

// A message in the form in which it is sent, with the pointers that sendmsg(2) and recvmsg(2) need.
struct Packet {
  struct {
    Message::Kind kind = {};
    std::array<uint64_t, 3> numbers = {};
  } head;
  std::array<char, kMaxMessageText> text;
  std::array<iovec, 2> parts = {iovec{&head, sizeof head}, iovec{text.data(), text.size()}};
  // CMSG_SPACE() would leave space for a second descriptor, which this process would receive but
  // never close.
  alignas(cmsghdr) std::array<char, CMSG_LEN(sizeof(int))> control = {};
  msghdr header = {nullptr, 0, parts.data(), parts.size(), control.data(), control.size(), 0};
};

}  // namespace

std::optional<std::pair<Channel, Channel>> Channel::MakePair() {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::pair(Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1])));
}

bool Channel::Send(const Message& message, int passed) const {
  Packet packet;
  packet.head = {message.kind, message.numbers};
  packet.parts[1].iov_len = message.text.copy(packet.text.data(), kMaxMessageText);
  if (passed >= 0) {
    cmsghdr* const rights = CMSG_FIRSTHDR(&packet.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
  } else {
    packet.header.msg_controllen = 0;
  }
  return TEMP_FAILURE_RETRY(sendmsg(fd(), &packet.header, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0;
}

std::optional<Message> Channel::Receive() const {
  Packet packet;
  const auto receive = [&] {
    return TEMP_FAILURE_RETRY(recvmsg(fd(), &packet.header, MSG_CMSG_CLOEXEC));
  };
  auto length = receive();
  // ECONNRESET means that the other end was closed before it had read all messages. The messages
  // that it sent can still be received.
  if (length < 0 && errno == ECONNRESET) length = receive();
  const bool is_whole = length >= static_cast<ssize_t>(sizeof packet.head) &&
                        (packet.header.msg_flags & MSG_TRUNC) == 0;
  Descriptor passed;
  if (const cmsghdr* const rights = length < 0 ? nullptr : CMSG_FIRSTHDR(&packet.header);
      rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    passed.reset(fd);
  }
  if (!is_whole) return std::nullopt;
  return Message{packet.head.kind, packet.head.numbers,
                 std::string(packet.text.data(), static_cast<size_t>(length) - sizeof packet.head),
                 std::move(passed)};
}

}  // namespace zarrfs
