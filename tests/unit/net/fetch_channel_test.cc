#include "zarrcore/net/fetch_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace zarrfs::fetch_channel_test {
namespace {

// Receives a message at `from`, and sends it at `to` with another version.
void PassOn(const Descriptor& from, const Descriptor& to, uint32_t version) {
  std::string bytes(4096, '\0');
  const ssize_t length = recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  ASSERT_GT(length, 4);
  uint32_t found = 0;
  std::memcpy(&found, bytes.data(), sizeof found);
  EXPECT_EQ(found, FetchChannel::kVersion) << "where programs of all versions look for it";
  std::memcpy(bytes.data(), &version, sizeof version);
  EXPECT_EQ(send(to.get(), bytes.data(), static_cast<size_t>(length), 0), length);
}

TEST(FetchChannelTest, MessagesOfAnotherVersionAreSkippedAtBothEnds) {
  const auto channel = FetchChannel::Make();
  const auto other = FetchChannel::Make();
  ASSERT_TRUE(channel && other);
  for (const uint32_t version : {FetchChannel::kVersion + 1, FetchChannel::kVersion}) {
    EXPECT_TRUE(Send(other->client, FetchRequest{.id = version, .key = "zarr.json"}));
    PassOn(other->server, channel->client, version);
    EXPECT_TRUE(Send(other->server, FetchAnswer{.id = version, .etag = "\"1\""}));
    PassOn(other->client, channel->server, version);
  }
  const auto request = ReceiveRequest(channel->server, /*waits=*/false);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, FetchChannel::kVersion);
  EXPECT_EQ(request->key, "zarr.json");
  EXPECT_FALSE(ReceiveRequest(channel->server, /*waits=*/false));
  EXPECT_EQ(errno, EAGAIN);
  const auto answer = ReceiveAnswer(channel->client, /*waits=*/false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, FetchChannel::kVersion);
  EXPECT_EQ(answer->etag, "\"1\"");
  EXPECT_FALSE(ReceiveAnswer(channel->client, /*waits=*/false));
}

TEST(FetchChannelTest, CountsAreKeptBesideTheNote) {
  const auto channel = FetchChannel::Make();
  ASSERT_TRUE(channel);
  EXPECT_EQ(FetchChannel::ReadCounts(channel->memory), FetchCounts());
  FetchChannel::Count(channel->memory, FetchRequest::Kind::kGet, uint64_t{1} << 40);
  FetchChannel::Count(channel->memory, FetchRequest::Kind::kList, 5);
  FetchChannel::Count(channel->memory, FetchRequest::Kind::kGet, 0);
  FetchChannel::CountCache(channel->memory, &FetchCounts::cache_misses);
  FetchChannel::WriteNote(channel->memory, std::string(5000, 'x'));
  EXPECT_EQ(
      FetchChannel::ReadCounts(channel->memory),
      (FetchCounts{
          .gets = 2, .lists = 1, .received_bytes = (uint64_t{1} << 40) + 5, .cache_misses = 1}));
  EXPECT_EQ(FetchChannel::ReadNote(channel->memory).size(), 1023);
}

}  // namespace
}  // namespace zarrfs::fetch_channel_test
