// NodeReader: makes a Node from the store's content, as shown by each view.
#pragma once

#include <memory>
#include <string>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/hierarchy/node_reports.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// Options of a Hierarchy.
struct HierarchyOptions {
  size_t index_cache_bytes = 64u << 20;
  size_t node_cache_bytes = 32u << 20;  // approximate size of the cached nodes
  size_t consolidated_max = 4096;       // maximum nodes in a consolidated document; 0: make none
  char forced_separator = '\0';
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // shows OME-Zarr metadata in the version of the store
  CompressorSet compressors = kAllCompressors;  // that readers know
  NetcdfFormat netcdf = NetcdfFormat::kAuto;    // of the files in nc
  uint64_t string_scan = uint64_t{16} << 20;  // maximum stored bytes of an array scanned for texts
  OnSuperseded on_superseded = {};
  Patience patience = {};  // how long answers of the store about nodes and shards are reused
  /// Called once for each property of the store that users may want to know but that is not a
  /// fault, such as a type that a view lacks.
  Report on_note = {};
  /// The mount shows permissions to other users: a consolidated document omits nodes less open than
  /// its group.
  bool is_for_others = false;
};

/// Every member may be called from any thread.
class NodeReader {
 public:
  /// `report`: for faults in the chunks of arrays. `options` and `reports` must outlive this
  /// object.
  NodeReader(std::shared_ptr<const Store> store, const HierarchyOptions& options, Report report,
             NodeReports& reports);

  /// kNotFound if `path` is neither a node nor a file of an OME group. A node with unusable
  /// documents exists, but is hidden in every view. Reuses the ChunkSource of `before`, an earlier
  /// snapshot or null, if the layout is unchanged. `listed`: unless null, answers requests for the
  /// documents, and the node is provisional.
  [[nodiscard]] Result<std::shared_ptr<const Node>> Read(const std::string& path,
                                                         FromParent from_parent,
                                                         const NodePtr& before,
                                                         const Store* listed = nullptr) const;

  [[nodiscard]] IndexCache& index_cache() const { return *index_cache_; }

 private:
  void ShowGroup(Node& node) const;
  void ShowArray(Node& node, const NodePtr& before) const;
  // Sets node.chunks.
  [[nodiscard]] Result<void> FindChunks(Node& node, const NodePtr& before) const;
  void ShowArrayIn(size_t view, Node& node) const;
  // Reports what listed views omit from the array, and why they do not show it. Unlisted views are
  // perhaps never used.
  void ReportNotes(const Node& node, std::string_view view, const ArrayView& array) const;
  void ReportHidden(const Node& node) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions& options_;
  const Report report_;
  NodeReports& reports_;
  const std::shared_ptr<IndexCache> index_cache_;
};

}  // namespace zarrfs
