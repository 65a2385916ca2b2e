// AssembledReader: the bytes of assembled files, for who picks some and for who reads all.
//
// What is picked is assembled from the chunks that it touches, which are cached. Who reads a file
// in order is served from windows (view/assembled.h): each is assembled at once, in the form that
// the file has, and kept in the place of its chunks; while one is read, the next is assembled on a
// thread of ours, if there is room for both. Windows are kept where a change of the store would be
// another version of the file. A window that was evicted before it was read is not made again: its
// bytes are picked. Thread-safe.
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

/// Who reads files in order, how far, and what has become of the windows for them. Thread-safe.
class SequentialReaders {
 public:
  struct Reader {
    uint64_t id = 0;
    uint64_t run = 0;  // bytes that it has read in order
  };
  /// Bytes of a version of a file are read.
  [[nodiscard]] Reader OnRead(uint64_t version, uint64_t offset, uint64_t size);

  enum class State { kNew, kUnderWay, kMade, kFailed };
  /// The state of the window at `offset`. A new one is under way from now on; what the reader has
  /// passed has failed.
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
  std::deque<Stream> streams_;  // the one that read last is the first
  uint64_t last_id_ = 0;
};

class AssembledReader {
 public:
  /// `is_fast`: the store answers fast. Otherwise it has its own way of reading ahead.
  AssembledReader(AssembledFiles& files, ChunkReader& chunks, bool is_fast)
      : files_(files), chunks_(chunks), is_fast_(is_fast) {}
  /// Waits for what is being assembled, which ends soon.
  ~AssembledReader();
  AssembledReader(const AssembledReader&) = delete;
  AssembledReader& operator=(const AssembledReader&) = delete;

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const Bytes> owner;  // of the bytes, unless they are in the buffer
  };
  /// Bytes of a version from `offset` on, as many as `buffer` has, and fewer only at the end. Fails
  /// as AssembledFiles::Read() does.
  [[nodiscard]] Result<Piece> Read(const AssembledFiles::Version& version, uint64_t offset,
                                   std::span<std::byte> buffer);

 private:
  using Version = AssembledFiles::Version;
  using Reader = SequentialReaders::Reader;

  // Null if it is to be picked.
  Result<std::shared_ptr<const Bytes>> Get(const Version& version, const Reader& reader,
                                           const AssembledWindow& window);
  Result<std::shared_ptr<const Bytes>> Make(const Version& version, uint64_t reader,
                                            const AssembledWindow& window);
  // The reader is at `offset`, in the window.
  void MakeNext(const Version& version, uint64_t reader, const AssembledWindow& window,
                uint64_t offset);
  // The reader needs none of the windows before `offset` any more.
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
