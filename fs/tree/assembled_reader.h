// AssembledReader: the bytes of assembled files, for random and sequential readers.
//
// Random reads are assembled from the chunks they touch, which are cached. Sequential reads are
// served from windows (hierarchy/assembled.h): each is assembled at once, in the file's encoding,
// and cached in place of its chunks; while one is read, the next one is assembled on a thread of
// this class, if both fit into memory. Windows are cached if a change of the store would make
// another version of the file. A window that was evicted before it was read is not made again: its
// bytes are assembled from chunks. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "fs/tree/assembled_files.h"
#include "zarrcore/content/chunk_reader.h"

namespace zarrfs {

/// Tracks sequential readers of files, their positions, and the state of their windows.
/// Thread-safe.
class SequentialReaders {
 public:
  struct Reader {
    uint64_t id = 0;
    uint64_t run = 0;  // bytes read in order so far
  };
  /// Records a read of a version of a file.
  [[nodiscard]] Reader OnRead(uint64_t version, uint64_t offset, uint64_t size);

  enum class State { kNew, kUnderWay, kMade, kFailed };
  /// The state of the window at `offset`. A new window becomes "under way"; one that the reader has
  /// passed counts as failed.
  [[nodiscard]] State Begin(uint64_t reader, uint64_t offset);
  void End(uint64_t reader, uint64_t offset, bool is_made);
  /// The reader has passed everything before `offset`. Returns the windows that were made there.
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
  Stream* Find(uint64_t reader);

  std::mutex mutex_;            // guards the rest
  std::deque<Stream> streams_;  // most recently active first
  uint64_t last_id_ = 0;
};

class AssembledReader {
 public:
  /// `is_fast`: the store answers fast. Slow stores have their own read-ahead.
  AssembledReader(AssembledFiles& files, ChunkReader& chunks, bool is_fast)
      : files_(files), chunks_(chunks), is_fast_(is_fast) {}
  /// Waits for windows being assembled, which takes little time.
  ~AssembledReader();
  AssembledReader(const AssembledReader&) = delete;
  AssembledReader& operator=(const AssembledReader&) = delete;

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // of the bytes, unless they are in the buffer
  };
  /// Bytes of a version from `offset` on: as many as fit `buffer`, fewer only at the end. Fails
  /// like AssembledFiles::Read().
  [[nodiscard]] Result<Piece> Read(const AssembledFiles::Version& version, uint64_t offset,
                                   std::span<std::byte> buffer);

 private:
  using Version = AssembledFiles::Version;
  using Reader = SequentialReaders::Reader;

  // Null if the bytes must be assembled from chunks.
  Result<std::shared_ptr<const Bytes>> Get(const Version& version, const Reader& reader,
                                           const AssembledWindow& window);
  Result<std::shared_ptr<const Bytes>> Make(const Version& version, uint64_t reader,
                                            const AssembledWindow& window);
  // Makes the next window; the reader is at `offset`, in `window`.
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
  std::mutex mutex_;  // guards the rest
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
  std::atomic<bool> is_over_ = false;
};

}  // namespace zarrfs
