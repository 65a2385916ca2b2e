// ArrayPlan: what `zarrctl pack` writes for one array: its zarr.json and its shards. The plan is
// made from the metadata alone.
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
  bool keep_codecs = false;  // keep even codecs that few v3 readers support
  uint64_t shard_size = 0;   // the maximum decoded size of a shard, in bytes
  // If not empty, replaces `shard_size` for arrays that have this many axes.
  std::vector<uint64_t> chunks_per_shard;
};

/// The plan for one array. A *piece* is one stored object of the source, which is copied as a
/// whole: a chunk, or a shard if the source is already sharded.
struct ArrayPlan {
  NodePtr node;
  std::string document;                     // the new zarr.json
  std::vector<uint64_t> pieces_per_object;  // per axis of a new object; all 1 if it is one piece
  bool has_index = false;                   // true if each object gets a new index after its pieces
  ChunkGrid objects;                        // the grid of the stored objects of the new array
  ChunkNaming naming;                       // the names of these objects
  /// The codecs with which each piece is encoded again; nullopt if pieces are copied unchanged.
  std::optional<std::vector<CodecSpec>> recoded;
  std::string what;  // a description such as "12 chunks a shard, copied"

  [[nodiscard]] const ChunkGrid& pieces() const { return node->chunks->layout().outer_grid; }
};

/// Makes the plan for `array`, whose `chunks` must not be null. Fails with kUnsupported, and the
/// reason, if the array cannot be packed.
[[nodiscard]] Result<ArrayPlan> PlanArray(const NodePtr& array, const PackSettings& settings);

}  // namespace zarrfs::ctl
