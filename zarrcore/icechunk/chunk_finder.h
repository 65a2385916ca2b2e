// Finds the references of chunks: from an array's boxes to the manifests that they name, which are
// read when they are needed and kept packed.
#pragma once

#include <cstdint>
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

/// Thread-safe.
class IcechunkChunkFinder {
 public:
  explicit IcechunkChunkFinder(std::shared_ptr<const Store> container);

  struct Found {
    std::shared_ptr<const IcechunkManifest> manifest;
    IcechunkReference reference;  // points into it
  };
  /// The reference of the chunk at `coordinates`, as many as `node` has dimensions; nullopt if no
  /// manifest names it. kIo if a manifest is missing, otherwise fails like
  /// IcechunkManifest::Parse().
  [[nodiscard]] Result<std::optional<Found>> Find(const IcechunkNode& node,
                                                  std::span<const uint32_t> coordinates) {
    return FindFirst(node, coordinates);
  }

  /// Whether there is a chunk whose coordinates begin with `prefix`.
  [[nodiscard]] Result<bool> HasAny(const IcechunkNode& node, std::span<const uint32_t> prefix);

  /// Which coordinates follow `prefix`, sorted.
  struct Coordinates {
    MemoryBudget::Share memory;
    std::vector<uint32_t> values;
  };
  [[nodiscard]] Result<Coordinates> Next(const IcechunkNode& node,
                                         std::span<const uint32_t> prefix);

  /// Coordinates of chunks whose references differ between two commits of an array, in manifests
  /// that one of the two does not have. nullopt if these have more than `most` references, or
  /// cannot be read.
  [[nodiscard]] std::optional<std::vector<std::vector<uint32_t>>> Differences(
      const IcechunkNode& before, const IcechunkNode& next, size_t most);

  /// Call every minute or so: releases the latest large manifest if it was not used since.
  void Sweep() { manifests_.SweepLatestLarge(); }

 private:
  struct HashOfId {
    size_t operator()(const IcechunkId& id) const;
  };
  using ManifestPtr = std::shared_ptr<const IcechunkManifest>;

  [[nodiscard]] Result<ManifestPtr> Manifest(const IcechunkId& id);
  // A chunk whose coordinates begin with `prefix`.
  [[nodiscard]] Result<std::optional<Found>> FindFirst(const IcechunkNode& node,
                                                       std::span<const uint32_t> prefix);
  // The rows of `node` in a manifest; kDamaged if they are of another rank.
  [[nodiscard]] static Result<IcechunkManifest::Rows> RowsOf(const IcechunkManifest& manifest,
                                                             const IcechunkNode& node);

  const std::shared_ptr<const Store> container_;
  LruCache<IcechunkId, IcechunkManifest, HashOfId> manifests_;
  const MemoryBudget::Holder holder_;
};

}  // namespace zarrfs
