// Input: a message between the fetcher and the worker, in either direction. A valid message must be
// the same after it is sent again.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/net/fetch_channel.h"

namespace zarrfs {
namespace {

template <typename Message>
void Check(std::string_view bytes, const FetchChannel& channel,
           std::optional<Message> (*receive)(const Descriptor&, bool)) {
  if (send(channel.client.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) < 0) return;
  const auto message = receive(channel.server, /*waits=*/false);
  if (!message) return;
  Require(Send(channel.client, *message, /*waits=*/false), "a message that can be sent", bytes);
  const auto again = receive(channel.server, /*waits=*/false);
  Require(again && again->id == message->id && again->generation == message->generation &&
              again->length == message->length,
          "the same message", bytes);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;  // an empty message is the end of a channel
  static const auto channel = *zarrfs::FetchChannel::Make();
  std::string bytes(zarrfs::Text(data, size));
  // Sets the version, because messages of other versions are skipped.
  const uint32_t version = zarrfs::FetchChannel::kVersion;
  std::memcpy(bytes.data(), &version, std::min(size, sizeof version));
  zarrfs::Check<zarrfs::FetchRequest>(bytes, channel, &zarrfs::ReceiveRequest);
  zarrfs::Check<zarrfs::FetchAnswer>(bytes, channel, &zarrfs::ReceiveAnswer);
  return 0;
}
