// NodeReader: makes a Node from what the store holds, and what each view makes of it.
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

/// What users choose about a Hierarchy.
struct HierarchyOptions {
  size_t index_cache_bytes = 64u << 20;
  size_t node_cache_bytes = 32u << 20;  // of the cached nodes, about
  size_t consolidated_max = 4096;       // nodes in a consolidated document; 0: make none
  char forced_separator = '\0';
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // shows OME-Zarr metadata in the version that the store has
  CompressorSet compressors = kAllCompressors;  // that readers know
  NetcdfFormat netcdf = NetcdfFormat::kAuto;    // of the files in nc
  uint64_t string_scan = uint64_t{16} << 20;    // stored bytes of an array, looked at for texts
  OnSuperseded on_superseded = {};
  Patience patience = {};  // how long what the store said of nodes and shards is used
  /// Called once for each property of the store that users may want to know and that is no fault,
  /// such as a type that one view does not have.
  Report on_note = {};
  /// The mount shows permissions to other users: a consolidated document repeats no node that is
  /// less open than its group.
  bool is_for_others = false;
};

/// Every member may be called from any thread.
class NodeReader {
 public:
  /// `report`: for what is wrong with the chunks of arrays. `options` and `reports` outlive this.
  NodeReader(std::shared_ptr<const Store> store, const HierarchyOptions& options, Report report,
             NodeReports& reports);

  /// kNotFound if there is no node at `path`, nor a file of an OME group. A node whose documents
  /// cannot be used is one, hidden in every view. Takes the ChunkSource of `before`, an earlier
  /// snapshot or null, as long as chunks lie where they lay. `listed`: unless it is null, answers
  /// for the documents, and the node is provisional.
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
  // Reports what a view leaves out of the array, and why views do not show it. (Of views that are
  // listed: perhaps nobody ever looks into the others.)
  void ReportNotes(const Node& node, std::string_view view, const ArrayView& array) const;
  void ReportHidden(const Node& node) const;

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions& options_;
  const Report report_;
  NodeReports& reports_;
  const std::shared_ptr<IndexCache> index_cache_;
};

}  // namespace zarrfs
