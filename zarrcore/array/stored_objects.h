// StoredObjects: which stored objects one array has, by listing the folders that exist; the grid is
// never walked. Whatever cannot be read is never taken for absent.
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

/// Whether an error says that the store cannot be asked now, so that nothing can be concluded:
/// asking again may succeed. Any other error is a property of one object.
[[nodiscard]] bool IsTemporary(ErrorCode code);

struct WalkOptions {
  /// Called with each folder's key before it is listed; false ends the walk.
  std::function<bool(const std::string& folder)> on_folder = {};
  /// Called with the key of what cannot be read, and why: a folder that cannot be listed, or
  /// something refused that has the name of an object or of a folder of them. False ends the
  /// walk, else it goes on with the rest. Without this, the first failure is the walk's, and
  /// objects that are refused are visited as the others are.
  std::function<bool(const std::string& key, const Error& error)> on_unreadable = {};
};

class StoredObjects {
 public:
  using Visit = std::function<bool(OuterIndex outer)>;

  /// `folder`: key of the array. `grid`: of its stored objects. All outlive this.
  StoredObjects(const Store& store, const std::string& folder, const ChunkNaming& naming,
                const ChunkGrid& grid)
      : store_(store), folder_(folder), naming_(naming), grid_(grid) {}

  /// Calls `visit` with each stored object whose leading coordinates are `fixed`, in no order,
  /// until it returns false.
  [[nodiscard]] Result<void> Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                  const WalkOptions& options = {}) const;

  /// The values of the coordinate after `fixed` that have a folder or an object. Only where chunks
  /// lie in folders of their own, and fixed.size() is below the rank.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(
      std::span<const uint64_t> fixed) const;

 private:
  friend class StoredObjectsCursor;
  // Whether a name in a folder at `level` may be that of an object, or of a folder of them; adds
  // the coordinates that it holds to `at`.
  [[nodiscard]] bool Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

/// Looks for any stored object of an array of which it is undecided how they are called; an object
/// that is found decides. Lists folders, all of them if there is no object.
[[nodiscard]] Result<void> DecideByListing(const Store& store, const std::string& folder,
                                           const ChunkGrid& grid, const ObjectNaming& naming);

/// The numbers that the names in one folder stand for. A folder of fewer than kNames of them is
/// read at once and sorted; of a larger one it holds as many at a time, in the order of the store.
/// (Or of as many as Open() says.)
class FolderWindow {
 public:
  static constexpr size_t kNames = size_t{1} << 14;  // held at a time

  using Parse = std::function<std::optional<uint64_t>(const ListEntry&)>;

  /// Only these values.
  explicit FolderWindow(std::vector<uint64_t> values) : values_(std::move(values)) {}
  /// A folder that does not exist is empty. Once a call has failed, this must not be used again.
  [[nodiscard]] static Result<FolderWindow> Open(const Store& store, std::string folder,
                                                 Parse parse, size_t names = kNames);

  [[nodiscard]] const std::string& folder() const { return folder_; }

  /// Reads on if need be. False at the end.
  [[nodiscard]] Result<bool> HasValue();
  /// Only if HasValue().
  [[nodiscard]] uint64_t value() const { return values_[at_]; }
  void Pass() { ++at_; }

  /// True if it stands at `value` now. Else at the next greater one if it is sorted, and at the
  /// very first if it is not: then nobody knows what came after `value`.
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
  std::unique_ptr<FolderStream> stream_;  // null once it was read to its end
  std::vector<uint64_t> values_;
  size_t at_ = 0;          // in values_
  bool is_sorted_ = true;  // values_ are all that the folder has
};

/// Stands at one stored object after the other. What exists all the while comes once. Holds one
/// FolderWindow for each level of folders, whatever the number of objects. Objects come in
/// row-major order as long as every folder has fewer than FolderWindow::kNames names. Watches the
/// folders. For one thread at a time. After a failure it begins again.
class StoredObjectsCursor {
 public:
  /// The objects whose leading coordinates are `fixed`. `walk`: as StoredObjects::Walk() visits
  /// them, in no order and without watching; outlives this.
  StoredObjectsCursor(const StoredObjects& objects, std::span<const uint64_t> fixed,
                      const WalkOptions* walk = nullptr);
  StoredObjectsCursor(const StoredObjectsCursor&) = delete;  // its windows refer to it
  StoredObjectsCursor& operator=(const StoredObjectsCursor&) = delete;

  /// The object where it stands; nullopt at the end.
  [[nodiscard]] Result<std::optional<OuterIndex>> Get();
  void Pass() { windows_.back().Pass(); }

  /// Moves to `object`. If that does not exist any more, nothing that came after it is left out,
  /// but what came before may come again.
  [[nodiscard]] Result<void> MoveTo(OuterIndex object);
  void Restart();

  /// How long all that was listed holds.
  [[nodiscard]] Validity validity() const { return validity_; }

 private:
  [[nodiscard]] bool IsLeaf(size_t level) const { return is_flat_ || first_ + level + 1 == rank_; }
  Result<std::optional<OuterIndex>> Find();
  Result<void> Move(OuterIndex object);
  // Opens the folder below the windows there are.
  Result<void> Descend();
  // Watches a folder, or announces it; false if the walk ends there.
  bool Enter(const std::string& folder);
  // Whether the walk goes on, or has ended, in spite of what cannot be read.
  bool PassesOver(const std::string& key, const Error& error);
  // Also true of an object that cannot be read.
  [[nodiscard]] Result<bool> MayExist(const std::string& key);

  const StoredObjects objects_;
  const WalkOptions* const walk_;
  const size_t rank_;
  const size_t first_;  // coordinates that are fixed
  // All objects are named in one folder, or there is only one.
  const bool is_flat_;
  ChunkCoordinates at_{};  // of the folders that are open
  std::vector<FolderWindow> windows_;
  bool is_at_end_ = false;
  Validity validity_;
};

}  // namespace zarrfs
