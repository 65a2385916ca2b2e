// AssembledReader: returns the bytes of assembled files, for random and sequential readers.
//
// Random reads are assembled from cached chunks. Sequential reads are served from windows
// (hierarchy/assembled.h). A window is assembled as a whole, in the file's encoding, and is cached
// instead of its chunks. While one window is read, a thread of this class assembles the next one,
// if the store is fast and both windows fit into the cache. Windows are cached only if every change
// of the store would make a new version of the file. A window that was evicted before it was read
// is not assembled again; its bytes are read from chunks. Thread-safe.
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
  /// Records a read of a version of a file, and returns its reader.
  [[nodiscard]] Reader OnRead(uint64_t version, uint64_t offset, uint64_t size);

  enum class State { kNew, kUnderWay, kMade, kFailed };
  /// Returns the state of the window at `offset`. A new window becomes kUnderWay; a window that the
  /// reader has passed is kFailed.
  [[nodiscard]] State Begin(uint64_t reader, uint64_t offset);
  /// Sets the state of a window that was under way.
  void End(uint64_t reader, uint64_t offset, bool is_made);
  /// Records that the reader has passed everything before `offset`. Returns the offsets of the
  /// windows before `offset` that did not fail, which can be dropped.
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
  /// `is_fast` is true if the store answers fast. For slow stores, FetchAhead reads ahead instead.
  AssembledReader(AssembledFiles& files, ChunkReader& chunks, bool is_fast)
      : files_(files), chunks_(chunks), is_fast_(is_fast) {}
  /// Aborts the assembly in progress, and joins its thread, which takes little time.
  ~AssembledReader();
  AssembledReader(const AssembledReader&) = delete;
  AssembledReader& operator=(const AssembledReader&) = delete;

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // owns `bytes`; null if `bytes` is in the caller's buffer
  };
  /// Returns bytes of a version from `offset` on: as many as fit in `buffer`, fewer only at the end
  /// of the file. Fails like AssembledFiles::Read().
  [[nodiscard]] Result<Piece> Read(const AssembledFiles::Version& version, uint64_t offset,
                                   std::span<std::byte> buffer);

 private:
  using Version = AssembledFiles::Version;
  using Reader = SequentialReaders::Reader;

  // Returns the bytes of a window; null if they must be assembled from chunks.
  Result<std::shared_ptr<const Bytes>> Get(const Version& version, const Reader& reader,
                                           const AssembledWindow& window);
  Result<std::shared_ptr<const Bytes>> Make(const Version& version, uint64_t reader,
                                            const AssembledWindow& window);
  // Queues the assembly of the next window. The reader is at `offset`, in `window`.
  void MakeNext(const Version& version, uint64_t reader, const AssembledWindow& window,
                uint64_t offset);
  // Drops the windows that end before `offset`, which the reader no longer needs.
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
