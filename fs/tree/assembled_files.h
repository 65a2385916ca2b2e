// AssembledFiles: tracks the versions of assembled files, which are files that a view makes from
// whole arrays or groups.
//
// Each file has one current version. When a metadata document or a stored object of one of its
// arrays changes, the file gets a new version with a new inode, and reads of the older version fail
// with kStale. To detect changes, each NodeRecord counts the changes that the store reports below
// its path. If the store does not report changes, an object may change unnoticed while the kernel
// has cached pages of the file. In this case, the first lookup after the cached name has expired
// makes a new version, and each chunk that is read for a version must be the store's current one.
// Versions end with the process. Thread-safe.
//
// This class is not a RevalidatingCache, although both decide whether something is current. The
// documents and layout of a file are in a RevalidatingCache (WholeFiles::Assemble()) and have its
// Freshness. A State holds no value. It identifies pages of the file in the kernel's page cache:
// - A State must exist while its inode can be read, whereas a cache may evict its values at any
//   time.
// - The chunks of a version are not known when the version is made: any of a million chunks may be
//   read an hour later, and checking all of them would mean listing the whole array. So each chunk
//   is checked when it is read: it must not have changed since the version was first read
//   (IsNewer()). A Freshness instead assumes that all answers were obtained at one moment.
// - Replacing a cached value has no effect on readers, because the value is loaded again. Replacing
//   a version makes reads of the old version fail with kStale.
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
  struct State;  // identifies the newest version of a file
  struct Version {
    uint64_t number = 0;  // the number of this version, unique across processes
    AssembledPtr file;
    std::shared_ptr<State> state;
  };

  AssembledFiles(Nodes& nodes, const Timeouts& timeouts, const TreeOptions& options);

  /// Returns the current version of the assembled file of `node` in a view, for lookups. Returns
  /// the errors of WholeFiles::Assemble().
  [[nodiscard]] Result<Version> Current(const CurrentNode& node, size_t view);
  /// Returns the version with this number; kStale if it is no longer current.
  [[nodiscard]] Result<Version> Get(const NodeRecord& record, size_t view, uint64_t number);

  /// Reads bytes of a version from `offset` on into `buffer`. Returns the number of bytes, which is
  /// smaller than the buffer only at the end of the file. Fails with kStale if a source of the file
  /// is newer than the version.
  [[nodiscard]] Result<size_t> Read(const Version& version, uint64_t offset,
                                    std::span<std::byte> buffer, ChunkReader& chunks);

  /// True if bytes of `version` may be cached. Every change of the file's sources then makes a new
  /// version, and Get() no longer finds the old one.
  [[nodiscard]] bool MayKeep(const Version& version) const;
  /// Assembles a window, a range of the file whose bytes are read together. The bytes may be cached
  /// while MayKeep() is true. Returns the errors of Read(), and kStale if the bytes must not be
  /// cached.
  [[nodiscard]] Result<ChunkReader::Made> Assemble(const Version& version,
                                                   const AssembledWindow& window,
                                                   ChunkReader& chunks);

  /// Counts the changes that the store reports.
  void OnChange(const Changes& changes);

 private:
  using StatePtr = std::shared_ptr<State>;

  // Returns the change counter of `path`: the number of changes counted for `path`, for the folders
  // above it, and for the whole store.
  [[nodiscard]] uint64_t ChangesAt(std::string_view path) const;
  // Returns the change counter (see ChangesAt()) of each array that `file` is assembled from, in
  // order.
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
  // Fails with kStale if the store ChangesInSteps() and a source of `version` has changed since the
  // version was made.
  [[nodiscard]] Result<void> CheckStep(const Version& version);
  // Notes that `version` depends on the object `key`: watches the object's folder, and sets
  // `is_polled` if changes of the object may go unreported.
  void Observe(State& state, std::string_view key, Validity validity);
  // True if an object that changed at `ctime_ns` may have changed after chunks of the version were
  // first read.
  [[nodiscard]] bool IsNewer(State& state, int64_t ctime_ns) const;
  // Counts a change of `array` that was noticed before the store reported it, and returns kStale.
  [[nodiscard]] tl::unexpected<Error> Stale(const State& state, const Node& array);

  Nodes& nodes_;
  const Timeouts& timeouts_;
  const bool is_for_others_;
  const bool immutable_;
  std::atomic<uint64_t> last_number_;
  std::atomic<uint64_t> counted_ = 0;      // the number of all changes counted so far
  std::atomic<uint64_t> all_changes_ = 0;  // the number of changes that affect the whole store
  // If the store ChangesInSteps(): the change_count() up to which OnChange() has counted changes.
  std::atomic<uint64_t> step_ = 1;
  mutable Mutex mutex_;
  std::unordered_map<NodeId, StatePtr> states_
      GUARDED_BY(mutex_);  // by NodeRecord::DocumentId(view, 0, 0)
};

}  // namespace zarrfs
