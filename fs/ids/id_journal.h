// IdJournal: the ids that a mount has given to the kernel, for the process that serves it next.
//
// The kernel keeps ids for as long as programs use them: a working folder, an open file. If the
// process that gave them out ends and another one takes over, they must go on meaning the same. So
// what an id stands for that arithmetic does not tell (node_table.h, epoch_table.h) is written to a
// memory file before the id is given out: paths and their positions, the segments of arrays, and
// the versions of stored objects that have an epoch. It only ever grows; a process killed in the
// middle of a write leaves what was there before.
//
// The next process trusts nothing of it. What does not hold together is dropped as a whole: all
// ids that were given out are stale then, but for the root's, and none is given out again.
// Thread-safe.
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
  /// which the file begins with.
  static constexpr uint64_t kLayout = 1;
  /// Beyond these the file is given up, as if it did not hold together.
  static constexpr uint64_t kMaxBytes = uint64_t{128} << 20;
  /// Positions up to kFirstPosition are the root's and the status files'. Those from kHighStart on
  /// are for huge arrays: 32-bit programs cannot stat them.
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
    uint64_t count = 0;  // positions
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
  /// Nodes and segments in the order in which their positions were given out.
  struct Kept {
    std::vector<Node> nodes;
    std::vector<Range> ranges;
    std::vector<std::pair<uint32_t, uint32_t>> segments;  // range, segment of it
    std::vector<Epoch> epochs;                            // of one object the last one counts
    uint32_t tables = 1;
  };

  // --- Life --------------------------------------------------------------------------------------

  /// In memory alone: nobody comes after this process.
  IdJournal();
  ~IdJournal();
  IdJournal(const IdJournal&) = delete;
  IdJournal& operator=(const IdJournal&) = delete;

  /// Goes on in `file`, which is empty, or was written by the process before. Before anything else.
  /// kDamaged if not even its positions can be told: no id can be given out then.
  [[nodiscard]] Result<void> Continue(Descriptor file);

  /// What the process before has written, until it is dropped.
  [[nodiscard]] const Kept& kept() const { return kept_; }
  void DropKept() { kept_ = {}; }
  /// It does not fit this program: as if it did not hold together. Before anything is written.
  void Reject();
  /// Whether an earlier process's ids are known. True if there was none.
  [[nodiscard]] bool holds() const { return holds_; }
  /// How many processes wrote it before this one.
  [[nodiscard]] uint64_t predecessors() const { return predecessors_; }
  /// Of all inodes of the mount (Entry::generation).
  [[nodiscard]] uint64_t generation() const { return header_->generation; }
  /// Those from here on to kHighStart are free. For one thread at a time with Allocate().
  [[nodiscard]] uint64_t next_low() const { return header_->next_low; }

  // --- Writing -----------------------------------------------------------------------------------

  /// The first of so many positions that were never given out; nullopt if none are left.
  [[nodiscard]] std::optional<uint64_t> Allocate(uint64_t count);
  /// Counts snapshots of status files: a number never returns before 2^32 others.
  [[nodiscard]] uint32_t NextStatus();
  /// Number of a new table of epochs. (0 is that of documents made from several nodes.)
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
    uint64_t lost = 0;  // not all was written
    uint64_t next_low = kFirstPosition;
    uint64_t next_high = kHighStart;
    uint64_t next_status = 0;
  };
  static constexpr uint64_t kHeaderBytes = 4096;

  void Append(Kind kind, std::initializer_list<uint64_t> numbers, std::string_view text = {});
  void AppendBytes(std::string_view record);
  // Keeps no record after the first `bytes`.
  Result<void> Cut(uint64_t bytes);
  // False if the bytes do not hold together.
  static bool Parse(std::string_view bytes, const Header& header, Kept& kept);

  std::mutex mutex_;  // guards writing
  Descriptor file_;   // none: in memory alone
  Header memory_;
  Header* header_ = &memory_;
  Kept kept_;
  bool holds_ = true;
  uint64_t predecessors_ = 0;
  uint32_t tables_ = 1;
  uint32_t ranges_ = 0;
};

}  // namespace zarrfs
