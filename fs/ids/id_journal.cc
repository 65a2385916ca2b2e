#include "fs/ids/id_journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fs/ids/id_format.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxNumbers = 5;
constexpr size_t kMaxText = 1 << 16;
// Ranges with more positions than this are allocated from kHighStart on, where 32-bit programs
// cannot stat files.
constexpr uint64_t kMaxLowCount = uint64_t{1} << 28;

// The header of a record. Numbers, a string, and zero padding to a multiple of eight bytes follow.
// Millions of epoch records may exist, so they are shorter: the number of the table is part of
// `kind`, and no string follows.
struct RecordHead {
  // The low kBitsOfKind bits are the kind. In an epoch record, the other bits are the number of the
  // table.
  uint32_t kind = 0;
  uint32_t text_bytes = 0;  // the length of the string; in an epoch record, the epoch
};
constexpr int kBitsOfKind = 8;
constexpr uint32_t kEpochKind = 6;
constexpr uint32_t kMaxTables = 1u << (32 - kBitsOfKind);

constexpr size_t Padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

// A parsed record. `text` and `bytes` point into the parsed buffer.
struct Record {
  uint32_t kind = 0;   // 0 for a malformed record
  uint32_t table = 0;  // `table` and `epoch` are set only for epoch records
  uint32_t epoch = 0;
  std::array<uint64_t, kMaxNumbers> numbers{};
  std::string_view text;
  std::string_view bytes;  // the whole record
};

// Parses the first record of `bytes`, and removes it from `bytes`.
Record TakeRecord(std::string_view& bytes) {
  // For each kind of record, how many numbers follow its header.
  constexpr std::array<size_t, 7> kNumbers = {0, 2, 2, 4, 5, 2, 2};
  RecordHead head;
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  Record record{.kind = head.kind & ((1u << kBitsOfKind) - 1),
                .table = head.kind >> kBitsOfKind,
                .epoch = head.text_bytes,
                .text = {},
                .bytes = {}};
  if (record.kind == kEpochKind) head.text_bytes = 0;
  if (record.kind == 0 || record.kind >= kNumbers.size() || head.text_bytes > kMaxText) return {};
  const size_t numbers = kNumbers[record.kind] * sizeof(uint64_t);
  const size_t size = sizeof head + numbers + Padded(head.text_bytes);
  if (bytes.size() < size) return {};
  std::memcpy(record.numbers.data(), bytes.data() + sizeof head, numbers);
  record.text = bytes.substr(sizeof head + numbers, head.text_bytes);
  record.bytes = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return record;
}

// True if `path` has the form of a path in a store: "", "a", "a/b".
bool IsPath(std::string_view path) {
  if (path.empty()) return true;
  if (path.find('\0') != path.npos) return false;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

std::string_view TextOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

// Checks that records claim positions in the order of allocation, so no two of them overlap.
struct Given {
  uint64_t low = IdJournal::kFirstPosition;
  uint64_t high = IdJournal::kHighStart;

  // Claims `count` positions from `first` on. False if one of them was claimed before, or was never
  // allocated.
  bool Take(uint64_t first, uint64_t count, uint64_t low_end, uint64_t high_end) {
    const bool is_high = first >= IdJournal::kHighStart;
    uint64_t& from = is_high ? high : low;
    const uint64_t end = is_high ? high_end : low_end;
    if (count == 0 || first < from || first > end || count > end - first) return false;
    from = first + count;
    return true;
  }
};

}  // namespace

IdJournal::IdJournal() { memory_.generation = std::random_device{}() & 0x7fffffff; }

IdJournal::~IdJournal() {
  if (header_ != &memory_) munmap(header_, kHeaderBytes);
}

