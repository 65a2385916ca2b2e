// Store: the one way to read. Bytes by key, from a local directory or anything else that holds
// named objects.
//
// Keys are paths inside the store without a leading slash: "", "a", "a/zarr.json", "a/c/0/1".
// The interface asks nothing that an object store cannot answer in one request: a suffix range
// needs no size, every answer carries the object's Version, and what was read once can be read on
// (Object) with the promise that it is still the same version.
//
// Every member may be called from any thread. A call may take as long as the store takes; callers
// that must not wait look at AnswersFast().
#ifndef ZARRCORE_STORE_STORE_H_
#define ZARRCORE_STORE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// What an object was when it was read. Two equal versions hold the same bytes.
/// ctime is part of it: an unlink and re-create with a kept mtime repeats everything else.
struct Version {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  std::string etag;           // of stores that have one; empty for a local file
  uint32_t mode_mask = 0777;  // permissions that the folders above leave to it

  bool operator==(const Version&) const = default;

  /// 64 bits that differ, for all practical purposes, whenever the versions do. Never 0.
  [[nodiscard]] uint64_t Fingerprint() const;
};

/// An object or a folder, as a file system would describe it.
struct ObjectInfo {
  Version version;
  bool is_folder = false;
  uint32_t mode = 0444;  // permission bits only, no more than the folders above leave to it
  uint32_t uid = 0;
  uint32_t gid = 0;
  /// Reached through a symbolic link, another mount, or one of several hard links: it may change
  /// without a change in the folder where it was found (see Store::Watch).
  bool may_change_elsewhere = false;

  [[nodiscard]] uint64_t size() const { return version.size; }
};

/// Part of an object: `length` bytes from `offset`, or the last `length` bytes. A range that
/// reaches beyond the object is cut to it; the answer says what was read.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool from_end = false;

  static ByteRange At(uint64_t offset, uint64_t length) { return {offset, length, false}; }
  static ByteRange Suffix(uint64_t length) { return {0, length, true}; }
};

/// One version of one object, ready to be read on. Holds no promise that a descriptor stays open,
/// only that another version's bytes are never returned.
class Object {
 public:
  virtual ~Object() = default;

  [[nodiscard]] virtual const ObjectInfo& info() const = 0;

  /// Fills `out` with the bytes at `offset`. kStale once the object is not this version any more;
  /// kDamaged if the object ends before the range does. On failure `out` holds nothing of use.
  [[nodiscard]] virtual Result<void> Read(uint64_t offset, std::span<std::byte> out) const = 0;
};

struct ReadAnswer {
  std::shared_ptr<const Object> object;  // the version that was read; never null
  uint64_t offset = 0;                   // of the first byte read
  size_t length = 0;                     // bytes read into the buffer
};

struct ListEntry {
  std::string name;  // one path component
  bool is_folder = false;
  /// There, but whatever is asked of it fails, not with kNotFound: a symbolic link that is refused,
  /// a socket, FIFO or device (is_folder is false), or a zarrfs mount (is_folder is true).
  bool is_refused = false;

  bool operator==(const ListEntry&) const = default;
};

/// Space of what holds the store, in bytes and objects, as statfs(2) tells it.
struct StoreCapacity {
  uint64_t block_size = 4096;
  uint64_t blocks = 0, blocks_free = 0, blocks_available = 0;
  uint64_t files = 0, files_free = 0;
};

/// What has changed in a store that tells of it.
struct Changes {
  std::vector<std::string> keys;  // of objects and folders
  bool all = false;               // more than can be named: perhaps everything
};
using ChangeListener = std::function<void(const Changes&)>;

/// What a store watches at this moment.
struct WatchState {
  size_t folders = 0;
  std::string limit;  // why changes in other folders are not told, in a line for people; else ""
};

class Store {
 public:
  virtual ~Store() = default;

  /// What is known of an object or folder without reading it. kNotFound if there is none.
  [[nodiscard]] virtual Result<ObjectInfo> Stat(std::string_view key) const = 0;

  /// Reads `range` of the object into the front of `out`; never more than out.size() bytes.
  /// kNotFound if there is no such object (a folder is no object).
  [[nodiscard]] virtual Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                                std::span<std::byte> out) const = 0;

  /// The names directly below a folder ("" is the root), in no particular order.
  /// kNotFound if there is no such folder.
  [[nodiscard]] virtual Result<std::vector<ListEntry>> List(std::string_view folder) const = 0;

  /// True where every answer comes at the speed of a local disk. Where it is false, callers wait
  /// for answers on threads that nobody else needs.
  [[nodiscard]] virtual bool AnswersFast() const = 0;

  /// How long after a change (of Version::ctime_ns) another change may leave the version the same:
  /// an object younger than this is used, but never remembered. Nanoseconds.
  [[nodiscard]] virtual int64_t TimestampGranularityNs() const = 0;

  /// For df; kUnsupported where the question has no meaning.
  [[nodiscard]] virtual Result<StoreCapacity> Capacity() const {
    return Fail(ErrorCode::kUnsupported, "{}: the store has no capacity to tell", name());
  }

  // A store that can tell of its changes does so by a number that grows with each of them. Who asks
  // calls Watch() first, then Stat(), Read() or List(), and keeps what Watch() gave with the
  // answer: the answer is current for as long as change_count() is the same.

  /// Begins to tell of changes; once. The listener is called after change_count() has grown, from a
  /// thread of the store's own, and `report` with one line for people when not everything that is
  /// asked for can be watched. kUnsupported, with the reason, if the store cannot tell of any
  /// change.
  [[nodiscard]] virtual Result<void> StartWatching(
      ChangeListener /*listener*/, std::function<void(std::string_view)> /*report*/) const {
    return Fail(ErrorCode::kUnsupported, "{}: this store does not tell of changes", name());
  }

  /// change_count(), if from now on it grows with every change in `folder` (a name, an object's
  /// bytes or attributes) or to what lies above it; the folder may be absent. 0 if that cannot be
  /// promised. Says nothing about objects that may_change_elsewhere.
  [[nodiscard]] virtual uint64_t Watch(std::string_view /*folder*/) const { return 0; }

  [[nodiscard]] virtual uint64_t change_count() const { return 0; }

  [[nodiscard]] virtual WatchState watch_state() const { return {}; }

  /// Lets go of what was kept for a next read and has not been read for a minute. An Object is
  /// opened again when it is read again, and kStale by then if it was removed or replaced.
  virtual void CloseIdle() const {}

  /// What people call this store, for messages: the path or address.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// A whole object of at most `limit` bytes (kTooLarge beyond), all of one version.
struct WholeObject {
  std::string bytes;
  std::shared_ptr<const Object> object;
};
[[nodiscard]] Result<WholeObject> ReadWhole(const Store& store, std::string_view key,
                                            uint64_t limit);

/// `key` up to its last slash; "" for a name at the root.
[[nodiscard]] inline std::string_view FolderOf(std::string_view key) {
  const size_t slash = key.rfind('/');
  return key.substr(0, slash == std::string_view::npos ? 0 : slash);
}

/// `folder` + "/" + `name`, or `name` alone at the root.
[[nodiscard]] std::string JoinKey(std::string_view folder, std::string_view name);

/// Whether `key` is "" or components joined by "/", none of them empty, "." or "..", and holds no
/// NUL. A Store answers kInvalidArgument to any other.
[[nodiscard]] bool IsValidKey(std::string_view key);

}  // namespace zarrfs

#endif  // ZARRCORE_STORE_STORE_H_
