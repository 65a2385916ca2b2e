// StoredObjects: the stored objects of one array, found by listing existing folders; it never
// iterates over the grid. Anything unreadable is not mistaken for absent.
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

/// Whether an error means that the store cannot answer now, so asking again may succeed. Any other
/// error is a property of one object.
[[nodiscard]] bool IsTemporary(ErrorCode code);

struct WalkOptions {
  /// Called with each folder's key before it is listed; returns false to end the walk.
  std::function<bool(const std::string& folder)> on_folder = {};
  /// Called with the key of anything unreadable, and the error: a folder that cannot be listed, or
  /// a refused entry with the name of an object or of a folder of objects. Returns false to end the
  /// walk, true to continue with the rest. If not set, the first failure ends the walk with its
  /// error, and refused objects are visited like others.
  std::function<bool(const std::string& key, const Error& error)> on_unreadable = {};
};

class StoredObjects {
 public:
  using Visit = std::function<bool(OuterIndex outer)>;

  /// `folder`: key of the array. `grid`: of its stored objects. All must outlive this object.
  StoredObjects(const Store& store, const std::string& folder, const ChunkNaming& naming,
                const ChunkGrid& grid)
      : store_(store), folder_(folder), naming_(naming), grid_(grid) {}

  /// Calls `visit` with each stored object whose leading coordinates are `fixed`, in no order,
  /// until it returns false.
  [[nodiscard]] Result<void> Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                  const WalkOptions& options = {}) const;

  /// The values of the coordinate after `fixed` that have a folder or an object. Only if chunks lie
  /// in nested folders, and fixed.size() is below the rank.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(
      std::span<const uint64_t> fixed) const;

 private:
  friend class StoredObjectsCursor;
  // Whether a name in a folder at `level` may belong to an object, or to a folder of objects; adds
  // its coordinates to `at`.
  [[nodiscard]] bool Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

/// Looks for any stored object of an array whose naming is undecided; the first object that is
/// found decides. Lists all folders if there is no object.
[[nodiscard]] Result<void> DecideByListing(const Store& store, const std::string& folder,
                                           const ChunkGrid& grid, const ObjectNaming& naming);

/// The numbers parsed from the names in one folder. A folder with fewer than kNames of them is read
/// at once and sorted; of a larger one it holds kNames at a time (or the number passed to Open()),
/// in the order of the store.
class FolderWindow {
 public:
  static constexpr size_t kNames = size_t{1} << 14;  // held at a time

  using Parse = std::function<std::optional<uint64_t>(const ListEntry&)>;

  /// Contains only these values.
  explicit FolderWindow(std::vector<uint64_t> values) : values_(std::move(values)) {}
  /// A missing folder counts as empty. After a failed call this object must not be used again.
  [[nodiscard]] static Result<FolderWindow> Open(const Store& store, std::string folder,
                                                 Parse parse, size_t names = kNames);

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Reads more names if necessary. False at the end.
  [[nodiscard]] Result<bool> HasValue();
  /// Only if HasValue().
  [[nodiscard]] uint64_t value() const { return values_[at_]; }
  void Pass() { ++at_; }

  /// True if the window is at `value` now. Otherwise it is at the next greater one if sorted, and
  /// at the very first if unsorted, because the position of `value` is unknown then.
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
  std::unique_ptr<FolderStream> stream_;  // null once it is exhausted
  std::vector<uint64_t> values_;
  size_t at_ = 0;          // in values_
  bool is_sorted_ = true;  // values_ are the whole folder
};

/// Iterates over stored objects. An object that exists throughout is visited once. Holds one
/// FolderWindow per level of folders, regardless of the number of objects. The order is row-major
/// as long as every folder has fewer than FolderWindow::kNames names. Watches the folders. For one
/// thread at a time. Restarts after a failure.
class StoredObjectsCursor {
 public:
  /// The objects whose leading coordinates are `fixed`. `walk`: visits them like
  /// StoredObjects::Walk(), in no order and without watching; must outlive this object.
  StoredObjectsCursor(const StoredObjects& objects, std::span<const uint64_t> fixed,
                      const WalkOptions* walk = nullptr);
  StoredObjectsCursor(const StoredObjectsCursor&) = delete;  // its windows refer to it
  StoredObjectsCursor& operator=(const StoredObjectsCursor&) = delete;

  /// The current object; nullopt at the end.
  [[nodiscard]] Result<std::optional<OuterIndex>> Get();
  void Pass() { windows_.back().Pass(); }

  /// Moves to `object`. If it no longer exists, no later object is skipped, but earlier ones may be
  /// repeated.
  [[nodiscard]] Result<void> MoveTo(OuterIndex object);
  void Restart();

  /// The validity of everything listed so far.
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  [[nodiscard]] bool IsLeaf(size_t level) const { return is_flat_ || first_ + level + 1 == rank_; }
  Result<std::optional<OuterIndex>> Find();
  Result<void> Move(OuterIndex object);
  // Opens the next level of folders.
  Result<void> Descend();
  // Watches a folder, or announces it; false to end the walk.
  bool Enter(const std::string& folder);
  // Whether the walk continues, or ends without an error, after something unreadable.
  bool PassesOver(const std::string& key, const Error& error);
  // Also true for an object that cannot be read.
  [[nodiscard]] Result<bool> MayExist(const std::string& key);

  const StoredObjects objects_;
  const WalkOptions* const walk_;
  const size_t rank_;
  const size_t first_;  // number of fixed coordinates
  // All objects are in one folder, or there is only one.
  const bool is_flat_;
  ChunkCoordinates at_{};  // of the open folders
  std::vector<FolderWindow> windows_;
  bool is_at_end_ = false;
  Validity validity_;
};

}  // namespace zarrfs
