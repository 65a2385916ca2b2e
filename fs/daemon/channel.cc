#include "fs/daemon/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

struct Head {
  Message::Kind kind;
  std::array<uint64_t, 2> numbers;
};

constexpr size_t kMaxMessageText = 4096;

}  // namespace

std::optional<std::pair<Channel, Channel>> Channel::MakePair() {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::pair(Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1])));
}

bool Channel::Send(const Message& message, int passed) const {
  Head head = {message.kind, message.numbers};
  std::string text = message.text.substr(0, kMaxMessageText);
  std::array<iovec, 2> parts = {iovec{&head, sizeof head}, iovec{text.data(), text.size()}};
  msghdr header = {};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  if (passed >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
  }
  return TEMP_FAILURE_RETRY(sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0;
}

std::optional<Message> Channel::Receive() const {
  Head head = {};
  std::array<char, kMaxMessageText> text;
  std::array<iovec, 2> parts = {iovec{&head, sizeof head}, iovec{text.data(), text.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr header = {};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t length = TEMP_FAILURE_RETRY(recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC));
  if (length < static_cast<ssize_t>(sizeof head)) return std::nullopt;
  Message message{head.kind, head.numbers,
                  std::string(text.data(), static_cast<size_t>(length) - sizeof head)};
  if (const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    message.passed.reset(fd);
  }
  return message;
}

}  // namespace zarrfs
