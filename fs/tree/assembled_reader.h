// AssembledReader: returns the bytes of assembled files, for random and sequential readers.
//
// Random reads are assembled from cached chunks. Sequential reads are served from windows, which
// are larger ranges of the file (hierarchy/assembled.h). A window is assembled as a whole, in the
// file's encoding, and is cached instead of its chunks. While one window is read, a thread of this
// class assembles the next one, if the store is fast and both windows fit into the cache. Windows
// are cached only if every change of the store would make a new version of the file. A window that
// was evicted before it was read is not assembled again; its bytes are read from chunks.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "fs/tree/assembled_files.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/content/chunk_reader.h"

namespace zarrfs {

/// Tracks the sequential readers of files, their positions, and the state of their windows.
/// Thread-safe.
class SequentialReaders {
 public:
  struct Reader {
    uint64_t id = 0;
    uint64_t run = 0;  // the number of bytes read in order so far
  };
  /// Records a read of a version of a file. Returns the sequential reader to which the read
  /// belongs.
  [[nodiscard]] Reader OnRead(uint64_t version, uint64_t offset, uint64_t size);

  enum class State { kNew, kUnderWay, kMade, kFailed };
  /// Returns the state of the window at `offset`. A new window becomes kUnderWay, and the caller
  /// must assemble it. The state is kFailed if the reader has passed the window or is no longer
  /// tracked.
  [[nodiscard]] State Begin(uint64_t reader, uint64_t offset);
  /// Sets the state of a window whose assembly has ended: kMade or kFailed.
  void End(uint64_t reader, uint64_t offset, bool is_made);
  /// Records that the reader has passed everything before `offset`. Returns the offsets of the
  /// windows before `offset`, except those that could not be assembled. The caller can drop these
  /// windows from the cache.
  [[nodiscard]] std::vector<uint64_t> Pass(uint64_t reader, uint64_t offset);

 private:
  struct Stream {
    uint64_t id = 0;
    uint64_t version = 0;
    uint64_t end = 0;
    uint64_t run = 0;
    uint64_t passed = 0;
    std::map<uint64_t, State> windows{};  // by offset
  };
  Stream* Find(uint64_t reader) REQUIRES(mutex_);

  Mutex mutex_;
  std::deque<Stream> streams_ GUARDED_BY(mutex_);  // the most recently active reader is first
  uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

class AssembledReader {
 public:
  /// `is_fast`: the store answers fast, so the next window is assembled while one is read. For slow
  /// stores, FetchAhead reads ahead instead.
  AssembledReader(AssembledFiles& files, ChunkReader& chunks, bool is_fast)
      : files_(files), chunks_(chunks), is_fast_(is_fast) {}
  /// Aborts the assembly in progress and joins the thread that assembles windows. This takes little
  /// time.
  ~AssembledReader();
  AssembledReader(const AssembledReader&) = delete;
  AssembledReader& operator=(const AssembledReader&) = delete;

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // owns `bytes`; null if `bytes` is in the caller's buffer
  };
  /// Returns bytes of a version from `offset` on: as many as fit in `buffer`, fewer only at the end
  /// of the file. Returns the errors of AssembledFiles::Read().
  [[nodiscard]] Result<Piece> Read(const AssembledFiles::Version& version, uint64_t offset,
                                   std::span<std::byte> buffer);

 private:
  using Version = AssembledFiles::Version;
  using Reader = SequentialReaders::Reader;

  // Returns the bytes of a window. Null if the caller must read them from chunks instead.
  Result<std::shared_ptr<const Bytes>> Get(const Version& version, const Reader& reader,
                                           const AssembledWindow& window);
  Result<std::shared_ptr<const Bytes>> Make(const Version& version, uint64_t reader,
                                            const AssembledWindow& window);
  // Queues the assembly of the window that follows `window`. The reader is at `offset`, in
  // `window`.
  void MakeNext(const Version& version, uint64_t reader, const AssembledWindow& window,
                uint64_t offset);
  // Drops cached windows that end before `offset`, because `reader` has passed them.
  void DropBefore(const Version& version, uint64_t reader, uint64_t offset);
  [[nodiscard]] std::optional<AssembledWindow> WindowAt(const Version& version,
                                                        uint64_t offset) const;
  [[nodiscard]] static ChunkReader::Window KeyOf(const Version& version,
                                                 const AssembledWindow& window);
  void Work();

  AssembledFiles& files_;
  ChunkReader& chunks_;
  const bool is_fast_;
  SequentialReaders readers_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  std::thread thread_ GUARDED_BY(mutex_);
  std::atomic<bool> is_over_ = false;
};

}  // namespace zarrfs
