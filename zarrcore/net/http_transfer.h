// HttpTransfer: one GET with libcurl. It decides which bytes of the response are used, and whether
// they are the requested bytes.
#pragma once

#include <curl/curl.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// The parameters of a GET.
struct HttpGet {
  std::string url;
  std::vector<std::string> headers = {};  // such as "Name: value"
  /// The requested part of an object; nullopt for the whole response, up to the size of `into`,
  /// such as a listing. A range of length 0 requests the whole object but uses none of its bytes,
  /// to learn the version of an object that is empty or ends before a range.
  std::optional<ByteRange> range = {};
  std::span<std::byte> into;  // receives the bytes; its size limits a whole response
  bool is_s3 = false;         // true for S3; see CertificatesFile()
  bool uses_netrc = false;    // send user names and passwords of ~/.netrc
  /// The address of a cache, which gets this request in the form for HTTP proxies. "" to send the
  /// request to the server of `url`, or to the proxy that the environment names.
  std::string proxy = {};
  bool is_guarded = false;  // connect only to addresses that MayConnect() allows
  /// The host that is passed to MayConnect(); "" for the host of `url`.
  std::string guard_host = {};
  int64_t limit_ms = 60'000;  // the time limit of the whole GET
};

/// The result of a GET.
struct HttpReply {
  CURLcode code = CURLE_OK;
  std::string failure;  // curl's error message if `code` is an error
  std::string refused;  // the last address refused because of HttpGet::is_guarded; "" for none
  long status = 0;      // 0 without a response
  std::string etag;
  std::string location;
  std::string bucket_region;
  std::string cache_status;       // X-Cache-Status, such as "HIT"; "" without this header
  bool is_encoded = false;        // the response has a Content-Encoding
  int64_t modified_ns = 0;        // Last-Modified; 0 if unknown
  int64_t date_s = 0;             // Date: the server's clock, in Unix time; 0 if unknown
  int64_t age_s = 0;              // Age: how long a cache has stored the response
  int64_t retry_after_s = 0;      // Retry-After; 0 without this header
  std::optional<uint64_t> size;   // the size of the object, if known
  uint64_t offset = 0;            // the offset in the object of the first byte in `into`
  uint64_t length = 0;            // the number of bytes in `into`
  uint64_t received = 0;          // the number of body bytes received
  bool is_whole = false;          // the response is complete
  bool asked_range = false;       // the request was for a range
  bool of_suffix = false;         // the request was for a suffix range
  bool is_other_range = false;    // the server sent another range; `wrong` is set, too
  bool is_contradictory = false;  // headers contradict each other; `wrong` is set, too
  std::string wrong;              // why the bytes are not the requested bytes; "" if they are
  std::string text;               // the beginning of an error body
};

/// Performs one GET at a time with libcurl's multi interface, whose multi handle owns the
/// connections. Used only by the thread of that handle. Can be reused; each GET gets a new
/// handle().
class HttpTransfer {
 public:
  /// Maximum number of bytes that are skipped if a server ignores Range or sends an error body.
  static constexpr uint64_t kMaxSkip = 1u << 20;
  /// Maximum size of an ETag.
  static constexpr size_t kMaxEtag = 1024;

  /// The parsed header Content-Range; nullopt for a number that it lacks.
  struct ContentRange {
    std::optional<uint64_t> first = {};
    std::optional<uint64_t> last = {};
    std::optional<uint64_t> total = {};
    [[nodiscard]] bool IsWhole() const {
      return first == 0 && last && total && *last + 1 == *total;
    }
    bool operator==(const ContentRange&) const = default;
  };

  HttpTransfer() = default;
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// Prepares a GET. The caller starts it with curl_multi_add_handle(handle()).
  void Prepare(HttpGet get);
  [[nodiscard]] CURL* handle() const { return handle_.get(); }
  /// Counts the received headers and parts of the body. If the count stops growing, the server is
  /// silent.
  [[nodiscard]] uint64_t heard() const { return heard_; }
  /// Returns the result. Must be called after the transfer has ended; `code` is libcurl's result.
  [[nodiscard]] HttpReply Finish(CURLcode code);

 private:
  static curl_socket_t OnSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int OnRequest(void* self, char* address, char* own_address, int port, int own_port);
  void UseProxy();
  // False if this GET must not be sent to `address`, which is then stored in refused_.
  bool MaySendTo(const sockaddr& address, socklen_t length);
  static size_t OnHeader(char* text, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  void ForgetHeaders();
  void TakeHeader(std::string_view line);
  // Decides which bytes of the body are used. Called after all headers have arrived.
  void Decide();
  void DecideRange();
  // Returns why the headers do not say which bytes the body has; null if they do.
  [[nodiscard]] const char* Contradiction() const;
  size_t TakeBody(std::string_view bytes);

  struct FreeHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  std::unique_ptr<CURL, FreeHandle> handle_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  char failure_[CURL_ERROR_SIZE] = {};
  std::string refused_;  // see HttpReply
  HttpGet get_;
  HttpReply reply_;
  std::optional<uint64_t> content_length_;
  std::optional<ContentRange> content_range_;
  bool has_contradiction_ = false;  // repeated headers contradict each other
  bool decided_ = false;
  uint64_t skip_ = 0;  // the number of body bytes to skip before the used bytes
  uint64_t said_ = 0;  // the number of received bytes of an error body
  uint64_t due_ = 0;   // the number of body bytes to use
  uint64_t heard_ = 0;
};

/// True if `text` may be part of a header line: it has no control character, so it cannot end the
/// line.
[[nodiscard]] bool IsHeaderText(std::string_view text);

/// How long a server may be silent, in seconds.
inline constexpr long kStallSeconds = 15;
/// How long connecting may take, in seconds.
inline constexpr long kConnectSeconds = 10;

/// Returns the path of the CA certificates: the file named by SSL_CERT_FILE, CURL_CA_BUNDLE or
/// AWS_CA_BUNDLE, in this order, or else the system's file. For S3, AWS_CA_BUNDLE comes first. ""
/// for libcurl's default.
[[nodiscard]] std::string CertificatesFile(bool is_s3);

}  // namespace zarrfs
