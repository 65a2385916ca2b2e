// Store: the only way to read data. Bytes by key, from a local directory or another source of named
// objects.
//
// Keys are paths inside the store without a leading slash: "", "a", "a/zarr.json", "a/c/0/1". Each
// call can be served by one request to an object store: a suffix range needs no size, every answer
// carries the object's Version, and further reads of an Object either come from that same version
// or fail.
//
// Thread-safe. A call may block for as long as the store takes; callers that must not wait check
// AnswersFast() first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Identifies the content of an object: equal versions hold the same bytes. Includes ctime:
/// unlinking and recreating a file with a kept mtime may repeat all other fields.
struct Version {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  std::string etag;           // empty for a local file
  uint32_t mode_mask = 0777;  // permission bits that the folders above leave to the object

  bool operator==(const Version&) const = default;

  /// 64 bits that differ, for all practical purposes, whenever the versions do. Never 0.
  [[nodiscard]] uint64_t Fingerprint() const;
};

/// The attributes of an object or a folder.
struct ObjectInfo {
  Version version;
  bool is_folder = false;
  uint32_t mode = 0444;  // permission bits only, no more than the folders above leave to it
  uint32_t uid = 0;
  uint32_t gid = 0;
  /// Reached through a symbolic link or another mount, or has several hard links: it may change
  /// without an event in the folder where it was found (see Store::Watch).
  bool may_change_elsewhere = false;

  [[nodiscard]] uint64_t size() const { return version.size; }
};

/// Part of an object: `length` bytes from `offset`, or the last `length` bytes. A range that
/// reaches beyond the object is clipped; the answer states the range that was read.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool from_end = false;

  static ByteRange At(uint64_t offset, uint64_t length) { return {offset, length, false}; }
  static ByteRange Suffix(uint64_t length) { return {0, length, true}; }
};

/// One version of one object, for further reads. Need not keep a descriptor open, but never returns
/// bytes of another version.
class Object {
 public:
  virtual ~Object() = default;

  [[nodiscard]] virtual const ObjectInfo& info() const = 0;

  /// Fills `out` with the bytes at `offset`. kStale if the object is no longer this version;
  /// kDamaged if it ends before the range does. On failure the content of `out` is unspecified.
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
  /// Exists, but every access fails (not with kNotFound): a symbolic link that is not followed, a
  /// socket, FIFO or device (is_folder is false), or a zarrfs mount (is_folder is true).
  bool is_refused = false;

  bool operator==(const ListEntry&) const = default;
};

/// Streams the names in a folder, in an order of the store's choice. A name that exists throughout
/// is returned once; one that is added or removed in the meantime may be returned or not. May
/// outlive the store. Used by one thread at a time.
class FolderStream {
 public:
  virtual ~FolderStream() = default;

  /// The next names: between one and `count` (above 0); none at the end. After a failure the stream
  /// must not be used again, as it may have lost names.
  [[nodiscard]] virtual Result<std::vector<ListEntry>> Next(size_t count) = 0;
};

/// Size and free space of the file system below the store, as in statvfs(3).
struct StoreCapacity {
  uint64_t block_size = 4096;
  uint64_t blocks = 0, blocks_free = 0, blocks_available = 0;
  uint64_t files = 0, files_free = 0;
};

/// A notification about changes in a store.
struct Changes {
  std::vector<std::string> keys;     // changed objects and folders
  std::vector<std::string> folders;  // anything directly in these may have changed
  // Nothing has changed in these, but further changes go unnoticed.
  std::vector<std::string> unwatched = {};
  bool all = false;  // anything may have changed
  // If the store ChangesInSteps(), each change is reported twice. The first report comes before the
  // change: when the listener returns, nothing of this may be cached, and no answer may be cached
  // until the second report, which comes after the change.
  bool is_coming = false;
  bool was_announced = false;

  [[nodiscard]] size_t size() const { return keys.size() + folders.size() + unwatched.size(); }
};
using ChangeListener = std::function<void(const Changes&)>;

/// How much of a store is being watched.
struct WatchState {
  size_t folders = 0;
  std::string limit;  // why changes in other folders are noticed late, one line; "" if none
};

class Store {
 public:
  virtual ~Store() = default;

  /// The attributes of an object or folder. kNotFound if it does not exist.
  [[nodiscard]] virtual Result<ObjectInfo> Stat(std::string_view key) const = 0;

