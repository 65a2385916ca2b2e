// AssembledFiles: the versions of files that views make of whole arrays and groups.
//
// One version a file: a change of one of its arrays' documents or stored objects is another
// version, a new inode, and whoever has an older one open gets kStale. For that each NodeRecord
// counts the changes that the store reports below it. Where the store reports none, nobody knows
// whether an object has changed that the kernel has pages of: then a name leads to a new version
// once it has expired, and each chunk of any of these versions is that of the store when it is
// read. A version lasts no longer than the process. Thread-safe.
//
// Not a RevalidatingCache, although both say whether something is current. What a file is made of,
// its documents and layout, is in one (Hierarchy::Assemble()) and has its Freshness. A State holds
// no value: it is the identity of pages that the kernel has.
// - It must stay for as long as its inode can be read; a cache may evict it at any time.
// - The chunks that a version depends on are not known when it is made: any of a million may be
//   read an hour later. Checking all of them would read the whole array's listing, so each is
//   checked when it is read: it must not have changed since the version was first read (IsNewer()).
//   A Freshness has one moment at which everything was asked.
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
  struct State;  // what the newest version of a file is known by
  struct Version {
    uint64_t number = 0;  // of this version among all, of all processes
    AssembledPtr file;
    std::shared_ptr<State> state;
  };

  AssembledFiles(Nodes& nodes, const Timeouts& timeouts, const TreeOptions& options);

  /// The version of a node's file that its name stands for now. Fails as Hierarchy::Assemble().
  [[nodiscard]] Result<Version> Current(const CurrentNode& node, size_t view);
  /// The version of this number; kStale if it is gone.
  [[nodiscard]] Result<Version> Get(const NodeRecord& record, size_t view, uint64_t number);

  /// Fills `buffer` with bytes of a version from `offset` on, and returns how many: fewer only at
  /// the end. kStale if something is found to be newer than the version.
  [[nodiscard]] Result<size_t> Read(const Version& version, uint64_t offset,
                                    std::span<std::byte> buffer, ChunkReader& chunks);

  /// Whether bytes of the version that were read once stay right for as long as Get() finds it:
  /// each change of what they are made of is another version.
  [[nodiscard]] bool MayKeep(const Version& version) const;
  /// The bytes of a window, to be kept where MayKeep() still says so. Fails as Read() does, or with
  /// kStale if they must not be kept.
  [[nodiscard]] Result<ChunkReader::Made> Assemble(const Version& version,
                                                   const AssembledWindow& window,
                                                   ChunkReader& chunks);

  /// The store reports a change.
  void OnChange(const Changes& changes);

 private:
  using StatePtr = std::shared_ptr<State>;

  // How often what lies at the path, or the path itself, has changed.
  [[nodiscard]] uint64_t ChangesAt(std::string_view path) const;
  // The same of each array of a file.
  [[nodiscard]] Result<std::vector<uint64_t>> ChangesOf(const Assembled& file);
  [[nodiscard]] bool IsExpired(const State& state, const Assembled& file) const;
  void CountChange(NodeRecord& record);
  // Whether a chunk that is read now, or that there is none, belongs to the version.
  Result<void> Check(const Version& version, const Node& array, InnerIndex chunk,
                     const Located& found) {
    return found.location ? CheckStored(version, array, found)
                          : CheckMissing(version, array, chunk, found);
  }
  Result<void> CheckStored(const Version& version, const Node& array, const Located& found);
  Result<void> CheckMissing(const Version& version, const Node& array, InnerIndex chunk,
                            const Located& found);
  // Of a store that ChangesInSteps(): kStale if a step since then has changed what the version is
  // made of.
  [[nodiscard]] Result<void> CheckStep(const Version& version);
  // An answer about the object `key`, which becomes part of the version.
  void Observe(State& state, std::string_view key, Validity validity);
  // Whether what changed at `ctime_ns` may have changed after something of the version was read.
  [[nodiscard]] bool IsNewer(State& state, int64_t ctime_ns) const;
  // An array has changed, which the store has not reported yet.
  [[nodiscard]] tl::unexpected<Error> Stale(const State& state, const Node& array);

  Nodes& nodes_;
  const Timeouts& timeouts_;
  const bool is_for_others_;
  const bool immutable_;
  std::atomic<uint64_t> last_number_;
  std::atomic<uint64_t> counted_ = 0;            // changes of any node
  std::atomic<uint64_t> all_changes_ = 0;        // of them, those that concern everything
  std::atomic<uint64_t> step_ = 1;               // the last step whose changes are counted
  mutable std::mutex mutex_;                     // guards the next
  std::unordered_map<NodeId, StatePtr> states_;  // by NodeRecord::DocumentId(view, 0, 0)
};

}  // namespace zarrfs
