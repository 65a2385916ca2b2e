// Store: the only way to read data. It returns bytes by key, from a local folder or another source
// of named objects.
//
// Keys are paths inside the store without a leading slash: "", "a", "a/zarr.json", "a/c/0/1". Each
// call can be served by one request to an object store: a suffix range needs no size, every answer
// has the object's Version, and later reads of an Object either return bytes of that version or
// fail.
//
// Thread-safe. A call may block until the store answers; callers that must not wait check
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

/// Identifies the content of the object of one key: while its version is the same, it has the same
/// bytes. Objects of different keys may have equal versions. Includes ctime, because all other
/// fields may be the same after a file is deleted and created again with the old mtime.
struct Version {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;  // in bytes
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  std::string etag;           // empty for a local file
  uint32_t mode_mask = 0777;  // the permission bits that the folders above the object allow

  bool operator==(const Version&) const = default;

  /// A hash of the version. In practice, different versions have different hashes. Never 0.
  [[nodiscard]] uint64_t Fingerprint() const;
};

/// The attributes of an object or a folder.
struct ObjectInfo {
  Version version;
  bool is_folder = false;
  uint32_t mode = 0444;  // the permission bits, reduced to those that the folders above allow
  uint32_t uid = 0;
  uint32_t gid = 0;
  /// True if the object was reached through a symbolic link or another mount, or has several hard
  /// links. The object may then change without an event in the folder where it was found; see
  /// Store::Watch().
  bool may_change_elsewhere = false;

  [[nodiscard]] uint64_t size() const { return version.size; }
};

/// A part of an object: `length` bytes from `offset`, or the last `length` bytes. A range that
/// extends beyond the object is clipped; the answer states the range that was read.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool from_end = false;

  static ByteRange At(uint64_t offset, uint64_t length) { return {offset, length, false}; }
  static ByteRange Suffix(uint64_t length) { return {0, length, true}; }
};

/// One version of one object, for later reads. An Object need not keep a descriptor open, but never
/// returns bytes of another version.
class Object {
 public:
  virtual ~Object() = default;

  [[nodiscard]] virtual const ObjectInfo& info() const = 0;

  /// True if the object comes from a listing of a slow store. Programs read few of the objects that
  /// they list.
  [[nodiscard]] virtual bool was_listed() const { return false; }

  /// True if the object was opened in a slow store that requests the first bytes of each object it
  /// opens. The store omits these bytes while too many of them are still unread.
  [[nodiscard]] virtual bool came_with_first_bytes() const { return false; }

  /// Fills `out` with the bytes at `offset`. kStale if the object no longer has this version;
  /// kDamaged if the object ends before the range does. On failure the content of `out` is
  /// unspecified.
  [[nodiscard]] virtual Result<void> Read(uint64_t offset, std::span<std::byte> out) const = 0;
};

struct ReadAnswer {
  std::shared_ptr<const Object> object;  // the version that was read; never null
  uint64_t offset = 0;                   // the offset of the first byte read
  size_t length = 0;                     // the number of bytes read into the buffer
  /// Identifies the state of the store that was read, for Store::ReadAsOf(). 0 if the store does
  /// not number its states.
  uint32_t step = 0;
};

/// The information that a listing returns about an object in addition to its name.
struct ListedObject {
  std::shared_ptr<const Object> object;  // never null
  int64_t asked_ns = 0;                  // SteadyNowNs() before the listing's page was requested
};

struct ListEntry {
  std::string name;  // one path component
  bool is_folder = false;
  /// True if the name exists, but every access fails with an error other than kNotFound: a symbolic
  /// link that is not followed, a socket, FIFO or device (is_folder is false), or a zarrfs mount
  /// (is_folder is true).
  bool is_refused = false;
  /// The listed version of the object. Null if the listing does not state versions.
  std::shared_ptr<const ListedObject> listed = {};

  bool operator==(const ListEntry&) const = default;
};

