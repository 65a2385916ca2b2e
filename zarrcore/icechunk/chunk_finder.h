// IcechunkChunkFinder: finds the references of chunks. The boxes of an array (IcechunkBox) name the
// manifests to search. Manifests are read on demand, and cached in packed form.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/manifest.h"
#include "zarrcore/icechunk/object_id.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Finds references. Thread-safe.
class IcechunkChunkFinder {
 public:
  explicit IcechunkChunkFinder(std::shared_ptr<const Store> container);

  struct Found {
    std::shared_ptr<const IcechunkManifest> manifest;
    IcechunkReference reference;  // its strings point into `manifest`
  };
  /// Returns the reference of the chunk at `coordinates`, one coordinate per dimension of `node`;
  /// nullopt if no manifest contains the chunk. kIo if a manifest is missing. Also returns the
  /// errors of IcechunkManifest::Parse().
  [[nodiscard]] Result<std::optional<Found>> Find(const IcechunkNode& node,
                                                  std::span<const uint32_t> coordinates) {
    return FindFirst(node, coordinates);
  }

  /// True if a chunk exists whose coordinates begin with `prefix`.
  [[nodiscard]] Result<bool> HasAny(const IcechunkNode& node, std::span<const uint32_t> prefix);

  /// The result of Next(): the sorted values of the coordinate that follows `prefix`, in all chunks
  /// whose coordinates begin with `prefix`.
  struct Coordinates {
    MemoryBudget::Share memory;
    std::vector<uint32_t> values;
  };
  [[nodiscard]] Result<Coordinates> Next(const IcechunkNode& node,
                                         std::span<const uint32_t> prefix);

  /// Calls `visit` with each reference of the array, at most `most` times. Returns the number of
  /// calls.
  using VisitReference = std::function<void(const IcechunkManifest&, const IcechunkReference&)>;
  [[nodiscard]] Result<size_t> Visit(const IcechunkNode& node, size_t most,
                                     const VisitReference& visit);

  /// Returns the coordinates of the chunks whose references differ between two commits of an array.
  /// Reads only the manifests that one commit has and the other lacks. nullopt if they have more
  /// than `most` references, or cannot be read.
  [[nodiscard]] std::optional<std::vector<std::vector<uint32_t>>> Differences(
      const IcechunkNode& before, const IcechunkNode& next, size_t most);

  /// Evicts the one cached manifest larger than kManifestBytes, if no such manifest was used since
  /// the last call. Call about once a minute.
  void Sweep() { manifests_.SweepLatestLarge(); }

 private:
  struct HashOfId {
    size_t operator()(const IcechunkId& id) const;
  };
  using ManifestPtr = std::shared_ptr<const IcechunkManifest>;

  [[nodiscard]] Result<ManifestPtr> Manifest(const IcechunkId& id);
  // Finds any chunk whose coordinates begin with `prefix`.
  [[nodiscard]] Result<std::optional<Found>> FindFirst(const IcechunkNode& node,
                                                       std::span<const uint32_t> prefix);
  // Returns the rows of the array `node` in a manifest. kDamaged if the rows do not have as many
  // coordinates as `node` has dimensions.
  [[nodiscard]] static Result<IcechunkManifest::Rows> RowsOf(const IcechunkManifest& manifest,
                                                             const IcechunkNode& node);

  const std::shared_ptr<const Store> container_;
  LruCache<IcechunkId, IcechunkManifest, HashOfId> manifests_;
  const MemoryBudget::Holder holder_;
};

}  // namespace zarrfs
