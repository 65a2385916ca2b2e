// StoredObjects: which stored objects one array has, by listing the folders that exist; the grid is
// never walked. Whatever cannot be read is never taken for absent.
#ifndef ZARRCORE_ARRAY_STORED_OBJECTS_H_
#define ZARRCORE_ARRAY_STORED_OBJECTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/chunk_index.h"
#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

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
  struct Walking;
  // Both false once the walk is to end. VisitNamed() visits an object, if it exists, without a
  // listing.
  Result<bool> VisitNamed(Walking& walking, const std::string& folder,
                          const std::string& name) const;
  Result<bool> WalkFolder(Walking& walking, const std::string& folder, size_t level) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_STORED_OBJECTS_H_