/// Streams the names in a folder, in an order that the store chooses. A name that exists during the
/// whole listing is returned exactly once; a name that is added or removed during the listing may
/// be missing. A stream may outlive the store, and is used by one thread at a time.
class FolderStream {
 public:
  virtual ~FolderStream() = default;

  /// Returns the next names: between one and `count`, which must be above 0; none at the end. After
  /// a failure the stream must not be used again, because it may have lost names.
  [[nodiscard]] virtual Result<std::vector<ListEntry>> Next(size_t count) = 0;
};

/// The size and free space of the file system below the store, as in statvfs(3).
struct StoreCapacity {
  uint64_t block_size = 4096;
  uint64_t blocks = 0, blocks_free = 0, blocks_available = 0;
  uint64_t files = 0, files_free = 0;
};

/// A notification about changes in a store.
struct Changes {
  std::vector<std::string> keys;     // the keys of objects and folders that have changed
  std::vector<std::string> folders;  // anything directly in these folders may have changed
  // Folders that have not changed, but from which later changes will not be reported.
  std::vector<std::string> unwatched = {};
  bool all = false;  // anything in the store may have changed
  // Any name may now refer to another object, but only the objects in `keys` have changed.
  bool all_names = false;
  // A store with ChangesInSteps() reports each change twice. The first report, with is_coming,
  // precedes the change: before the listener returns, it must drop all cached answers about the
  // objects, and it must cache none until the second report. The second report, with was_announced,
  // follows the change.
  bool is_coming = false;
  bool was_announced = false;

  [[nodiscard]] size_t size() const { return keys.size() + folders.size() + unwatched.size(); }
};
using ChangeListener = std::function<void(const Changes&)>;

/// How much of a store is watched.
struct WatchState {
  size_t folders = 0;
  std::string limit;  // why changes in unwatched folders are noticed late; "" if there is no limit
};

class Store {
 public:
  virtual ~Store() = default;

  /// Returns the attributes of an object or folder. kNotFound if it does not exist.
  [[nodiscard]] virtual Result<ObjectInfo> Stat(std::string_view key) const = 0;

