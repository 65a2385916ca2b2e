// MadeTexts: a cache of the bytes of documents that are made from several nodes; see
// ConsolidatedDocuments and SharedDocuments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The version and size of a document that zarrfs makes from several nodes, such as consolidated
/// metadata. MadeTexts caches the document's bytes.
struct MadeDocument {
  uint64_t text_number = 0;  // identifies the document's bytes in MadeTexts
  uint64_t size = 0;         // in bytes
  Version version;           // the version of the source document that changed last
  bool operator==(const MadeDocument&) const = default;
};

/// True if some user may read the object `more` but not the object `less`. If their owners differ,
/// `less` counts as readable only if everybody may read it.
[[nodiscard]] bool IsLessOpen(const ObjectInfo& less, const ObjectInfo& more);

/// A cache of the bytes of documents. Each document has a number, the first bits of its digest, so
/// a document has the same number in every process. Thread-safe.
class MadeTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  MadeTexts() { texts_.KeepLatestLarge(); }

  /// Caches the bytes of a document, and sets its text_number and size. Returns the bytes.
  /// `memory`: the memory reserved for `text`.
  Text Keep(std::string text, MadeDocument& document, MemoryBudget::Share memory);

  /// The bytes of the document with number `number`. If they were evicted, `make` must make the
  /// document of the node at `path` again and return its number and bytes. kStale if the number has
  /// changed.
  [[nodiscard]] Result<Text> Get(uint64_t number, std::string_view path,
                                 const std::function<Result<uint64_t>(Text& text)>& make);

  /// Evicts documents of `bytes` in total, or all documents. Called when memory is short.
  void Evict(size_t bytes) { texts_.Evict(bytes); }
  /// Drops a document larger than the whole cache if it was not used since the last call.
  void Sweep() { texts_.SweepLatestLarge(); }

  static constexpr size_t kBytes = 64u << 20;

 private:
  LruCache<uint64_t, std::string> texts_{kBytes};  // keyed by number
};

/// Sets `newest` to `version` if `version` is later.
inline void TakeLater(Version& newest, const Version& version) {
  if (version.ctime_ns >= newest.ctime_ns) newest = version;
}

}  // namespace zarrfs
