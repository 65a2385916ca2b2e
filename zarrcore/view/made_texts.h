// MadeTexts: the bytes of documents that are made from several nodes. They may be forgotten at any
// time, but their numbers are not: texts of equal numbers are equal.
#ifndef ZARRCORE_VIEW_MADE_TEXTS_H_
#define ZARRCORE_VIEW_MADE_TEXTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// A document that is made from several nodes.
struct MadeDocument {
  uint64_t text_number = 0;  // of its bytes, in MadeTexts
  uint64_t size = 0;         // in bytes
  Version version;           // of what it is made from, the version that changed last
};

/// Thread-safe.
class MadeTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// Keeps the bytes of a document, and sets its text_number and size.
  void Keep(std::string text, MadeDocument& document);

  /// The bytes of this number. If they have been forgotten, `make` is called, which makes the
  /// document of the node at `path` again; kStale if that has other bytes now.
  [[nodiscard]] Result<Text> Get(
      uint64_t number, std::string_view path,
      const std::function<Result<std::shared_ptr<const MadeDocument>>()>& make);

 private:
  [[nodiscard]] uint64_t NumberOf(std::string_view text);

  static constexpr size_t kBytes = 64u << 20;
  LruCache<uint64_t, std::string> texts_{kBytes};  // by number
  std::mutex mutex_;                               // guards the rest
  std::unordered_map<Digest, uint64_t, DigestHash> numbers_;
  uint64_t last_number_ = 0;
};

}  // namespace zarrfs

#endif  // ZARRCORE_VIEW_MADE_TEXTS_H_
