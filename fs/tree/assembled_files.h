// AssembledFiles: tracks the versions of files that views assemble from whole arrays and groups.
//
// Each file has one current version. A change to a document or stored object of one of its arrays
// makes a new version with a new inode, and reads of an older version fail with kStale. To detect
// changes, each NodeRecord counts the changes that the store reports below it. If the store does
// not report changes, an object may have changed unnoticed while the kernel has pages of the file.
// Then the first lookup after a name has expired makes a new version, and each chunk that is read
// for a version must be the store's current one. Versions end with the process. Thread-safe.
//
// This is not a RevalidatingCache, although both decide whether something is current. The documents
// and layout of a file are in a RevalidatingCache (WholeFiles::Assemble()) and have its Freshness.
// A State holds no value; it identifies pages in the page cache:
// - A State must exist while its inode can be read; a cache may evict its values at any time.
// - The chunks of a version are not known when the version is made: any of a million chunks may be
//   read an hour later, and checking all of them would list the whole array. So each chunk is
//   checked when it is read: it must not have changed since the version was first read (IsNewer()).
//   A Freshness assumes one moment at which all answers were obtained.
// - Replacing a cached value has no effect on readers, because the value is loaded again. Reads of
//   a replaced version fail with kStale.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/tree/nodes.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/hierarchy/assembled.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class AssembledFiles {
 public:
  struct State;  // the identity of a file's newest version
  struct Version {
    uint64_t number = 0;  // the number of this version, unique across processes
    AssembledPtr file;
    std::shared_ptr<State> state;
  };

  AssembledFiles(Nodes& nodes, const Timeouts& timeouts, const TreeOptions& options);

  /// Returns the current version of a node's file, for lookups. Fails like WholeFiles::Assemble().
  [[nodiscard]] Result<Version> Current(const CurrentNode& node, size_t view);
  /// Returns the version with this number; kStale if it is no longer current.
  [[nodiscard]] Result<Version> Get(const NodeRecord& record, size_t view, uint64_t number);

  /// Reads bytes of a version from `offset` on into `buffer`. Returns the number of bytes, which is
  /// smaller than the buffer only at the end of the file. Fails with kStale if a source of the file
  /// is newer than the version.
  [[nodiscard]] Result<size_t> Read(const Version& version, uint64_t offset,
                                    std::span<std::byte> buffer, ChunkReader& chunks);

  /// True if bytes of `version` may be cached until Get() no longer finds the version, because
  /// every change to the file's sources makes a new version.
  [[nodiscard]] bool MayKeep(const Version& version) const;
  /// Returns the bytes of a window, which may be cached while MayKeep() is true. Fails like Read(),
  /// and with kStale if the bytes must not be cached.
  [[nodiscard]] Result<ChunkReader::Made> Assemble(const Version& version,
                                                   const AssembledWindow& window,
                                                   ChunkReader& chunks);

  /// Counts the changes that the store reports.
  void OnChange(const Changes& changes);

 private:
  using StatePtr = std::shared_ptr<State>;

  // Returns the number of changes counted for `path`, for the folders above it, and for the whole
  // store.
  [[nodiscard]] uint64_t ChangesAt(std::string_view path) const;
  // ChangesAt() for each array of a file.
  [[nodiscard]] Result<std::vector<uint64_t>> ChangesOf(const Assembled& file);
  [[nodiscard]] bool IsExpired(const State& state, const Assembled& file) const;
  void CountChange(NodeRecord& record);
  // Checks that a chunk that was just read or found missing belongs to `version` of its file.
  Result<void> Check(const Version& version, const Node& array, InnerIndex chunk,
                     const Located& found) {
    return found.location ? CheckStored(version, array, found)
                          : CheckMissing(version, array, chunk, found);
  }
  Result<void> CheckStored(const Version& version, const Node& array, const Located& found);
  Result<void> CheckMissing(const Version& version, const Node& array, InnerIndex chunk,
                            const Located& found);
  // Fails with kStale if the store ChangesInSteps() and a later step has changed a source of
  // `version`.
  [[nodiscard]] Result<void> CheckStep(const Version& version);
  // Records that the version depends on the object `key`. Sets `is_polled` if changes of the object
  // may go unreported.
  void Observe(State& state, std::string_view key, Validity validity);
  // True if a source that changed at `ctime_ns` may have changed after a part of the version was
  // read.
  [[nodiscard]] bool IsNewer(State& state, int64_t ctime_ns) const;
  // Counts a change of an array that the store has not reported yet, and returns kStale.
  [[nodiscard]] tl::unexpected<Error> Stale(const State& state, const Node& array);

  Nodes& nodes_;
  const Timeouts& timeouts_;
  const bool is_for_others_;
  const bool immutable_;
  std::atomic<uint64_t> last_number_;
  std::atomic<uint64_t> counted_ = 0;      // the number of changes of all nodes
  std::atomic<uint64_t> all_changes_ = 0;  // the number of changes that affect everything
  std::atomic<uint64_t> step_ = 1;         // the latest step whose changes are counted
  mutable Mutex mutex_;
  std::unordered_map<NodeId, StatePtr> states_
      GUARDED_BY(mutex_);  // by NodeRecord::DocumentId(view, 0, 0)
};

}  // namespace zarrfs
