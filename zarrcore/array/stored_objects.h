// StoredObjects: the stored objects of one array, found by listing existing folders. It never
// iterates over the chunk grid. An unreadable folder or object does not count as absent.
//
//   StoredObjectsCursor cursor(objects, prefix);
//   for (;; cursor.Pass()) {
//     const auto object = cursor.Get();
//     if (!object) return Fail(object);
//     if (!*object) break;
//     Show(**object);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/array/object_naming.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// True if the error means that the store cannot answer now, so a later attempt may succeed. Other
/// errors concern a single object or folder.
[[nodiscard]] bool IsTemporary(ErrorCode code);

struct WalkOptions {
  /// Called with each folder's key before the folder is listed. Returns false to end the walk.
  std::function<bool(const std::string& folder)> on_folder = {};
  /// Called with the key of an unreadable object or folder, and the error. These are folders that
  /// cannot be listed, and refused entries with the name of an object or of a folder of objects.
  /// Returns false to end the walk, and true to continue. If it is not set, the first failure ends
  /// the walk with its error, and refused objects are visited like other objects.
  std::function<bool(const std::string& key, const Error& error)> on_unreadable = {};
};

class StoredObjects {
 public:
  using Visit = std::function<bool(OuterIndex outer)>;

  /// `folder`: the key of the array. `grid`: the grid of its stored objects. All arguments must
  /// outlive this object.
  StoredObjects(const Store& store, const std::string& folder, const ChunkNaming& naming,
                const ChunkGrid& grid)
      : store_(store), folder_(folder), naming_(naming), grid_(grid) {}

  /// Calls `visit` with each stored object whose leading coordinates are `fixed`, in no particular
  /// order, until `visit` returns false.
  [[nodiscard]] Result<void> Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                  const WalkOptions& options = {}) const;

  /// The values that the coordinate after `fixed` has in the names of folders and objects. Call
  /// only if chunks are in nested folders and fixed.size() is below the rank.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(
      std::span<const uint64_t> fixed) const;

 private:
  friend class StoredObjectsCursor;
  // True if a name in a folder at `level` can be that of an object or of a folder of objects. Adds
  // the coordinates of the name to `at`.
  [[nodiscard]] bool Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

/// Searches for any stored object of an array whose naming is undecided. The first object that is
/// found decides the naming. If no object exists, this lists all folders.
[[nodiscard]] Result<void> DecideByListing(const Store& store, const std::string& folder,
                                           const ChunkGrid& grid, const ObjectNaming& naming);

/// The numbers parsed from the names in one folder. If the folder has fewer than kNames numbers,
/// all are read at once and sorted. In a larger folder, kNames numbers (or the number passed to
/// Open()) are held at a time, in the order of the store's listing.
class FolderWindow {
 public:
  static constexpr size_t kNames = size_t{1} << 14;  // the number of names held at a time

  using Parse = std::function<std::optional<uint64_t>(const ListEntry&)>;

  /// A window over the given values instead of a folder.
  explicit FolderWindow(std::vector<uint64_t> values) : values_(std::move(values)) {}
  /// Opens a folder. A missing folder counts as empty. After a failed call the window must not be
  /// used again.
  [[nodiscard]] static Result<FolderWindow> Open(const Store& store, std::string folder,
                                                 Parse parse, size_t names = kNames);

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Reads more names if necessary. False at the end of the folder.
  [[nodiscard]] Result<bool> HasValue();
  /// The current value. Call only if HasValue().
  [[nodiscard]] uint64_t value() const { return values_[at_]; }
  void Pass() { ++at_; }

  /// Moves to `value`, and returns true if the folder has it. Otherwise the window is at the next
  /// greater value if it is sorted, and at the first value if it is not, because the position of
  /// `value` is then unknown.
  [[nodiscard]] Result<bool> MoveTo(uint64_t value);

 private:
  FolderWindow(const Store& store, std::string folder, Parse parse, size_t names)
      : store_(&store), folder_(std::move(folder)), parse_(std::move(parse)), names_(names) {}
  Result<void> Begin();
  Result<void> ReadOn();

  const Store* store_ = nullptr;
  std::string folder_;
  Parse parse_;
  size_t names_ = kNames;
  std::unique_ptr<FolderStream> stream_;  // null at the end of the folder
  std::vector<uint64_t> values_;
  size_t at_ = 0;          // an index into values_
  bool is_sorted_ = true;  // true if values_ are all values of the folder, sorted
};

/// Iterates over stored objects. An object that exists throughout the iteration is visited once.
/// Holds one FolderWindow per level of folders, regardless of the number of objects. The order is
/// row-major if every folder has fewer than FolderWindow::kNames names. Watches the folders. Not
/// thread-safe. Restarts after a failure.
class StoredObjectsCursor {
 public:
  /// Visits the objects whose leading coordinates are `fixed`. If `walk` is not null, visits
  /// objects like StoredObjects::Walk(), in no particular order and without watching; `walk` must
  /// outlive this object.
  StoredObjectsCursor(const StoredObjects& objects, std::span<const uint64_t> fixed,
                      const WalkOptions* walk = nullptr);
  StoredObjectsCursor(const StoredObjectsCursor&) = delete;  // the windows refer to this object
  StoredObjectsCursor& operator=(const StoredObjectsCursor&) = delete;

  /// The current object; nullopt at the end.
  [[nodiscard]] Result<std::optional<OuterIndex>> Get();
  void Pass() { windows_.back().Pass(); }

  /// Moves to `object`. If `object` no longer exists, no later object is skipped, but earlier
  /// objects may be repeated.
  [[nodiscard]] Result<void> MoveTo(OuterIndex object);
  void Restart();

  /// The validity of all listings so far.
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  [[nodiscard]] bool IsLeaf(size_t level) const { return is_flat_ || first_ + level + 1 == rank_; }
  Result<std::optional<OuterIndex>> Find();
  Result<void> Move(OuterIndex object);
  // Opens the next level of folders.
  Result<void> Descend();
  // Watches a folder, or calls on_folder for it. False to end the walk.
  bool Enter(const std::string& folder);
  // Handles an unreadable object or folder. False if the walk must fail with `error`.
  bool PassesOver(const std::string& key, const Error& error);
  // True if an object exists or its existence cannot be determined.
  [[nodiscard]] Result<bool> MayExist(const std::string& key);

  const StoredObjects objects_;
  const WalkOptions* const walk_;
  const size_t rank_;
  const size_t first_;  // the number of fixed coordinates
  // True if all objects are in one folder, or there is only one object.
  const bool is_flat_;
  ChunkCoordinates at_{};  // the coordinates of the open folders
  std::vector<FolderWindow> windows_;
  bool is_at_end_ = false;
  Validity validity_;
};

}  // namespace zarrfs
