#include "fs/mount/channel.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zarrfs::channel_test