Result<void> IdJournal::Continue(Descriptor file) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Fail(FromErrno(errno), "ids: {}", ErrnoText(errno));
  const auto size = static_cast<uint64_t>(info.st_size);
  const bool is_new = size == 0;
  if (is_new && ftruncate(file.get(), kHeaderBytes) != 0) {
    return Fail(FromErrno(errno), "ids: {}", ErrnoText(errno));
  }
  if (!is_new && size < kHeaderBytes)
    return Fail(ErrorCode::kDamaged, "ids: the journal has {} bytes, fewer than its header", size);
  void* const mapped =
      mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return Fail(FromErrno(errno), "ids: {}", ErrnoText(errno));
  memory_.format = IdFormat();
  if (is_new) *static_cast<Header*>(mapped) = memory_;
  header_ = static_cast<Header*>(mapped);
  file_ = std::move(file);
  const Header found = *header_;
  if (found.next_low < kFirstPosition || found.next_low > kHighStart ||
      found.next_high < kHighStart || found.next_high > kPositions) {
    return Fail(ErrorCode::kDamaged, "ids: the journal has invalid positions {} and {}",
                found.next_low, found.next_high);
  }
  predecessors_ = found.processes;
  header_->processes = found.processes + 1;
  holds_ = found.format == IdFormat() && found.lost == 0 && found.used <= kMaxBytes &&
           found.rewrites % 2 == 0 && found.used + kHeaderBytes <= std::max(size, kHeaderBytes);
  if (holds_) {
    const auto bytes = ReadRecords(found.used);
    holds_ = bytes && Parse(*bytes, found, kept_);
  }
  if (!holds_) kept_ = {};
  const MutexLock lock(mutex_);
  tables_ = kept_.tables;
  ranges_ = static_cast<uint32_t>(kept_.ranges.size());
  header_->lost = 0;
  header_->format = IdFormat();
  if (!holds_) BeginRewrite();
  auto cut = Cut(holds_ ? found.used : 0);
  if (!holds_) EndRewrite();
  return cut;
}

std::optional<std::string> IdJournal::ReadRecords(uint64_t bytes) const {
  std::string read(bytes, '\0');
  for (size_t have = 0; have < read.size();) {
    const ssize_t more = pread(file_.get(), read.data() + have, read.size() - have,
                               static_cast<off_t>(kHeaderBytes + have));
    if (more <= 0) return std::nullopt;
    have += static_cast<size_t>(more);
  }
  return read;
}

void IdJournal::BeginRewrite() {
  __atomic_store_n(&header_->rewrites, header_->rewrites | 1, __ATOMIC_SEQ_CST);
}

void IdJournal::EndRewrite() {
  __atomic_store_n(&header_->rewrites, header_->rewrites + 1, __ATOMIC_SEQ_CST);
}

Result<void> IdJournal::Cut(uint64_t bytes) {
  header_->used = bytes;
  if (ftruncate(file_.get(), static_cast<off_t>(kHeaderBytes + bytes)) != 0) {
    return Fail(FromErrno(errno), "the ids of earlier workers cannot be kept: {}",
                ErrnoText(errno));
  }
  return {};
}

void IdJournal::Reject() {
  kept_ = {};
  holds_ = false;
  const MutexLock lock(mutex_);
  tables_ = kept_.tables;
  ranges_ = 0;
  if (!file_) return;
  BeginRewrite();
  // If the file cannot be truncated, the remaining records are ignored, because readers stop at
  // `used`.
  static_cast<void>(Cut(0));
  EndRewrite();
}

