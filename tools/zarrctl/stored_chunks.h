// Counts the stored parts of an array in bounded time: for `info`, which reads no chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/hierarchy.h"

namespace zarrfs::ctl {

struct StoredChunks {
  uint64_t count = 0;         // of innermost chunks
  bool is_complete = true;    // otherwise all numbers are lower bounds
  uint64_t bytes = 0;         // of the stored objects, if asked for
  bool has_all_sizes = true;  // else `bytes` is of the first ones
  uint64_t problem_count = 0;
  /// Unusable objects, by key: the first ones.
  std::vector<std::pair<std::string, Error>> problems;
};

struct StoredChunksOptions {
  /// Counts the chunks of shards too, which reads their indexes; otherwise they are not counted.
  bool read_indexes = false;
  bool add_sizes = false;              // of the stored objects: one request each
  std::function<bool()> is_over = {};  // ends it early, with the results so far
};

/// Lists the stored objects of an array of `store` whose `chunks` are not null.
[[nodiscard]] StoredChunks FindStoredChunks(const Store& store, const Node& array,
                                            const StoredChunksOptions& options);

/// Whether view number `view` makes files for missing chunks even if it is mounted with fill=keep.
/// `array`: as above, and shown in the view.
[[nodiscard]] bool MakesFillChunksAnyway(const Node& array, size_t view);

}  // namespace zarrfs::ctl
