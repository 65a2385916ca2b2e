// Documents that are made from several nodes: consolidated metadata, and attributes that name
// dimensions as the node's siblings do, or a coordinate system that another node has. MadeTexts
// keeps their bytes.
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

/// A document that is made from several nodes.
struct MadeDocument {
  uint64_t text_number = 0;  // of its bytes, in MadeTexts
  uint64_t size = 0;         // in bytes
  Version version;           // of what it is made from, the version that changed last
  bool operator==(const MadeDocument&) const = default;
};

/// What one view says in one document of a group and all nodes below it, as of now.
struct Consolidated : MadeDocument {
  // What it is made from: the group, and those nodes below that the view shows. (Digests,
  // because thousands of nodes would be kept in memory.)
  std::vector<Digest> nodes;
  bool is_too_large = false;       // too many nodes, or bytes: the view has no such document
  std::vector<std::string> paths;  // of the nodes in it

  mutable Freshness freshness;
};
using ConsolidatedPtr = std::shared_ptr<const Consolidated>;

/// What the dimensions of the arrays in the root group are called in one view, as of now.
struct RootDimensions {
  std::vector<ArrayDimensions> arrays;  // by name
  /// Absent if they are not known, or of too many nodes: every name then carries its length.
  std::optional<SharedDimensions> names;
  Version newest;  // of what it is made from, the version that changed last

  mutable std::atomic<int64_t> take_ns = 0;  // how long making or revalidating it took last
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

/// Whether somebody who may read `more` may not read `less`. Where they have different owners, only
/// what is open to everybody counts.
[[nodiscard]] bool IsLessOpen(const ObjectInfo& less, const ObjectInfo& more);

/// Their bytes, which may be evicted at any time. The number of a text is the beginning of its
/// digest, so it is the same in every process. Thread-safe.
class MadeTexts {
 public:
  using Text = std::shared_ptr<const std::string>;

  /// Keeps the bytes of a document, and sets its text_number and size. Returns them: who needs
  /// those that are too many to be kept has to hold them. `memory`: that they were made in.
  Text Keep(std::string text, MadeDocument& document, MemoryBudget::Share memory);

  /// The bytes of this number. If they have been forgotten, `make` makes the document of the node
  /// at `path` again, and returns its number and bytes; kStale if that is another one now.
  [[nodiscard]] Result<Text> Get(uint64_t number, std::string_view path,
                                 const std::function<Result<uint64_t>(Text& text)>& make);

  /// Memory is short: forgets texts of `bytes`, or all there are.
  void GiveUp(size_t bytes) { texts_.GiveUp(bytes); }

 private:
  static constexpr size_t kBytes = 64u << 20;
  LruCache<uint64_t, std::string> texts_{kBytes};  // by number
};

/// Keeps the version that changed last.
inline void TakeLater(Version& newest, const Version& version) {
  if (version.ctime_ns >= newest.ctime_ns) newest = version;
}

}  // namespace zarrfs