  /// Reads `range` of the object into the beginning of `out`; never more than out.size() bytes.
  /// kNotFound if the key has no object. A folder is not an object.
  [[nodiscard]] virtual Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                                std::span<std::byte> out) const = 0;

  /// Begins to list the names directly below a folder; "" is the root. kNotFound if the folder does
  /// not exist.
  [[nodiscard]] virtual Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const = 0;

  /// Returns all names of OpenFolder().
  [[nodiscard]] Result<std::vector<ListEntry>> List(std::string_view folder) const;

  /// The offset of an object in the file that contains it, for programs that read the object from
  /// that file. 0 in a store whose objects are files. kUnsupported if the object is compressed in
  /// its file, or refers to bytes of another file.
  [[nodiscard]] virtual Result<uint64_t> OffsetInFile(std::string_view /*key*/) const { return 0; }

  /// The common attributes of all folders, if a folder is only a prefix of keys and exists while an
  /// object has that prefix; otherwise nullopt.
  [[nodiscard]] virtual std::optional<ObjectInfo> FolderOfKeys() const { return std::nullopt; }

  /// True if every call takes only as long as on a local disk. If false, callers wait for answers
  /// on separate threads.
  [[nodiscard]] virtual bool AnswersFast() const = 0;

  /// True if listing a folder of an array takes one request for each object that might exist, as on
  /// a web server. Callers must then read a chunk without listing its folder.
  [[nodiscard]] virtual bool ListsByAsking() const { return false; }

  /// True if the whole store changes atomically: a reader that has seen one object of the new state
  /// sees no object of the old state. The exception is an Object, which reads its own version until
  /// it is destroyed. Needs StartWatching(), unless the store never changes.
  [[nodiscard]] virtual bool ChangesInSteps() const { return false; }

  /// In a store with ChangesInSteps(), reads an object from an earlier state of the store. `step`
  /// is the ReadAnswer::step of an earlier call, and is only valid in this process. kStale if that
  /// state was too long ago, or no longer exists in the store.
  [[nodiscard]] virtual Result<ReadAnswer> ReadAsOf(uint32_t /*step*/, std::string_view key,
                                                    ByteRange /*range*/,
                                                    std::span<std::byte> /*out*/) const {
    return Fail(ErrorCode::kStale, "{}: replaced, and the store has no earlier versions", key);
  }

  /// The time in nanoseconds after a change (Version::ctime_ns) in which another change may leave
  /// the version unchanged. An object that changed more recently is racy and must not be cached.
  [[nodiscard]] virtual int64_t TimestampGranularityNs() const = 0;

  /// Returns the size and free space of the store, for df(1). kUnsupported if they are unknown.
  [[nodiscard]] virtual Result<StoreCapacity> Capacity() const {
    return Fail(ErrorCode::kUnsupported, "{}: this store has no capacity", name());
  }

  // To find out how long an answer is valid, call Watch() first, then Stat(), Read() or
  // OpenFolder(), and keep the count that Watch() returned with the answer. A store that can be
  // watched counts its changes: the answer is valid while change_count() equals that count.

  /// Starts watching. Must not be called again. Afterwards the store calls `listener`, on a thread
  /// of the store, each time change_count() has grown, and calls `report` with a message for the
  /// log if it cannot watch everything. kUnsupported, with the reason, if the store cannot be
  /// watched at all.
  [[nodiscard]] virtual Result<void> StartWatching(
      ChangeListener /*listener*/, std::function<void(std::string_view)> /*report*/) const {
    return Fail(ErrorCode::kUnsupported, "{}: this store cannot be watched", name());
  }

  /// Watches `folder`, which need not exist. From then on, every change in the folder (to a name,
  /// or to an object's bytes or attributes) or to a folder above it increments change_count().
  /// Returns that count; 0 if the folder cannot be watched. Objects that may_change_elsewhere are
  /// not covered.
  [[nodiscard]] virtual uint64_t Watch(std::string_view /*folder*/) const { return 0; }

  /// Like Watch(), for all names in the folder. Watch() may ignore changes of objects whose names
  /// cannot be part of a Zarr hierarchy, such as temporary files of writers.
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

/// The result of ReadWhole(), which reads a whole object of at most `limit` bytes, all from one
/// version. kTooLarge if the object is larger. If the object did not fit into the first request,
/// calls `make_room` (unless null) with the object's size before allocating memory for the object.
/// `make_room` may fail.
struct WholeObject {
  std::string bytes;
  std::shared_ptr<const Object> object;
  uint32_t step = 0;  // see ReadAnswer::step
};
using MakeRoom = std::function<Result<void>(uint64_t size)>;
[[nodiscard]] Result<WholeObject> ReadWhole(const Store& store, std::string_view key,
                                            uint64_t limit, const MakeRoom& make_room = {});

/// The part of `key` before its last slash; "" for a name at the root.
[[nodiscard]] inline std::string_view FolderOf(std::string_view key) {
  const size_t slash = key.rfind('/');
  return key.substr(0, slash == std::string_view::npos ? 0 : slash);
}

/// The part of `key` after its last slash.
[[nodiscard]] inline std::string_view NameOf(std::string_view key) {
  return key.substr(key.rfind('/') + 1);  // 0 without a slash, because npos + 1 is 0
}

/// `folder` + "/" + `name`, or just `name` at the root.
[[nodiscard]] std::string JoinKey(std::string_view folder, std::string_view name);

/// True if `key` is "" or consists of components joined by "/", without NUL, none of which is
/// empty, "." or "..". A Store fails with kInvalidArgument for any other key.
[[nodiscard]] bool IsValidKey(std::string_view key);

}  // namespace zarrfs
