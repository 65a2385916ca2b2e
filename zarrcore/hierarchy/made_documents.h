// Documents made from several nodes: consolidated metadata, and attributes with dimension names
// that depend on siblings, or with another node's coordinate system. MadeTexts caches their bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {

/// A document made from several nodes.
struct MadeDocument {
  uint64_t text_number = 0;  // of its bytes, in MadeTexts
  uint64_t size = 0;         // in bytes
  Version version;           // of its sources: the version that changed last
  bool operator==(const MadeDocument&) const = default;
};

/// The document of a group and all nodes below it in one view, in its current version.
struct Consolidated : MadeDocument {
  // Its sources: the group, and the nodes below that the view shows. Digests, because the nodes
  // themselves would take too much memory.
  std::vector<Digest> nodes;
  bool is_too_large = false;       // too many nodes, or bytes: the view omits the document
  std::vector<std::string> paths;  // of the nodes in it

  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

/// The current names of the dimensions of the arrays in the root group, in one view.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // by name
  /// Absent if unknown, or made from too many nodes: then every name carries its length.
  std::optional<SharedDimensions> names;
  Version newest;  // of its sources: the version that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // how long making or revalidating it last took
  mutable Freshness freshness;
};
using RootDimensionsPtr = std::shared_ptr<const RootDimensions>;

/// Arrays whose attributes were made with those of other nodes, by path: the kernel may keep the
/// names of these files until such a node changes. Thread-safe.
class PlacedArrays {
 public:
  /// False if there are too many: the array is not noted.
  [[nodiscard]] bool Note(const std::string& path);
  [[nodiscard]] std::vector<std::string> Below(std::string_view folder) const;

 private:
  static constexpr size_t kMost = 4096;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> paths_;
};

/// Whether somebody who may read `more` may not read `less`. If they have different owners, only
/// the rights of everybody count.
[[nodiscard]] bool IsLessOpen(const ObjectInfo& less, const ObjectInfo& more);

/// The bytes of documents, which may be evicted at any time. The number of a text is the beginning
/// of its digest, so it is the same in every process. Thread-safe.
class MadeTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// Caches the bytes of a document, and sets its text_number and size. Returns the bytes: a text
  /// too large for the cache lives as long as the caller holds it. `memory`: of the text.
  Text Keep(std::string text, MadeDocument& document, MemoryBudget::Share memory);

  /// The bytes of this number. If they were evicted, `make` makes the document of the node at
  /// `path` again, and returns its number and bytes; kStale if the number has changed.
  [[nodiscard]] Result<Text> Get(uint64_t number, std::string_view path,
                                 const std::function<Result<uint64_t>(Text& text)>& make);

  /// Memory is short: evicts texts of `bytes`, or all texts.
  void GiveUp(size_t bytes) { texts_.GiveUp(bytes); }

 private:
  static constexpr size_t kBytes = 64u << 20;
  LruCache<uint64_t, std::string> texts_{kBytes};  // by number
};

/// Sets `newest` to the later version.
inline void TakeLater(Version& newest, const Version& version) {
  if (version.ctime_ns >= newest.ctime_ns) newest = version;
}

}  // namespace zarrfs
