// HttpTransfer: one GET on libcurl: which bytes of the answer count, and whether they are those
// that were asked for.
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

/// What to ask for.
struct HttpGet {
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  /// Part of an object; empty: the whole answer counts, whatever its size (a listing). Of length 0:
  /// no range is asked for, and no byte of the answer counts: to learn the version of an object
  /// that is empty or ends before a range.
  std::optional<ByteRange> range = {};
  std::span<std::byte> into;  // as long as the range, or the most that is taken of a whole answer
  bool asks_netrc = false;    // for a user's name and password
  int64_t limit_ms = 60'000;  // until the last byte is there
};

/// What came.
struct HttpReply {
  CURLcode code = CURLE_OK;
  std::string failure;  // curl's words if `code` is an error
  long status = 0;      // 0: none came
  std::string etag;
  std::string location;
  std::string bucket_region;
  bool is_encoded = false;        // with a Content-Encoding
  int64_t modified_ns = 0;        // Last-Modified; 0: unknown
  int64_t date_s = 0;             // of the server's clock; 0: unknown
  int64_t retry_after_s = 0;      // 0: not said
  std::optional<uint64_t> size;   // of the object, if that was said
  uint64_t offset = 0;            // of the first byte that counts
  uint64_t length = 0;            // bytes in `into`
  bool is_whole = false;          // all that was due has come
  bool of_suffix = false;         // a range from the end was asked for
  bool is_other_range = false;    // `wrong`: another range came
  bool is_contradictory = false;  // `wrong`: headers contradict each other
  std::string wrong;              // why the bytes are not those that were asked for; "" if they are
  std::string text;               // the beginning of what a server says of an error
};

/// For one thread, that of the multi handle, whose its connections are. It may be reused; the
/// handle is another one each time.
class HttpTransfer {
 public:
  /// Of what a server that ignores ranges sends, or says beside an error, at most so much is
  /// skipped.
  static constexpr uint64_t kMaxSkip = 1u << 20;
  /// Bytes that an ETag may have.
  static constexpr size_t kMaxEtag = 1024;

  /// Of a Content-Range, what is a number.
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
  /// Once it has ended, with curl's code.
  [[nodiscard]] HttpReply Finish(CURLcode code);

 private:
  static size_t OnHeader(char* text, size_t size, size_t count, void* self);
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  void ForgetHeaders();
  void TakeHeader(std::string_view line);
  // Which bytes of the body count, once all headers are there.
  void Decide();
  void DecideRange();
  // Why the headers cannot say which bytes came; null if they do.
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
  uint64_t skip_ = 0;  // bytes of the body before those that count
  uint64_t said_ = 0;  // bytes of the body of an error
  uint64_t due_ = 0;   // bytes that count
};

/// Whether `text` can be part of a line of a header: it has no control character, so no line ends
/// in it.
[[nodiscard]] bool IsHeaderText(std::string_view text);

/// How long a server may be silent, in seconds.
inline constexpr long kStallSeconds = 15;
/// How long it may take to connect.
inline constexpr long kConnectSeconds = 10;

/// Certificates that the environment names (SSL_CERT_FILE, CURL_CA_BUNDLE, AWS_CA_BUNDLE), or those
/// of the system; "": those that libcurl takes by itself.
[[nodiscard]] std::string CertificatesFile();

}  // namespace zarrfs
