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

class StoredObjects {
 public:
  using Visit = std::function<bool(OuterIndex outer)>;
  using OnFolder = std::function<void(const std::string& folder)>;

  /// `folder`: key of the array. `grid`: of its stored objects. All outlive this.
  StoredObjects(const Store& store, const std::string& folder, const ChunkNaming& naming,
                const ChunkGrid& grid)
      : store_(store), folder_(folder), naming_(naming), grid_(grid) {}

  /// Calls `visit` with each stored object whose leading coordinates are `fixed`, in no order,
  /// until it returns false. `on_folder`: called with each folder's key before it is listed.
  [[nodiscard]] Result<void> Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                  const OnFolder& on_folder = {}) const;

  /// The values of the coordinate after `fixed` that have a folder or an object. Only where chunks
  /// lie in folders of their own, and fixed.size() is below the rank.
  [[nodiscard]] Result<std::vector<uint64_t>> NextCoordinates(
      std::span<const uint64_t> fixed) const;

 private:
  struct Walking;
  Result<bool> MayExist(const std::string& key) const;
  Result<std::vector<uint64_t>> List(const std::string& folder, size_t dimension) const;
  Result<bool> WalkFolder(Walking& walking, const std::string& folder, size_t dimension) const;
  Result<void> WalkFlat(Walking& walking) const;
  [[nodiscard]] std::string Top() const;

  const Store& store_;
  const std::string& folder_;
  const ChunkNaming& naming_;
  const ChunkGrid& grid_;
};

}  // namespace zarrfs

#endif  // ZARRCORE_ARRAY_STORED_OBJECTS_H_
