// AssembledFiles: the versions of files that views make from whole arrays and groups.
//
// Each file has one current version: a change to a document or stored object of one of its arrays
// makes another version with a new inode, and readers of an older one get kStale. For that each
// NodeRecord counts the changes that the store reports below it. If the store reports none, an
// object may have changed unnoticed while the kernel has pages of it: then a name gets a new
// version once it has expired, and each chunk of these versions must be the store's current one
// when it is read. A version ends with the process. Thread-safe.
//
// Not a RevalidatingCache, although both decide whether something is current. The documents and
// layout of a file are in one (Hierarchy::Assemble()) and have its Freshness. A State holds no
// value: it is the identity of pages in the kernel.
// - It must stay as long as its inode can be read; a cache may evict it at any time.
// - The chunks of a version are not known when it is made: any of a million may be read an hour
//   later. Checking all of them would list the whole array, so each is checked when it is read: it
//   must not have changed since the version was first read (IsNewer()). A Freshness has one moment
//   at which everything was asked.
// - A replaced value is loaded again and nobody sees a difference; a replaced version is kStale.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/tree/nodes.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/hierarchy/assembled.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class AssembledFiles {
 public:
  struct State;  // the identity of a file's newest version
  struct Version {
    uint64_t number = 0;  // of this version, unique across processes
    AssembledPtr file;
    std::shared_ptr<State> state;
  };

  AssembledFiles(Nodes& nodes, const Timeouts& timeouts, const TreeOptions& options);

  /// The current version of a node's file for lookups. Fails like Hierarchy::Assemble().
  [[nodiscard]] Result<Version> Current(const CurrentNode& node, size_t view);
  /// The version of this number; kStale if it has ended.
  [[nodiscard]] Result<Version> Get(const NodeRecord& record, size_t view, uint64_t number);

  /// Fills `buffer` with bytes of a version from `offset` on, and returns their number, which is
  /// smaller only at the end. kStale if any source is newer than the version.
  [[nodiscard]] Result<size_t> Read(const Version& version, uint64_t offset,
                                    std::span<std::byte> buffer, ChunkReader& chunks);

  /// Whether bytes of the version may be cached as long as Get() finds it, because each change of
  /// its sources makes another version.
  [[nodiscard]] bool MayKeep(const Version& version) const;
  /// The bytes of a window, to be cached if MayKeep() still holds. Fails like Read(), or with
  /// kStale if they must not be cached.
  [[nodiscard]] Result<ChunkReader::Made> Assemble(const Version& version,
                                                   const AssembledWindow& window,
                                                   ChunkReader& chunks);

  /// Called when the store reports a change.
  void OnChange(const Changes& changes);

 private:
  using StatePtr = std::shared_ptr<State>;

  // Number of changes at or below the path, and of the path itself.
  [[nodiscard]] uint64_t ChangesAt(std::string_view path) const;
  // ChangesAt() for each array of a file.
  [[nodiscard]] Result<std::vector<uint64_t>> ChangesOf(const Assembled& file);
  [[nodiscard]] bool IsExpired(const State& state, const Assembled& file) const;
  void CountChange(NodeRecord& record);
  // Whether a chunk that is read now, or its absence, belongs to the version.
  Result<void> Check(const Version& version, const Node& array, InnerIndex chunk,
                     const Located& found) {
    return found.location ? CheckStored(version, array, found)
                          : CheckMissing(version, array, chunk, found);
  }
  Result<void> CheckStored(const Version& version, const Node& array, const Located& found);
  Result<void> CheckMissing(const Version& version, const Node& array, InnerIndex chunk,
                            const Located& found);
  // In a store that ChangesInSteps(): kStale if a step since then has changed a source of the
  // version.
  [[nodiscard]] Result<void> CheckStep(const Version& version);
  // Makes an answer about the object `key` part of the version.
  void Observe(State& state, std::string_view key, Validity validity);
  // Whether a source that changed at `ctime_ns` may have changed after something of the version was
  // read.
  [[nodiscard]] bool IsNewer(State& state, int64_t ctime_ns) const;
  // Handles a change of an array that the store has not reported yet.
  [[nodiscard]] tl::unexpected<Error> Stale(const State& state, const Node& array);

  Nodes& nodes_;
  const Timeouts& timeouts_;
  const bool is_for_others_;
  const bool immutable_;
  std::atomic<uint64_t> last_number_;
  std::atomic<uint64_t> counted_ = 0;            // changes of all nodes
  std::atomic<uint64_t> all_changes_ = 0;        // changes that concern everything
  std::atomic<uint64_t> step_ = 1;               // the latest step whose changes are counted
  mutable std::mutex mutex_;                     // guards the next
  std::unordered_map<NodeId, StatePtr> states_;  // by NodeRecord::DocumentId(view, 0, 0)
};

}  // namespace zarrfs
