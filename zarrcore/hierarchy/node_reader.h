// NodeReader: reads a node's documents from the store, and makes the Node with all its views.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "zarrcore/array/chunk_source.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/hierarchy/node_reports.h"
#include "zarrcore/hierarchy/outline.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// Options of a Hierarchy.
struct HierarchyOptions {
  size_t index_cache_bytes = 64u << 20;
  size_t node_cache_bytes = 32u << 20;  // approximate size of the cached nodes
  // The maximum number of nodes in a consolidated document; 0: make none.
  size_t consolidated_max = 4096;
  char forced_separator = '\0';
  FillPolicy fill = FillPolicy::kAuto;
  bool keeps_ome = false;  // true to show OME-Zarr metadata in the stored version
  CompressorSet compressors = kAllCompressors;  // the compressors that readers support
  NetcdfFormat netcdf = NetcdfFormat::kAuto;    // the format of the files in the `nc` view
  // For strings and one-dimensional arrays, the limit of ScanElements() in stored bytes.
  uint64_t string_scan = uint64_t{16} << 20;
  OnSuperseded on_superseded = {};
  AnswerReuse reuse = {};  // how long the store's answers about nodes and shards are reused
  /// Called once for each property of the store that is not a fault but that users may want to
  /// know, such as a type that a view does not support.
  Report on_note = {};
  /// True if other users may access the mount. A consolidated document then omits nodes with
  /// stricter permissions than its group.
  bool is_for_others = false;
};

/// Identifies a node's document for NodeReader::Remember(): the document's version, and its key in
/// KnownKinds.
struct OutlineKey {
  std::optional<Version> version;
  std::optional<Digest> kind;
};

/// Reads nodes. Every member may be called from any thread.
class NodeReader {
 public:
  /// `report` is called for faults in the chunks of arrays. `options` and `reports` must outlive
  /// this object.
  NodeReader(std::shared_ptr<const Store> store, const HierarchyOptions& options, Report report,
             NodeReports& reports);

  /// Reads the node at `path`; kNotFound if `path` is neither a node nor a file of an OME group. A
  /// node with unusable documents is returned, but every view hides it. Reuses the ChunkSource of
  /// `before`, an earlier snapshot or null, if the layout is unchanged. If `listed` is not null,
  /// the documents are read from `listed` and the node is provisional.
  [[nodiscard]] Result<std::shared_ptr<const Node>> Read(const std::string& path,
                                                         FromParent from_parent,
                                                         const NodePtr& before,
                                                         const Store* listed = nullptr) const;

  /// Makes the outline of a node without parsing its documents, if a similar node was read before
  /// and nothing was reported about that node. Otherwise, returns null and sets `key`. Then call
  /// Read(), and Remember() with `key`.
  [[nodiscard]] Result<std::shared_ptr<Outline>> ReadOutline(const std::string& path,
                                                             FromParent from_parent,
                                                             OutlineKey& key) const;
  void Remember(const OutlineKey& key, const Node& node) const;

  [[nodiscard]] IndexCache& index_cache() const { return *index_cache_; }

 private:
  void ShowGroup(Node& node) const;
  void ShowArray(Node& node, const NodePtr& before) const;
  // Sets node.chunks. Reuses the ChunkSource of `before` (may be null) if the layout is unchanged.
  [[nodiscard]] Result<void> FindChunks(Node& node, const NodePtr& before) const;
  void ShowArrayIn(size_t view, Node& node) const;
  // ReportNotes() reports what a listed view omits or changes in an array. ReportHidden() reports
  // why listed views hide an array. Unlisted views are ignored, because they may never be used.
  void ReportNotes(Node& node, std::string_view view, const ArrayView& array) const;
  void ReportHidden(Node& node) const;
  // Reports a problem of the node through NodeReports. Sets has_reports, so the node's outline is
  // not reused for other nodes with the same metadata. Their problems must be reported, too.
  void ReportFault(Node& node, const Error& fault) const {
    node.has_reports = true;
    reports_.ReportFault(node, fault);
  }
  void ReportNote(Node& node, const Error& note) const {
    node.has_reports = true;
    reports_.ReportNote(node, note);
  }

  const std::shared_ptr<const Store> store_;
  const HierarchyOptions& options_;
  const Report report_;
  NodeReports& reports_;
  const std::shared_ptr<IndexCache> index_cache_;
  mutable KnownKinds kinds_;
};

}  // namespace zarrfs
