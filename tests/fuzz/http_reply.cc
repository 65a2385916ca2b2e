// Input: a byte that chooses the request, then the response of a server, headers and body, which
// passes through libcurl. Bytes that are accepted must be bytes of the requested range that the
// server sent. Only a few responses may make an object absent. If the upper bit of the first byte
// is set, the next bytes choose the status, Content-Range and Content-Length of a response for an
// object whose bytes are known.
#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/verdict.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {
namespace {

constexpr const char* kUrl = "http://127.0.0.1:1/store/key";
constexpr size_t kMaxOfAListing = 64;

struct Asked {
  std::optional<ByteRange> range;  // nullopt for a listing
  size_t room = 0;                 // the size of `into`
};

const std::array<Asked, 8> kAsked = {{{std::nullopt, kMaxOfAListing},
                                      {ByteRange::At(0, 1), 1},
                                      {ByteRange::At(0, 16), 16},
                                      {ByteRange::At(4, 8), 8},
                                      {ByteRange::At(UINT64_MAX - 8, 8), 8},
                                      {ByteRange::At(1u << 21, 8), 8},
                                      {ByteRange{.offset = 0, .length = 12, .from_end = true}, 12},
                                      {ByteRange{}, 0}}};

// The socket to which libcurl connects instead of a host.
class Server {
 public:
  Server() {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    name_.copy(address.sun_path + 1, name_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    const bool listens =
        bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
        listen(listener_.get(), 1) == 0;
    Require(listens, "a socket that listens");
  }
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  // Accepts a connection and sends the whole response. Empty if no client has connected.
  [[nodiscard]] Descriptor Accept(std::string_view answer) const {
    Descriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return client;
    Require(send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(answer.size()),
            "room in the socket");
    shutdown(client.get(), SHUT_WR);
    return client;
  }

 private:
  const std::string name_ =
      fmt::format("zarrfs-fuzz-{}", getpid());  // an abstract address, which is not a file
  const Descriptor listener_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
};

HttpReply Ask(const Asked& asked, std::span<std::byte> into, std::string_view answer) {
  static const Server& server = *new Server;
  static CURLM* const multi = curl_multi_init();
  static HttpTransfer& transfer = *new HttpTransfer;
  transfer.Prepare({.url = kUrl, .range = asked.range, .into = into});
  CURL* const curl = transfer.handle();
  curl_easy_setopt(curl, CURLOPT_ABSTRACT_UNIX_SOCKET, server.name());
  curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
  curl_multi_add_handle(multi, curl);
  Descriptor client;
  int running = 1;
  for (;;) {
    curl_multi_perform(multi, &running);
    if (running == 0) break;
    if (!client) client = server.Accept(answer);
    curl_multi_poll(multi, nullptr, 0, client ? 1000 : 1, nullptr);
  }
  int left = 0;
  const CURLMsg* const message = curl_multi_info_read(multi, &left);
  Require(message != nullptr && client, "an answer that was read", answer);
  const CURLcode code = message->data.result;
  curl_multi_remove_handle(multi, curl);
  return transfer.Finish(code);
}

void CheckBytes(const Asked& asked, const HttpReply& reply, std::string_view bytes,
                std::string_view answer) {
  Require(reply.status == 200 || reply.status == 206, "bytes with 200 or 206", answer);
  Require(reply.etag.size() <= HttpTransfer::kMaxEtag, "a short ETag", reply.etag);
  // The bytes of a chunked response are not contiguous.
  const bool may_be_chunked = strcasestr(std::string(answer).c_str(), "chunked") != nullptr ||
                              answer.find('\0') != answer.npos;
  Require(may_be_chunked || answer.find(bytes) != answer.npos, "bytes that were sent", bytes);
  if (!asked.range) return;
  const ByteRange& range = *asked.range;
  Require(reply.size.has_value(), "the size of the object", answer);
  const uint64_t begin = range.from_end ? *reply.size - std::min(range.length, *reply.size)
                                        : std::min(range.offset, *reply.size);
  Require(reply.offset == begin, "bytes from where the range begins", answer);
  Require(reply.length == std::min(range.length, *reply.size - begin), "the whole range", answer);
}

void Check(const Asked& asked, std::string_view answer) {
  std::vector<std::byte> into(asked.room);
  // An earlier response must not affect this one.
  static_cast<void>(Ask(asked, into, "HTTP/1.1 200 OK\r\nServer: another\r\n\r\n"));
  const HttpReply reply = Ask(asked, into, answer);
  Require(reply.length <= into.size(), "no more than was asked for", answer);
  Require(reply.modified_ns >= 0 && reply.date_s >= 0, "times after 1970", answer);
  Require(reply.retry_after_s >= 0 && reply.retry_after_s <= 3600, "a pause up to an hour", answer);
  const std::string_view bytes(reinterpret_cast<const char*>(into.data()), reply.length);
  RemoteSource source;
  source.region = "us-east-1";
  source.url = "http://127.0.0.1:1/store";
  for (const bool is_s3 : {false, true}) {
    source.is_s3 = is_s3;
    const Verdict verdict = Judge(reply, source, "key", kUrl);
    if (verdict.kind == Verdict::Kind::kBytes) CheckBytes(asked, reply, bytes, answer);
    if (verdict.kind != Verdict::Kind::kError) continue;
    for (const char c : verdict.error.message) {
      Require(c >= ' ' && c != 0x7f, "one line of text", verdict.error.message);
    }
    if (verdict.error.code != ErrorCode::kNotFound) continue;
    const bool is_redirected = reply.status >= 300 && reply.status < 400;
    const bool is_gone = reply.status == 404 || reply.status == 410;
    Require(is_s3 ? is_gone && S3ErrorCode(reply.text) == "NoSuchKey" : is_gone || is_redirected,
            "absence to be said", answer);
  }
}

// The byte at `offset` in the object.
char ByteAt(uint64_t offset) { return static_cast<char>('a' + offset % 26); }

// Checks combinations of valid and invalid headers: no byte may be accepted for another offset.
void CheckHeaders(const Asked& asked, const uint8_t* choices, size_t count) {
  const auto choice = [&](size_t i) -> uint64_t { return i < count ? choices[i] : 0; };
  constexpr std::array kStatuses = {"200 OK", "206 Partial Content", "404 Not Found"};
  const uint64_t form = choice(1);
  const bool has_range = (form & 1) != 0;
  const uint64_t first = choice(2) % 64;
  const uint64_t last = choice(3) % 64;
  const uint64_t total = choice(4) % 64;
  const uint64_t sent = choice(6) % 64;
  std::string answer = fmt::format("HTTP/1.1 {}\r\n", kStatuses[choice(0) % kStatuses.size()]);
  if (has_range) {
    answer += fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, last,
                          (form & 2) != 0 ? "*" : std::to_string(total));
  }
  if ((form & 4) != 0) {
    answer += fmt::format("Content-Length: {}\r\n", (form & 8) != 0 ? sent : choice(5) % 64);
  }
  answer += "ETag: \"1\"\r\n\r\n";
  const uint64_t begin = has_range ? first : 0;
  for (uint64_t i = 0; i < sent; ++i) answer += ByteAt(begin + i);
  std::vector<std::byte> into(asked.room);
  const HttpReply reply = Ask(asked, into, answer);
  RemoteSource source;
  source.url = "http://127.0.0.1:1/store";
  if (Judge(reply, source, "key", kUrl).kind != Verdict::Kind::kBytes) return;
  if (has_range) {
    const bool is_range = first <= last && (form & 2) == 0 && last < total;
    Require(asked.range ? is_range : first <= last, "a Content-Range that is one", answer);
    Require(!asked.range || reply.size == total, "the size that Content-Range says", answer);
    Require((form & 12) != 12 || sent == last - first + 1, "lengths that agree", answer);
  }
  for (uint64_t i = 0; i < reply.length; ++i) {
    Require(static_cast<char>(into[i]) == ByteAt(reply.offset + i), "bytes of their place", answer);
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const zarrfs::Asked& asked = zarrfs::kAsked[data[0] % zarrfs::kAsked.size()];
  if ((data[0] & 0x80) != 0) {
    zarrfs::CheckHeaders(asked, data + 1, size - 1);
    return 0;
  }
  zarrfs::Check(asked, zarrfs::Text(data + 1, size - 1));
  return 0;
}