bool IdJournal::Parse(std::string_view bytes, const Header& header, Kept& kept) {
  std::unordered_map<uint64_t, uint32_t> nodes;  // by block
  std::unordered_set<std::string_view> paths;
  Given given;
  const auto take = [&](uint64_t first, uint64_t count) {
    return given.Take(first, count, header.next_low, header.next_high);
  };
  while (!bytes.empty()) {
    const Record record = TakeRecord(bytes);
    if (record.kind == 0) return false;
    const auto& n = record.numbers;
    const std::string_view text = record.text;
    const auto kind = static_cast<Kind>(record.kind);
    Digest digest;
    if (kind == Kind::kDocuments || kind == Kind::kRange) {
      if (text.size() != digest.bytes.size() || !nodes.contains(n[0])) return false;
      std::memcpy(digest.bytes.data(), text.data(), text.size());
    }
    switch (kind) {
      case Kind::kNode:
        if (!IsPath(text) || !take(n[0], n[1]) || !paths.insert(text).second) return false;
        nodes.emplace(n[0], static_cast<uint32_t>(kept.nodes.size()));
        kept.nodes.push_back(
            {.block = n[0], .count = n[1], .path = std::string(text), .documents = {}});
        break;
      case Kind::kDocuments: {
        Node& node = kept.nodes[nodes.at(n[0])];
        if (n[1] > UINT32_MAX) return false;
        node.documents = digest;
        node.document_epoch = static_cast<uint32_t>(n[1]);
        break;
      }
      case Kind::kRange:
        if (n[1] == 0 || n[1] > kept.tables) return false;
        kept.tables = std::max(kept.tables, static_cast<uint32_t>(n[1]) + 1);
        kept.ranges.push_back({.node = nodes.at(n[0]),
                               .table = static_cast<uint32_t>(n[1]),
                               .objects = n[2],
                               .naming = n[3],
                               .files = digest,
                               .rows = 0,
                               .segments = {}});
        break;
      case Kind::kSegment: {
        if (n[0] >= kept.ranges.size() || !take(n[3], n[4])) return false;
        auto& segments = kept.ranges[n[0]].segments;
        const uint64_t covered =
            segments.empty() ? 0 : segments.back().first_row + segments.back().rows;
        if (n[1] != covered || n[2] > UINT64_MAX - covered) return false;
        kept.segments.emplace_back(n[0], segments.size());
        segments.push_back({.first_row = n[1], .rows = n[2], .position = n[3], .count = n[4]});
        break;
      }
      case Kind::kRows:
        if (n[0] >= kept.ranges.size()) return false;
        kept.ranges[n[0]].rows = n[1];
        break;
      case Kind::kEpoch:
        if (record.table >= kept.tables) return false;
        kept.epochs.push_back({record.table, record.epoch, n[0], n[1]});
        break;
    }
  }
  return true;
}

void IdJournal::Append(Kind kind, std::initializer_list<uint64_t> numbers, std::string_view text) {
  if (!file_) return;
  const RecordHead head{static_cast<uint32_t>(kind), static_cast<uint32_t>(text.size())};
  const size_t bytes_of_numbers = numbers.size() * sizeof(uint64_t);
  std::string record(sizeof head + bytes_of_numbers + Padded(text.size()), '\0');
  std::memcpy(record.data(), &head, sizeof head);
  std::memcpy(record.data() + sizeof head, std::data(numbers), bytes_of_numbers);
  text.copy(record.data() + sizeof head + bytes_of_numbers, text.size());
  if (text.size() > kMaxText) header_->lost = 1;
  AppendBytes(record);
}

void IdJournal::AppendBytes(std::string_view record) {
  if (!file_ || header_->lost != 0) return;
  if (header_->used + record.size() > compact_at_) Compact();
  const uint64_t used = header_->used;
  // A write to a memory file is incomplete only if memory has run out.
  if (used + record.size() > kMaxBytes ||
      pwrite(file_.get(), record.data(), record.size(), static_cast<off_t>(kHeaderBytes + used)) !=
          static_cast<ssize_t>(record.size())) {
    header_->lost = 1;
    return;
  }
  __atomic_store_n(&header_->used, used + record.size(), __ATOMIC_RELEASE);
}

