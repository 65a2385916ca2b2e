#include "fs/ids/id_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "fs/ids/id_format.h"
#include "fs/ids/id_journal.h"
#include "zarrcore/os/read_write.h"

namespace zarrfs {
namespace {

constexpr std::string_view kMagic = "zarrfs inode numbers 1\n";
constexpr auto kLockPeriod = std::chrono::milliseconds(50);
constexpr size_t kPieceBytes = size_t{64} << 10;
// How often Save() tries. An attempt fails if a worker compacts the journal during the copy.
constexpr int kAttempts = 3;
constexpr uint64_t kGenerations = uint64_t{1} << 31;

struct Head {
  std::array<char, 32> magic{};  // kMagic, padded with zeros
  uint64_t is_last = 0;          // 1 if the mount saved all of its ids before it ended
  IdJournal::Header journal;     // `lost` is 1 while records are being replaced
};

Error OfSystem(std::string_view what) {
  return {FromErrno(errno), fmt::format("{}: {}", what, ErrnoText(errno))};
}

// Copies the bytes from offset `begin` to offset `end`, which are the same in both files.
bool Copy(const Descriptor& from, const Descriptor& to, uint64_t begin, uint64_t end) {
  std::array<std::byte, kPieceBytes> piece;
  for (uint64_t at = begin; at < end;) {
    const std::span part(piece.data(), std::min<uint64_t>(piece.size(), end - at));
    if (!ReadAll(from, at, part) || !WriteAll(to, at, part)) return false;
    at += part.size();
  }
  return true;
}

template <typename T>
bool ReadValue(const Descriptor& file, T& value) {
  return ReadAll(file, 0, std::as_writable_bytes(std::span(&value, 1)));
}
template <typename T>
bool WriteValue(const Descriptor& file, const T& value) {
  return WriteAll(file, 0, std::as_bytes(std::span(&value, 1)));
}

bool HasMagic(const Head& head) {
  return std::string_view(head.magic.data(), kMagic.size()) == kMagic;
}

Head HeadWith(const IdJournal::Header& journal, bool is_last) {
  Head head{.is_last = is_last ? uint64_t{1} : 0, .journal = journal};
  kMagic.copy(head.magic.data(), head.magic.size());
  return head;
}

// True if this program can use the ids in a file with this head. IdJournal later checks the records
// themselves.
bool Fits(const Head& head) {
  const IdJournal::Header& journal = head.journal;
  return journal.format == IdFormat() && journal.lost == 0 && journal.rewrites % 2 == 0 &&
         journal.used <= IdJournal::kMaxBytes && journal.next_low >= IdJournal::kFirstPosition &&
         journal.next_low <= IdJournal::kHighStart && journal.next_high >= IdJournal::kHighStart &&
         journal.next_high <= IdJournal::kPositions;
}

}  // namespace

Result<Descriptor> IdFile::Open(const std::string& path, std::chrono::milliseconds timeout) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalidArgument, "ids={}: {}", path, why);
  };
  Descriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  if (!file) {
    return refuse(errno == ELOOP ? "a symbolic link; name the file itself" : ErrnoText(errno));
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return refuse(ErrnoText(errno));
  if (!S_ISREG(info.st_mode)) return refuse("not a regular file");
  if (info.st_uid != geteuid()) return refuse("the file belongs to another user");
  for (auto waited = std::chrono::milliseconds(0); flock(file.get(), LOCK_EX | LOCK_NB) != 0;
       waited += kLockPeriod) {
    if (errno != EWOULDBLOCK) return refuse(ErrnoText(errno));
    if (waited >= timeout) return refuse("another mount uses this file; each mount needs its own");
    std::this_thread::sleep_for(kLockPeriod);
  }
  if (fstat(file.get(), &info) != 0) return refuse(ErrnoText(errno));
  Head head;
  if (info.st_size != 0 && (!ReadValue(file, head) || !HasMagic(head))) {
    return refuse("not a file of inode numbers that zarrfs wrote; name a new file");
  }
  return file;
}

