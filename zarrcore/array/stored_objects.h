// StoredObjects: finds the stored objects of one array by listing existing folders. It never
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
  /// Called with the key of an unreadable object or folder, and the error. A folder is unreadable
  /// if it cannot be listed. An entry that the listing marks as refused (ListEntry::is_refused) is
  /// unreadable if its name can belong to an object or a folder of objects. Returns false to end
  /// the walk, and true to continue. If on_unreadable is not set, the first failure ends the walk
  /// with its error, and refused objects are visited like other objects.
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

  /// Returns the values of the coordinate that follows `fixed`, from the names of folders and
  /// objects. Call only if chunks are in nested folders and fixed.size() is below the rank.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(
      std::span<const uint64_t> fixed) const;

 private:
  friend class StoredObjectsCursor;
  // True if `entry`, in a folder at `level`, can be an object or a folder of objects. Appends the
  // coordinates in its name to `at`.
  [[nodiscard]] bool Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

/// Decides an undecided naming: searches the array's folders for stored objects, and uses the
/// naming of the first object found. If no object exists, the naming stays undecided, and all
/// folders were listed. Does nothing if the naming is decided.
[[nodiscard]] Result<void> DecideByListing(const Store& store, const std::string& folder,
                                           const ChunkGrid& grid, const ObjectNaming& naming);

/// The loaded part of the listing of one folder (the window), as the numbers parsed from the names.
/// If the folder has fewer than kNames numbers, the window holds all of them, sorted. In a larger
/// folder, it holds kNames numbers at a time, in the order of the store's listing. Open() can
/// replace kNames with another limit.
class FolderWindow {
 public:
  static constexpr size_t kNames = size_t{1} << 14;  // the number of names in a full window

  using Parse = std::function<std::optional<uint64_t>(const ListEntry&)>;

  /// Makes a window that holds `values`, which must be sorted, instead of the numbers in a folder.
  explicit FolderWindow(std::vector<uint64_t> values) : values_(std::move(values)) {}
  /// Lists the first names of a folder. A missing folder counts as empty. Once a member function
  /// has failed, the FolderWindow must not be used again.
  [[nodiscard]] static Result<FolderWindow> Open(const Store& store, std::string folder,
                                                 Parse parse, size_t names = kNames);

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// True if there is a current number, false at the end of the folder. Lists more names if the
  /// window has no more numbers.
  [[nodiscard]] Result<bool> HasValue();
  /// The current number. Call only if HasValue() has returned true.
  [[nodiscard]] uint64_t value() const { return values_[at_]; }
  void Pass() { ++at_; }

  /// Makes `value` the current number and returns true, if a name in the folder has that number.
  /// Otherwise returns false; the current number is then the next greater one if the window holds
  /// the whole folder, or else the first one of the store's listing.
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
  std::unique_ptr<FolderStream> stream_;  // the rest of the listing; null at the end of the folder
  std::vector<uint64_t> values_;
  size_t at_ = 0;          // an index into values_
  bool is_sorted_ = true;  // true if values_ has all numbers of the folder, sorted
};

/// Iterates over the stored objects of an array. An object that exists throughout the iteration is
/// visited exactly once. Holds one FolderWindow per level of folders, regardless of the number of
/// objects. The order is row-major if every folder has fewer than FolderWindow::kNames names.
/// Watches the folders that it lists. Not thread-safe. After a failure, the iteration starts again
/// from the beginning.
class StoredObjectsCursor {
 public:
  /// Visits the objects whose leading coordinates are `fixed`. If `walk` is not null, visits
  /// objects like StoredObjects::Walk(), in no particular order and without watching; `walk` must
  /// outlive this object.
  StoredObjectsCursor(const StoredObjects& objects, std::span<const uint64_t> fixed,
                      const WalkOptions* walk = nullptr);
  // The functions in windows_ point to this object.
  StoredObjectsCursor(const StoredObjectsCursor&) = delete;
  StoredObjectsCursor& operator=(const StoredObjectsCursor&) = delete;

  /// Returns the current object, or nullopt at the end.
  [[nodiscard]] Result<std::optional<OuterIndex>> Get();
  void Pass() { windows_.back().Pass(); }

  /// Makes `object` the current object. If it no longer exists, the iteration continues from a
  /// place where no later object is skipped, but earlier objects may be repeated.
  [[nodiscard]] Result<void> MoveTo(OuterIndex object);
  void Restart();

  /// The validity of all listings so far.
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  [[nodiscard]] bool IsLeaf(size_t level) const { return is_flat_ || first_ + level + 1 == rank_; }
  Result<std::optional<OuterIndex>> Find();
  Result<void> Move(OuterIndex object);
  // Lists the next level of folders: appends a window for the folder named by the current number.
  Result<void> Descend();
  // Must be called before `folder` is listed: watches it, or calls on_folder with it. Returns false
  // if on_folder ends the walk.
  bool Enter(const std::string& folder);
  // Handles the failure to read an object or folder: calls on_unreadable, unless `error` is
  // kNotFound. Returns false if the walk must fail with `error`.
  bool PassesOver(const std::string& key, const Error& error);
  // True if an object exists or its existence cannot be determined.
  [[nodiscard]] Result<bool> MayExist(const std::string& key);

  const StoredObjects objects_;
  const WalkOptions* const walk_;
  const size_t rank_;
  const size_t first_;  // the number of coordinates that all objects share
  // True if all objects are in one folder, or there is only one object.
  const bool is_flat_;
  ChunkCoordinates at_{};  // the coordinates in the names of the open folders
  std::vector<FolderWindow> windows_;
  bool is_at_end_ = false;
  Validity validity_;
};

}  // namespace zarrfs
