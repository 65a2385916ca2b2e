// Documents that are made from several nodes: consolidated metadata, and attributes with dimension
// names or a coordinate system from other nodes. MadeTexts caches their bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {

/// A version of a document that is made from several nodes.
struct MadeDocument {
  uint64_t text_number = 0;  // identifies its bytes in MadeTexts
  uint64_t size = 0;         // in bytes
  Version version;           // the version of the source that changed last
  bool operator==(const MadeDocument&) const = default;
};

/// A consolidated document: the documents of a group and of all nodes below it, in one view.
struct Consolidated : MadeDocument {
  // Identifies the sources: the group, and the nodes below it that the view shows. Digests take
  // less memory than the nodes.
  std::vector<Digest> nodes;
  bool is_too_large = false;       // the document has too many nodes or bytes, so the view omits it
  std::vector<std::string> paths;  // the paths of the nodes in the document

  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

/// The dimension names of all arrays in the root group, in one view.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // by name
  /// The names that arrays share. Absent if they are unknown or too many nodes exist; every
  /// dimension name then includes the dimension's length.
  std::optional<SharedDimensions> names;
  Version newest;  // the version of the source that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // the duration of the last creation or revalidation
  mutable Freshness freshness;
};
using RootDimensionsPtr = std::shared_ptr<const RootDimensions>;

/// The paths of arrays whose attributes were made with attributes of other nodes. The kernel may
/// cache the names of these arrays' files until one of the other nodes changes. Thread-safe.
class PlacedArrays {
 public:
  /// Adds an array. False if the table is full and the array was not added.
  [[nodiscard]] bool Note(const std::string& path);
  [[nodiscard]] std::vector<std::string> Below(std::string_view folder) const;

 private:
  static constexpr size_t kMaxPaths = 4096;
  mutable Mutex mutex_;
  std::set<std::string, std::less<>> paths_ GUARDED_BY(mutex_);
};

/// True if somebody may read `more` but not `less`. If the owners differ, only a `less` that
/// everybody may read counts as readable.
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

  /// The bytes with number `number`. If they were evicted, `make` must make the document of the
  /// node at `path` again and return its number and bytes. kStale if the number has changed.
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
