// The output of `zarrctl pack` for each array: its zarr.json and its shards. Made from the metadata
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs::ctl {

struct PackSettings {
  bool keep_codecs = false;                // also those that few readers of v3 know
  uint64_t shard_size = 0;                 // of the decoded chunks of a shard, in bytes, at most
  std::vector<uint64_t> chunks_per_shard;  // instead, for arrays of as many axes; empty: none
};

/// A *piece* is one stored object of the source, which is copied whole: a chunk, or, in an array
/// that already has shards, a shard.
struct ArrayPlan {
  NodePtr node;
  std::string document;                     // the new zarr.json
  std::vector<uint64_t> pieces_per_object;  // along each axis; all 1: there is nothing to put
                                            // together, and an object is a piece
  bool has_index = false;                   // objects are made into shards
  ChunkGrid objects;                        // in the new array
  ChunkNaming naming;                       // of these
  /// The codecs of a piece if it must be encoded anew; otherwise it is copied unchanged.
  std::optional<std::vector<CodecSpec>> recoded;
  std::string what;  // "12 chunks a shard, copied": for people

  [[nodiscard]] const ChunkGrid& pieces() const { return node->chunks->layout().outer_grid; }
};

/// `array`: its chunks are not null. kUnsupported with the reason if it cannot be packed.
[[nodiscard]] Result<ArrayPlan> PlanArray(const NodePtr& array, const PackSettings& settings);

}  // namespace zarrfs::ctl
