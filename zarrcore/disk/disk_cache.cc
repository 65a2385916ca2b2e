#include "zarrcore/disk/disk_cache.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/disk/cache_names.h"
#include "zarrcore/os/folder_names.h"
#include "zarrcore/os/read_write.h"
#include "zarrcore/os/removal.h"

namespace zarrfs {
namespace {

// If a range is missing from a cached listing that is older than this, in nanoseconds, the folder
// is listed again. Files that other processes write may go unnoticed for this long.
constexpr int64_t kListingNs = 1'000'000'000;
// Maximum number of cached ranges in the listing of one object's folder. Further files are ignored.
constexpr size_t kMaxPieces = 1u << 16;

// Returns the folder of an object: "ab/cdef…", 32 digits of the digest of the object's address.
std::string FolderNameOf(std::string_view object) {
  const Digest digest = DigestBuilder().Add(object).Finish();
  std::string name;
  for (size_t at = 0; at < 16; ++at) {
    name += fmt::format("{:02x}{}", digest.bytes[at], at == 0 ? "/" : "");
  }
  return name;
}

template <typename Piece>
std::string FileNameOf(const std::string& folder, const Piece& piece) {
  return folder + "/" + CacheFileName({piece.version, piece.begin, piece.end, piece.size});
}

template <typename Piece>
std::optional<Piece> ParseFileName(const char* name) {
  const auto numbers = ParseCacheFileName(name);
  if (!numbers) return std::nullopt;
  const auto& [version, begin, end, size] = *numbers;
  return Piece{version, size, begin, end};
}

uint64_t FingerprintOf(const Version& version) {
  return Version{.size = version.size, .mtime_ns = version.mtime_ns, .etag = version.etag}
      .Fingerprint();
}

bool IsSame(const Version& a, const Version& b) {
  return a.size == b.size && a.mtime_ns == b.mtime_ns && a.etag == b.etag;
}

// Opens the folder, and creates it if necessary. Does not follow a symbolic link in the last
// component of the path, because the owner of the link could choose which files are removed.
Result<Descriptor> OpenCacheFolder(const std::string& given) {
  std::string path = given;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Fail(FromErrno(errno), "disk_cache={}: cannot create the folder: {}", path,
                ErrnoText(errno));
  }
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && (errno == ELOOP || errno == ENOTDIR)) {
    return Fail(ErrorCode::kInvalidArgument,
                "disk_cache={}: not a folder, or a symbolic link to one: name the folder itself",
                path);
  }
  struct stat status = {};
  if (!folder || fstat(folder.get(), &status) != 0) {
    return Fail(FromErrno(errno), "disk_cache={}: cannot open the folder: {}", path,
                ErrnoText(errno));
  }
  if (status.st_uid != geteuid()) {
    return Fail(
        ErrorCode::kPermissionDenied,
        "disk_cache={}: this folder belongs to another user (uid {}): choose one of your own", path,
        status.st_uid);
  }
  if ((status.st_mode & 077) != 0) {
    return Fail(ErrorCode::kPermissionDenied,
                "disk_cache={}: others may enter this folder: chmod 700 it, or choose one that "
                "does not exist yet",
                path);
  }
  if (auto claimed = ClaimCacheFolder(folder, path); !claimed) return Fail(claimed);
  return folder;
}

}  // namespace

Result<void> PrepareCacheFolder(const std::string& path) {
  if (path.empty()) return {};
  const auto folder = OpenCacheFolder(path);
  if (!folder) return Fail(folder);
  return {};
}

Result<std::unique_ptr<DiskCache>> DiskCache::Open(const std::string& path, uint64_t capacity) {
  auto folder = OpenCacheFolder(path);
  if (!folder) return Fail(folder);
  mkdirat(folder->get(), kNewFiles, 0700);
  return std::unique_ptr<DiskCache>(new DiskCache(*std::move(folder), capacity));
}