  /// Reads `range` of the object into the front of `out`; never more than out.size() bytes.
  /// kNotFound if no such object exists (a folder is not an object).
  [[nodiscard]] virtual Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                                std::span<std::byte> out) const = 0;

  /// Begins to list the names directly below a folder ("" is the root). kNotFound if the folder
  /// does not exist.
  [[nodiscard]] virtual Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const = 0;

  /// All names of OpenFolder().
  [[nodiscard]] Result<std::vector<ListEntry>> List(std::string_view folder) const;

  /// The offset of an object in the file that holds it, for programs that read it there: 0 in a
  /// store whose objects are files themselves. kUnsupported if it is compressed in that file.
  [[nodiscard]] virtual Result<uint64_t> OffsetInFile(std::string_view /*key*/) const { return 0; }

  /// The common attributes of all folders, if folders are mere prefixes of keys and exist wherever
  /// an object has that prefix; else nullopt.
  [[nodiscard]] virtual std::optional<ObjectInfo> FolderOfKeys() const { return std::nullopt; }

  /// True if every answer comes at the speed of a local disk. Otherwise callers wait for answers on
  /// separate threads.
  [[nodiscard]] virtual bool AnswersFast() const = 0;

  /// True if the whole store changes atomically: after a reader has seen one object of the new
  /// state, it sees no object of the old one, except that an Object keeps reading its own version
  /// for as long as it is held. Needs StartWatching(), unless the store never changes.
  [[nodiscard]] virtual bool ChangesInSteps() const { return false; }

  /// How long after a change (Version::ctime_ns) a further change may keep the version equal: an
  /// object younger than this is racy and must not be cached. Nanoseconds.
  [[nodiscard]] virtual int64_t TimestampGranularityNs() const = 0;

  /// For df; kUnsupported if the store has no capacity.
  [[nodiscard]] virtual Result<StoreCapacity> Capacity() const {
    return Fail(ErrorCode::kUnsupported, "{}: this store has no capacity", name());
  }

  // A store that can be watched counts its changes. To cache an answer, call Watch() first, then
  // Stat(), Read() or OpenFolder(), and keep the count from Watch() with the answer: it stays valid
  // until change_count() differs.

  /// Starts watching; call once. Afterwards the store calls `listener`, on a thread of its own,
  /// each time change_count() has grown, and `report` with one line for the log when it cannot
  /// watch everything. kUnsupported, with the reason, if the store cannot be watched at all.
  [[nodiscard]] virtual Result<void> StartWatching(
      ChangeListener /*listener*/, std::function<void(std::string_view)> /*report*/) const {
    return Fail(ErrorCode::kUnsupported, "{}: this store cannot be watched", name());
  }

  /// Watches `folder`, which need not exist: from now on every change in it (to a name, or an
  /// object's bytes or attributes) or to a folder above it increments change_count(). Returns
  /// that count; 0 if the folder cannot be watched. Objects that may_change_elsewhere are not
  /// covered.
  [[nodiscard]] virtual uint64_t Watch(std::string_view /*folder*/) const { return 0; }

  /// As Watch(), for all names in the folder. Watch() may ignore changes of objects whose names
  /// cannot belong to a Zarr hierarchy, such as temporary files of writers.
  [[nodiscard]] virtual uint64_t WatchAllNames(std::string_view folder) const {
    return Watch(folder);
  }

  [[nodiscard]] virtual uint64_t change_count() const { return 0; }

  [[nodiscard]] virtual WatchState watch_state() const { return {}; }

  /// Closes descriptors that have been idle for a minute. An Object reopens its file for the next
  /// read, which fails with kStale if the file was removed or replaced.
  virtual void CloseIdle() const {}

  /// The path or address of the store, for messages.
  [[nodiscard]] virtual std::string name() const = 0;
};

/// A whole object of at most `limit` bytes (kTooLarge beyond), all from one version. `make_room`
/// may be null; otherwise it is called with the size of an object that did not fit the first
/// request, before memory is allocated for it, and may fail.
struct WholeObject {
  std::string bytes;
  std::shared_ptr<const Object> object;
};
using MakeRoom = std::function<Result<void>(uint64_t size)>;
[[nodiscard]] Result<WholeObject> ReadWhole(const Store& store, std::string_view key,
                                            uint64_t limit, const MakeRoom& make_room = {});

/// `key` up to its last slash; "" for a name at the root.
[[nodiscard]] inline std::string_view FolderOf(std::string_view key) {
  const size_t slash = key.rfind('/');
  return key.substr(0, slash == std::string_view::npos ? 0 : slash);
}

/// `key` after its last slash.
[[nodiscard]] inline std::string_view NameOf(std::string_view key) {
  return key.substr(key.rfind('/') + 1);  // npos + 1 is 0
}

/// `folder` + "/" + `name`, or `name` alone at the root.
[[nodiscard]] std::string JoinKey(std::string_view folder, std::string_view name);

/// Whether `key` is "" or components joined by "/", none of them empty, "." or "..", without NUL. A
/// Store answers kInvalidArgument to any other key.
[[nodiscard]] bool IsValidKey(std::string_view key);

}  // namespace zarrfs
