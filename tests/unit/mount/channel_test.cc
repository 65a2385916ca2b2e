#include "fs/mount/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace zarrfs::channel_test {
namespace {

TEST(ChannelTest, AnswerOfOneThatReadsNothingIsReceived) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends);
  auto& [asker, answerer] = *ends;
  EXPECT_TRUE(asker.Send({Message::Kind::kUpgrade}));
  EXPECT_TRUE(answerer.Send({Message::Kind::kFailed, {}, "another upgrade is under way"}));
  answerer.Close();
  const auto answer = asker.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Message::Kind::kFailed);
  EXPECT_EQ(answer->text, "another upgrade is under way");
  EXPECT_FALSE(asker.Receive()) << "the channel has ended";
}

int NextDescriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

TEST(ChannelTest, MessageThatIsTooShortIsNone) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends);
  EXPECT_EQ(send(ends->first.fd(), "x", 1, MSG_DONTWAIT), 1);
  EXPECT_FALSE(ends->second.Receive());
}

TEST(ChannelTest, DescriptorsThatNobodyExpectsAreClosed) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends);
  const int next = NextDescriptor();
  for (const size_t bytes : {size_t{1}, size_t{100}}) {
    const std::array<int, 3> passed = {0, 0, 0};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> control = {};
    std::array<char, 100> text = {};
    iovec part = {text.data(), bytes};
    msghdr header = {nullptr, 0, &part, 1, control.data(), control.size(), 0};
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(rights), passed.data(), sizeof passed);
    EXPECT_EQ(sendmsg(ends->first.fd(), &header, MSG_DONTWAIT), static_cast<ssize_t>(bytes));
    EXPECT_EQ(ends->second.Receive().has_value(), bytes == 100);
    EXPECT_EQ(NextDescriptor(), next) << bytes;
  }
}

}  // namespace
}  // namespace zarrfs::channel_test
