// IdJournal: records the ids that a mount has given to the kernel, for the next process that serves
// the mount.
//
// The kernel keeps an id while programs use its file or folder, for example as a working folder. If
// another process takes over the mount, the ids must keep their meaning. So the part of an id's
// meaning that cannot be computed (node_table.h, epoch_table.h) is written to a memory file before
// the id is used: paths and their positions, the segments of arrays, and the epochs of versions of
// stored objects. Records are appended; a process killed during a write leaves the earlier records
// intact.
//
// In a store that changes often, earlier records become superfluous: an object has one epoch record
// for each version, and only the last one counts. A file that has doubled in size is compacted. If
// a process is killed while it compacts the file, the next process drops the file.
//
// The next process does not trust the file. If the file is inconsistent, all of it is dropped. Then
// all ids used so far are stale, except the root's, and none of them is reused. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class IdJournal {
 public:
  /// The version of the file's records and of the arithmetic in array_range.h. It is part of
  /// IdFormat(), with which the file begins.
  static constexpr uint64_t kLayout = 1;
  /// The maximum size of the file. A larger file is dropped like an inconsistent one.
  static constexpr uint64_t kMaxBytes = uint64_t{128} << 20;
  /// The records are not compacted while all of them together take fewer bytes than this.
  static constexpr uint64_t kMinCompacted = uint64_t{4} << 20;
  /// Positions below kFirstPosition belong to the root and the status files. Positions from
  /// kHighStart on are for huge arrays, because 32-bit programs cannot stat files with
  /// inode numbers that large.
  static constexpr uint64_t kFirstPosition = 16;
  static constexpr uint64_t kHighStart = uint64_t{1} << 32;
  static constexpr uint64_t kPositions = uint64_t{1} << 48;

  // --- The records -------------------------------------------------------------------------------

  struct Node {
    uint64_t block = 0;
    uint64_t count = 0;  // the number of positions in the block
    std::string path;
    uint32_t document_epoch = 0;
    std::optional<Digest> documents;
  };
  struct Segment {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    uint64_t position = 0;
    uint64_t count = 0;  // the number of positions in the segment
  };
  struct Range {
    uint32_t node = 0;   // an index of Kept::nodes
    uint32_t table = 0;  // the number of the range's table of epochs
    uint64_t objects = 0;
    uint64_t naming = 0;  // see NamingOf()
    Digest files;
    uint64_t rows = 0;
    std::vector<Segment> segments;
  };
  struct Epoch {
    uint32_t table = 0;
    uint32_t epoch = 0;
    uint64_t object = 0;
    uint64_t fingerprint = 0;
  };
  /// The records of a journal. Nodes and segments are in the order in which their positions were
  /// allocated.
  struct Kept {
    std::vector<Node> nodes;
    std::vector<Range> ranges;
    // For each segment: the index of its range in `ranges`, and its index in Range::segments.
    std::vector<std::pair<uint32_t, uint32_t>> segments;
    std::vector<Epoch> epochs;  // if an object has several records, the last one counts
    uint32_t tables = 1;
  };

  /// The header of the file. It is mapped into memory. Only the process that serves the mount
  /// writes it.
  struct Header {
    uint64_t format = 0;  // see IdFormat()
    uint64_t generation = 0;
    uint64_t processes = 0;
    uint64_t used = 0;  // the number of bytes of records, which follow the header
    uint64_t lost = 0;  // 1 if some records were not written
    uint64_t next_low = kFirstPosition;
    uint64_t next_high = kHighStart;
    uint64_t next_status = 0;
    // Twice the number of times that records were changed or dropped; odd during a change. While
    // this number stays the same, so do the first `used` bytes after the header.
    uint64_t rewrites = 0;
  };
  static constexpr uint64_t kHeaderBytes = 4096;

  // --- Creating and continuing a journal ---------------------------------------------------------

  /// Makes a journal in memory only, which no process can take over.
  IdJournal();
  ~IdJournal();
  IdJournal(const IdJournal&) = delete;
  IdJournal& operator=(const IdJournal&) = delete;

  /// Continues the journal in `file`, which is empty, or was written by the previous process or by
  /// IdFile::Load(). Call before all other functions. Fails with kDamaged if not even the allocated
  /// positions are known, so no id can be allocated.
  [[nodiscard]] Result<void> Continue(Descriptor file);

  /// The records of the previous process. Empty after DropKept().
  [[nodiscard]] const Kept& kept() const { return kept_; }
  void DropKept() { kept_ = {}; }
  /// Drops all records, as if they were inconsistent, because they do not fit this program. Call
  /// before anything is written.
  void Reject();
  /// False if the records of an earlier process could not be used. True if no earlier process has
  /// written the journal.
  [[nodiscard]] bool holds() const { return holds_; }
  /// The number of processes that wrote the journal before this one.
  [[nodiscard]] uint64_t predecessors() const { return predecessors_; }
  /// The generation of all inodes of the mount; see Entry::generation.
  [[nodiscard]] uint64_t generation() const { return header_->generation; }
  /// The first free position below kHighStart. Must not be called concurrently with Allocate().
  [[nodiscard]] uint64_t next_low() const { return header_->next_low; }

  // --- Writing -----------------------------------------------------------------------------------

  /// Allocates `count` positions and returns the first; nullopt if not enough are left.
  [[nodiscard]] std::optional<uint64_t> Allocate(uint64_t count);
  /// Returns the number of a new snapshot of a status file. Numbers repeat after 2^32 snapshots.
  [[nodiscard]] uint32_t NextStatus();
  /// Returns the number of a new table of epochs. Number 0 is the table of documents made from
  /// several nodes.
  [[nodiscard]] uint32_t NewTable();

  void AddNode(uint64_t block, uint64_t count, std::string_view path);
  void AddDocuments(uint64_t block, const Digest& documents, uint32_t epoch);
  /// Records a new range of an array; returns the number of the range.
  [[nodiscard]] uint32_t AddRange(uint64_t block, const Digest& files, uint32_t table,
                                  uint64_t objects, uint64_t naming);
  void AddSegment(uint32_t range, const Segment& segment);
  void AddRows(uint32_t range, uint64_t rows);
  void AddEpoch(const Epoch& epoch);

 private:
  enum class Kind : uint32_t { kNode = 1, kDocuments, kRange, kSegment, kRows, kEpoch };
  void Append(Kind kind, std::initializer_list<uint64_t> numbers, std::string_view text = {})
      REQUIRES(mutex_);
  void AppendBytes(std::string_view record) REQUIRES(mutex_);
  // Truncates the records to their first `bytes` bytes.
  Result<void> Cut(uint64_t bytes);
  void BeginRewrite();
  void EndRewrite();
  // Removes superseded records, if they take at least a quarter of the bytes.
  void Compact() REQUIRES(mutex_);
  // Returns the first `bytes` bytes of the records; nullopt if they cannot be read.
  [[nodiscard]] std::optional<std::string> ReadRecords(uint64_t bytes) const;
  // Parses and checks the records; false if they are inconsistent.
  static bool Parse(std::string_view bytes, const Header& header, Kept& kept);

  // After Continue(), each writer of the records or the header also holds this mutex.
  Mutex mutex_;
  Descriptor file_;  // empty if the journal is only in memory
  Header memory_;
  Header* header_ = &memory_;
  Kept kept_;
  bool holds_ = true;
  uint64_t predecessors_ = 0;
  uint32_t tables_ GUARDED_BY(mutex_) = 1;
  uint32_t ranges_ GUARDED_BY(mutex_) = 0;
  uint64_t compact_at_ GUARDED_BY(mutex_) = kMinCompacted;  // in bytes of records
};

}  // namespace zarrfs