std::shared_ptr<const DiskCache::Listing> DiskCache::List(const std::string& path, bool again) {
  auto known = listings_.Get(path);
  const int64_t now_ns = SteadyNowNs();
  if (known != nullptr && (!again || now_ns - known->listed_ns < kListingNs)) return known;
  Listing listing{.listed_ns = now_ns};
  const FolderNames names = ReadNames(
      Descriptor(openat(folder_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  while (const dirent* const entry = names == nullptr ? nullptr : readdir(names.get())) {
    const auto piece = ParseFileName<Piece>(entry->d_name);
    if (piece) listing.pieces.push_back(*piece);
    if (listing.pieces.size() == kMaxPieces) break;
  }
  std::ranges::sort(listing.pieces);
  Keep(path, std::move(listing));
  return listings_.Get(path);
}

void DiskCache::Keep(const std::string& path, Listing listing) {
  const size_t charge = 256 + path.size() + listing.pieces.capacity() * sizeof(Piece);
  listings_.Put(path, std::make_shared<Listing>(std::move(listing)), charge);
}

std::vector<DiskCache::Piece> DiskCache::Cover(const Listing& listing, const Piece& wanted) {
  std::vector<Piece> cover;
  uint64_t at = wanted.begin;
  auto piece = std::ranges::lower_bound(listing.pieces,
                                        Piece{.version = wanted.version,
                                              .size = wanted.size,
                                              .begin = at - std::min(at, DiskEntry::kMaxBytes),
                                              .end = 0});
  while (at < wanted.end) {
    std::optional<Piece> longest;
    for (; piece != listing.pieces.end() && piece->version == wanted.version &&
           piece->size == wanted.size && piece->begin <= at;
         ++piece) {
      if (piece->end > at && (!longest || piece->end > longest->end)) longest = *piece;
    }
    if (!longest) return {};
    at = longest->end;
    cover.push_back(*longest);
  }
  return cover;
}

std::optional<DiskEntryFile> DiskCache::OpenPiece(const std::string& path, const Piece& piece,
                                                  std::string_view object) {
  const std::string name = FileNameOf(path, piece);
  Descriptor file(
      openat(folder_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    listings_.Erase(path);
    return std::nullopt;
  }
  auto opened = DiskEntryFile::Open(std::move(file));
  if (opened && opened->entry().object == object && opened->entry().begin == piece.begin &&
      opened->entry().end() == piece.end &&
      FingerprintOf(opened->entry().version) == piece.version) {
    return opened;
  }
  Remove(path, piece);
  return std::nullopt;
}

std::optional<Version> DiskCache::Find(std::string_view object, ByteRange range) {
  const std::string path = FolderNameOf(object);
  for (const bool again : {false, true}) {
    const auto listing = List(path, again);
    if (listing == nullptr) return std::nullopt;
    const Piece* last = nullptr;
    for (const Piece& piece : listing->pieces) {
      if (last != nullptr && last->version == piece.version && last->size == piece.size) continue;
      last = &piece;
      const uint64_t length = std::min(range.length, piece.size);
      const uint64_t begin =
          range.from_end ? piece.size - length : std::min(range.offset, piece.size);
      const uint64_t end = begin + std::min(length, piece.size - begin);
      const auto cover = Cover(*listing, {piece.version, piece.size, begin, end});
      if (cover.empty()) continue;
      if (const auto file = OpenPiece(path, cover.front(), object)) return file->entry().version;
    }
  }
  return std::nullopt;
}

bool DiskCache::Read(std::string_view object, const Version& version, uint64_t begin,
                     std::span<std::byte> out) {
  const std::string path = FolderNameOf(object);
  const Piece wanted{FingerprintOf(version), version.size, begin, begin + out.size()};
  std::vector<Piece> cover;
  for (const bool again : {false, true}) {
    const auto listing = List(path, again);
    if (listing != nullptr) cover = Cover(*listing, wanted);
    if (!cover.empty()) break;
  }
  if (cover.empty()) return false;
  for (const Piece& piece : cover) {
    const auto file = OpenPiece(path, piece, object);
    if (!file || !IsSame(file->entry().version, version)) return false;
    const auto part = out.first(std::min<uint64_t>(out.size(), piece.end - begin));
    if (!file->Read(begin, part)) {
      Remove(path, piece);
      return false;
    }
    file->Touch();
    begin += part.size();
    out = out.subspan(part.size());
  }
  return true;
}

void DiskCache::Remove(const std::string& path, const Piece& piece) {
  const std::string name = FileNameOf(path, piece);
  struct stat status = {};
  if (fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      RemoveFile(folder_.get(), name.c_str())) {
    space_.GiveBack(static_cast<uint64_t>(status.st_size));
  }
  listings_.Erase(path);
}

bool DiskCache::WriteFile(const std::string& path, const Piece& piece,
                          std::span<const std::byte> head, std::span<const std::byte> bytes) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
  const std::string temporary = fmt::format("{}/{:016x}", kNewFiles, random);
  const Descriptor file(openat(folder_.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  bool is_there = WriteAll(file, 0, head) && WriteAll(file, head.size(), bytes);
  if (is_there) {
    mkdirat(folder_.get(), path.substr(0, path.find('/')).c_str(), 0700);
    mkdirat(folder_.get(), path.c_str(), 0700);
    is_there = renameat(folder_.get(), temporary.c_str(), folder_.get(),
                        FileNameOf(path, piece).c_str()) == 0;
  }
  if (!is_there) RemoveFile(folder_.get(), temporary.c_str());
  return is_there;
}

void DiskCache::Write(std::string_view object, const Version& version, uint64_t begin,
                      std::span<const std::byte> bytes) {
  const std::string path = FolderNameOf(object);
  const Piece piece{FingerprintOf(version), version.size, begin, begin + bytes.size()};
  const auto before = List(path, /*again=*/false);
  if (before == nullptr || !Cover(*before, piece).empty()) return;
  const auto head =
      HeadOf({.object = std::string(object),
              .version = {.size = version.size, .mtime_ns = version.mtime_ns, .etag = version.etag},
              .begin = begin,
              .length = bytes.size()},
             bytes);
  const uint64_t size = head.size() + bytes.size();
  if (head.empty() || !space_.Take(size)) return;
  if (!WriteFile(path, piece, head, bytes)) return space_.GiveBack(size);
  Listing after = *before;
  for (const Piece& other : before->pieces) {
    if (other.version != piece.version) Remove(path, other);
  }
  std::erase_if(after.pieces, [&](const Piece& each) { return each.version != piece.version; });
  after.pieces.insert(std::ranges::lower_bound(after.pieces, piece), piece);
  Keep(path, std::move(after));
}

}  // namespace zarrfs
