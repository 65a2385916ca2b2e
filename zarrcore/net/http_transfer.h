// HttpTransfer: one GET with libcurl: which bytes of the response count, and whether they are the
// requested ones.
#pragma once

#include <curl/curl.h>

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
  std::vector<std::string> headers = {};  // "Name: value"
  /// Part of an object; nullopt: the whole response, regardless of its size (a listing). With
  /// length 0 no range is requested and no byte counts: to learn the version of an object that is
  /// empty or ends before a range.
  std::optional<ByteRange> range = {};
  std::span<std::byte> into;  // as long as the range, or the limit of a whole response
  bool asks_netrc = false;    // use a user name and password from netrc
  int64_t limit_ms = 60'000;  // until the last byte
};

/// The outcome.
struct HttpReply {
  CURLcode code = CURLE_OK;
  std::string failure;  // curl's error message if `code` is an error
  long status = 0;      // 0: no response
  std::string etag;
  std::string location;
  std::string bucket_region;
  bool is_encoded = false;        // has a Content-Encoding
  int64_t modified_ns = 0;        // Last-Modified; 0: unknown
  int64_t date_s = 0;             // of the server's clock; 0: unknown
  int64_t retry_after_s = 0;      // 0: absent
  std::optional<uint64_t> size;   // of the object, if known
  uint64_t offset = 0;            // of the first byte that counts
  uint64_t length = 0;            // bytes in `into`
  bool is_whole = false;          // complete
  bool of_suffix = false;         // the request was for a suffix range
  bool is_other_range = false;    // `wrong`: another range came
  bool is_contradictory = false;  // `wrong`: headers contradict each other
  std::string wrong;              // why the bytes are not those that were asked for; "" if they are
  std::string text;               // the beginning of what a server says of an error
};

/// Used by one thread, that of the multi handle, which owns the connections. Reusable; handle()
/// differs each time.
class HttpTransfer {
 public:
  /// Limit of bytes skipped if a server ignores Range or sends an error body.
  static constexpr uint64_t kMaxSkip = 1u << 20;
  /// Maximum size of an ETag.
  static constexpr size_t kMaxEtag = 1024;

  /// The numbers of a Content-Range.
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

  /// Prepares `get`; curl_multi_add_handle(handle()) then begins it.
  void Prepare(HttpGet get);
  [[nodiscard]] CURL* handle() const { return handle_.get(); }
  /// Call once the transfer has ended, with curl's code.
  [[nodiscard]] HttpReply Finish(CURLcode code);

 private:
  static size_t OnHeader(char* text, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  void ForgetHeaders();
  void TakeHeader(std::string_view line);
  // Decides which bytes of the body count, once all headers have arrived.
  void Decide();
  void DecideRange();
  // Why the headers do not determine which bytes came; null if they do.
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
  HttpGet get_;
  HttpReply reply_;
  std::optional<uint64_t> content_length_;
  std::optional<ContentRange> content_range_;
  bool has_contradiction_ = false;  // between repeated headers
  bool decided_ = false;
  uint64_t skip_ = 0;  // bytes of the body to skip before those that count
  uint64_t said_ = 0;  // bytes of an error body received
  uint64_t due_ = 0;   // bytes that count
};

/// Whether `text` can be part of a header line: it has no control character, so it cannot end the
/// line.
[[nodiscard]] bool IsHeaderText(std::string_view text);

/// Seconds that a server may be silent.
inline constexpr long kStallSeconds = 15;
/// Seconds that connecting may take.
inline constexpr long kConnectSeconds = 10;

/// Certificates named by the environment (SSL_CERT_FILE, CURL_CA_BUNDLE, AWS_CA_BUNDLE), or those
/// of the system; "" for libcurl's default.
[[nodiscard]] std::string CertificatesFile();

}  // namespace zarrfs
