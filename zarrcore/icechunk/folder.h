// IcechunkFolder: the names in a folder of an IcechunkStore.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/chunk_finder.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Lists the names in Parts::own first, then the chunk coordinates, then the nodes in the folder.
class IcechunkFolder final : public FolderStream {
 public:
  struct Parts {
    std::vector<ListEntry> own = {};
    IcechunkChunkFinder::Coordinates coordinates = {};
    bool coordinates_are_folders = false;
    bool has_nodes = false;
  };
  /// `prefix`: the path of the folder with a final slash; "" for the root.
  IcechunkFolder(std::shared_ptr<const IcechunkSnapshot> snapshot, std::string prefix, Parts parts);

  [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override;

 private:
  const std::shared_ptr<const IcechunkSnapshot> snapshot_;
  const std::string prefix_;
  const Parts parts_;
  // The indexes of the next names in Parts::own, in the chunk coordinates, and in the snapshot's
  // nodes.
  size_t own_ = 0;
  size_t value_ = 0;
  size_t node_ = 0;
};

}  // namespace zarrfs