void IdJournal::Compact() {
  // Identifies what a record describes: the epoch of an object, the documents of a block, or the
  // rows of a range. Only the last such record counts.
  struct Subject {
    uint32_t kind_and_table;
    uint32_t at;  // the offset of the record
    uint64_t number;
    bool operator<(const Subject& other) const {
      return std::tie(kind_and_table, number, at) <
             std::tie(other.kind_and_table, other.number, other.at);
    }
  };
  static_assert(kMaxBytes <= UINT32_MAX && kEpochKind == static_cast<uint32_t>(Kind::kEpoch));
  compact_at_ = kMaxBytes;
  auto bytes = ReadRecords(header_->used);
  if (!bytes) return;
  std::vector<Subject> subjects;
  for (std::string_view rest = *bytes; !rest.empty();) {
    const auto at = static_cast<uint32_t>(bytes->size() - rest.size());
    const Record record = TakeRecord(rest);
    if (record.kind == 0) return;
    const auto kind = static_cast<Kind>(record.kind);
    if (kind != Kind::kEpoch && kind != Kind::kDocuments && kind != Kind::kRows) continue;
    const uint32_t table = kind == Kind::kEpoch ? record.table : 0;
    subjects.push_back({record.kind | table << kBitsOfKind, at, record.numbers[0]});
  }
  std::ranges::sort(subjects, std::less());
  std::vector<uint32_t> superfluous;
  size_t saved = 0;
  for (size_t i = 1; i < subjects.size(); ++i) {
    const Subject &before = subjects[i - 1], &after = subjects[i];
    if (before.kind_and_table == after.kind_and_table && before.number == after.number) {
      superfluous.push_back(before.at);
      std::string_view rest = std::string_view(*bytes).substr(before.at);
      saved += TakeRecord(rest).bytes.size();
    }
  }
  const size_t kept = bytes->size() - saved;
  compact_at_ = std::clamp(2 * uint64_t{kept}, kMinCompacted, kMaxBytes);
  if (saved < bytes->size() / 4) return;
  std::ranges::sort(superfluous);
  size_t end = 0;
  auto next = superfluous.begin();
  for (std::string_view rest = *bytes; !rest.empty();) {
    const auto at = static_cast<uint32_t>(bytes->size() - rest.size());
    const Record record = TakeRecord(rest);
    if (next != superfluous.end() && *next == at) {
      ++next;
    } else {
      std::memmove(bytes->data() + end, record.bytes.data(), record.bytes.size());
      end += record.bytes.size();
    }
  }
  BeginRewrite();
  if (pwrite(file_.get(), bytes->data(), kept, kHeaderBytes) != static_cast<ssize_t>(kept)) {
    header_->lost = 1;
  }
  header_->used = kept;
  EndRewrite();
  // If the file cannot be truncated, it keeps its size, and readers ignore the bytes after `used`.
  static_cast<void>(Cut(kept));
}

std::optional<uint64_t> IdJournal::Allocate(uint64_t count) {
  const MutexLock lock(mutex_);
  const bool high = count > kMaxLowCount || header_->next_low + count > kHighStart;
  uint64_t& next = high ? header_->next_high : header_->next_low;
  if (count > kPositions - next) return std::nullopt;
  const uint64_t first = next;
  __atomic_store_n(&next, first + count, __ATOMIC_RELEASE);
  return first;
}

uint32_t IdJournal::NextStatus() {
  const MutexLock lock(mutex_);
  return static_cast<uint32_t>(++header_->next_status);
}

uint32_t IdJournal::NewTable() {
  const MutexLock lock(mutex_);
  return tables_++;
}

void IdJournal::AddNode(uint64_t block, uint64_t count, std::string_view path) {
  const MutexLock lock(mutex_);
  Append(Kind::kNode, {block, count}, path);
}

void IdJournal::AddDocuments(uint64_t block, const Digest& documents, uint32_t epoch) {
  const MutexLock lock(mutex_);
  Append(Kind::kDocuments, {block, epoch}, TextOf(documents));
}

uint32_t IdJournal::AddRange(uint64_t block, const Digest& files, uint32_t table, uint64_t objects,
                             uint64_t naming) {
  const MutexLock lock(mutex_);
  Append(Kind::kRange, {block, table, objects, naming}, TextOf(files));
  return ranges_++;
}

void IdJournal::AddSegment(uint32_t range, const Segment& segment) {
  const MutexLock lock(mutex_);
  Append(Kind::kSegment, {range, segment.first_row, segment.rows, segment.position, segment.count});
}

void IdJournal::AddRows(uint32_t range, uint64_t rows) {
  const MutexLock lock(mutex_);
  Append(Kind::kRows, {range, rows});
}

void IdJournal::AddEpoch(const Epoch& epoch) {
  const MutexLock lock(mutex_);
  struct {
    RecordHead head;
    uint64_t object = 0;
    uint64_t fingerprint = 0;
  } const record{{static_cast<uint32_t>(Kind::kEpoch) | epoch.table << kBitsOfKind, epoch.epoch},
                 epoch.object,
                 epoch.fingerprint};
  if (epoch.table >= kMaxTables) header_->lost = 1;
  AppendBytes({reinterpret_cast<const char*>(&record), sizeof record});
}

}  // namespace zarrfs
