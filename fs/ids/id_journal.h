// IdJournal: the ids that a mount has given to the kernel, for the process that serves it next.
//
// The kernel keeps ids for as long as programs use them: a working folder, an open file. If another
// process takes over the mount, they must keep their meaning. So the part of an id's meaning that
// is not arithmetic (node_table.h, epoch_table.h) is written to a memory file before the id is
// used: paths and their positions, the segments of arrays, and the versions of stored objects that
// have an epoch. The file only grows; a process killed during a write leaves the earlier records
// intact.
//
// The next process does not trust the file. If it is inconsistent it is dropped as a whole: then
// all ids used so far are stale, except the root's, and none of them is reused. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

class IdJournal {
 public:
  /// Version of the file's records and of the arithmetic of array_range.h. A part of IdFormat(),
  /// with which the file begins.
  static constexpr uint64_t kLayout = 1;
  /// A larger file is dropped like an inconsistent one.
  static constexpr uint64_t kMaxBytes = uint64_t{128} << 20;
  /// Positions up to kFirstPosition belong to the root and the status files. Those from kHighStart
  /// on are for huge arrays: 32-bit programs cannot stat them.
  static constexpr uint64_t kFirstPosition = 16;
  static constexpr uint64_t kHighStart = uint64_t{1} << 32;
  static constexpr uint64_t kPositions = uint64_t{1} << 48;

  // --- What was written --------------------------------------------------------------------------

  struct Node {
    uint64_t block = 0;
    uint64_t count = 0;  // positions of the block
    std::string path;
    uint32_t document_epoch = 0;
    std::optional<Digest> documents;
  };
  struct Segment {
    uint64_t first_row = 0;
    uint64_t rows = 0;
    uint64_t position = 0;
    uint64_t count = 0;  // number of positions
  };
  struct Range {
    uint32_t node = 0;   // of Kept::nodes
    uint32_t table = 0;  // of epochs
    uint64_t objects = 0;
    uint64_t naming = 0;  // NamingOf(ArrayRange)
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
  /// Nodes and segments in the order in which their positions were allocated.
  struct Kept {
    std::vector<Node> nodes;
    std::vector<Range> ranges;
    std::vector<std::pair<uint32_t, uint32_t>> segments;  // range, and segment of it
    std::vector<Epoch> epochs;                            // the last one of an object counts
    uint32_t tables = 1;
  };

  // --- Life --------------------------------------------------------------------------------------

  /// In memory only: no process will take over.
  IdJournal();
  ~IdJournal();
  IdJournal(const IdJournal&) = delete;
  IdJournal& operator=(const IdJournal&) = delete;

  /// Continues `file`, which is empty, or was written by the previous process. Call before anything
  /// else. kDamaged if not even the allocated positions are known: then no id can be allocated.
  [[nodiscard]] Result<void> Continue(Descriptor file);

  /// The records of the previous process, until they are dropped.
  [[nodiscard]] const Kept& kept() const { return kept_; }
  void DropKept() { kept_ = {}; }
  /// The records do not fit this program: treats them as inconsistent. Call before anything is
  /// written.
  void Reject();
  /// Whether an earlier process's ids are known. True if there was none.
  [[nodiscard]] bool holds() const { return holds_; }
  /// Number of processes that wrote it before this one.
  [[nodiscard]] uint64_t predecessors() const { return predecessors_; }
  /// Of all inodes of the mount (Entry::generation).
  [[nodiscard]] uint64_t generation() const { return header_->generation; }
  /// Positions from here to kHighStart are free. Not concurrently with Allocate().
  [[nodiscard]] uint64_t next_low() const { return header_->next_low; }

  // --- Writing -----------------------------------------------------------------------------------

  /// The first of `count` new positions; nullopt if none are left.
  [[nodiscard]] std::optional<uint64_t> Allocate(uint64_t count);
  /// Counts snapshots of status files: a number never returns before 2^32 others.
  [[nodiscard]] uint32_t NextStatus();
  /// Number of a new table of epochs. 0 is that of documents made from several nodes.
  [[nodiscard]] uint32_t NewTable();

  void AddNode(uint64_t block, uint64_t count, std::string_view path);
  void AddDocuments(uint64_t block, const Digest& documents, uint32_t epoch);
  /// Returns the number of the range.
  [[nodiscard]] uint32_t AddRange(uint64_t block, const Digest& files, uint32_t table,
                                  uint64_t objects, uint64_t naming);
  void AddSegment(uint32_t range, const Segment& segment);
  void AddRows(uint32_t range, uint64_t rows);
  void AddEpoch(const Epoch& epoch);

 private:
  enum class Kind : uint32_t { kNode = 1, kDocuments, kRange, kSegment, kRows, kEpoch };
  // At the beginning of the file, mapped. Only this process writes.
  struct Header {
    uint64_t format = 0;  // IdFormat()
    uint64_t generation = 0;
    uint64_t processes = 0;
    uint64_t used = 0;  // bytes after the header
    uint64_t lost = 0;  // some records were not written
    uint64_t next_low = kFirstPosition;
    uint64_t next_high = kHighStart;
    uint64_t next_status = 0;
  };
  static constexpr uint64_t kHeaderBytes = 4096;

  void Append(Kind kind, std::initializer_list<uint64_t> numbers, std::string_view text = {});
  void AppendBytes(std::string_view record);
  // Drops all records after the first `bytes`.
  Result<void> Cut(uint64_t bytes);
  // False if the records are inconsistent.
  static bool Parse(std::string_view bytes, const Header& header, Kept& kept);

  std::mutex mutex_;  // guards writing
  Descriptor file_;   // none: in memory only
  Header memory_;
  Header* header_ = &memory_;
  Kept kept_;
  bool holds_ = true;
  uint64_t predecessors_ = 0;
  uint32_t tables_ = 1;
  uint32_t ranges_ = 0;
};

}  // namespace zarrfs
