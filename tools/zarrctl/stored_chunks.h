// Counts the stored objects and chunks of an array in limited time, for `info`, which reads no
// chunks.
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
  uint64_t count = 0;         // the number of chunks found; in shards, only with read_indexes
  bool is_complete = true;    // if false, all numbers are lower bounds
  uint64_t bytes = 0;         // the size of the stored objects; only with add_sizes
  bool has_all_sizes = true;  // false if the sizes of some objects are missing in `bytes`
  uint64_t problem_count = 0;
  /// The first objects that cannot be used, with their keys.
  std::vector<std::pair<std::string, Error>> problems;
};

struct StoredChunksOptions {
  /// If true, reads the indexes of shards, to count the chunks in them.
  bool read_indexes = false;
  // If true, requests the sizes of stored objects. This takes one request per object.
  bool add_sizes = false;
  // Once this function returns true, the search ends early, with the results so far.
  std::function<bool()> is_over = {};
};

/// Lists the stored objects of an array of `store`, whose `chunks` must not be null.
[[nodiscard]] StoredChunks FindStoredChunks(const Store& store, const Node& array,
                                            const StoredChunksOptions& options);

/// True if view number `view` makes files for missing chunks even if it is mounted with fill=keep.
/// The view must show `array`, whose `chunks` must not be null.
[[nodiscard]] bool MakesFillChunksAnyway(const Node& array, size_t view);

}  // namespace zarrfs::ctl