Result<std::string> IdFile::Load(const Descriptor& file, const Descriptor& journal) {
  Head head;
  std::string text;
  // The file is empty, because Open() refuses other short files.
  if (!ReadValue(file, head)) return text;
  if (!Fits(head)) {
    text = "the file is full, incomplete or has another version, so all inode numbers change";
    head.journal = {.lost = 1};
  } else {
    head.journal.processes = 0;
    if (head.is_last == 0) {
      head.journal.generation = (head.journal.generation + 1) % kGenerations;
      text =
          "the last mount was killed: inode numbers stay the same, but handles of NFS clients are "
          "stale";
    }
    if (!Copy(file, journal, kHeadBytes, kHeadBytes + head.journal.used) ||
        !WriteValue(journal, head.journal)) {
      if (ftruncate(journal.get(), 0) != 0) return tl::unexpected(OfSystem("ids"));
      text = "the file is incomplete, so all inode numbers change";
      head.journal = {.lost = 1};
    } else if (ftruncate(journal.get(), static_cast<off_t>(kHeadBytes + head.journal.used)) != 0) {
      return tl::unexpected(OfSystem("ids"));
    }
  }
  // Marks the file as incomplete before the first id is assigned.
  if (!WriteValue(file, HeadWith(head.journal, /*is_last=*/false)) || fdatasync(file.get()) != 0) {
    return tl::unexpected(OfSystem("the file cannot be written"));
  }
  return text;
}

Result<bool> IdFile::SaveRecords(const IdJournal::Header& journal) {
  Head head;
  const bool is_new = !ReadValue(file_, head);
  const bool is_changed = !is_new && (!Fits(head) || head.journal.rewrites != journal.rewrites ||
                                      head.journal.generation != journal.generation ||
                                      head.journal.used > journal.used);
  if (is_changed) {
    head.journal.lost = 1;
    if (!WriteValue(file_, head) || fdatasync(file_.get()) != 0 ||
        ftruncate(file_.get(), static_cast<off_t>(kHeadBytes)) != 0) {
      return tl::unexpected(OfSystem("the file cannot be written"));
    }
  }
  // Copies only the records that the file does not have yet.
  const uint64_t saved = is_new || is_changed ? 0 : head.journal.used;
  if (!Copy(journal_, file_, kHeadBytes + saved, kHeadBytes + journal.used) ||
      (is_changed && fdatasync(file_.get()) != 0)) {
    return tl::unexpected(OfSystem("the file cannot be written"));
  }
  IdJournal::Header now;
  if (!ReadValue(journal_, now)) return Fail(ErrorCode::kIo, "cannot read the journal of ids");
  return now.rewrites == journal.rewrites;
}

Result<void> IdFile::Save(bool last) {
  const auto unreadable = [] { return Fail(ErrorCode::kIo, "cannot read the journal of ids"); };
  IdJournal::Header journal;
  bool is_consistent = false;
  for (int attempt = 0; !is_consistent && attempt < kAttempts; ++attempt) {
    // Reads the header twice, and uses `rewrites` of the first read. If a worker rewrites records
    // before the copy is complete, `rewrites` has another value afterwards, and the copy is
    // repeated.
    if (!ReadValue(journal_, journal)) return unreadable();
    const uint64_t rewrites = journal.rewrites;
    if (!ReadValue(journal_, journal)) return unreadable();
    journal.rewrites = rewrites;
    if (journal.used > IdJournal::kMaxBytes) {
      return Fail(ErrorCode::kDamaged, "the journal has {} bytes of ids, more than its limit",
                  journal.used);
    }
    // A worker is rewriting the records, or was killed while it rewrote them.
    if (rewrites % 2 != 0) return {};
    const auto saved = SaveRecords(journal);
    if (!saved) return Fail(saved);
    is_consistent = *saved;
  }
  // The next call tries again. The file is unchanged, or marked as unusable.
  if (!is_consistent) return {};
  // Reads the header again, so its positions cover those in the copied records. Positions are
  // allocated before their records are written.
  const auto [used, rewrites] = std::pair(journal.used, journal.rewrites);
  if (!ReadValue(journal_, journal)) return unreadable();
  journal.used = used;
  journal.rewrites = rewrites;
  if (!WriteValue(file_, HeadWith(journal, last))) {
    return tl::unexpected(OfSystem("the file cannot be written"));
  }
  return {};
}

}  // namespace zarrfs
