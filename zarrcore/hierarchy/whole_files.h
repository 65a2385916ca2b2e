// WholeFiles: the files that some views (View::file_of) make from whole arrays and groups, and
// their names. Thread-safe. Calls may wait for the store, like those of Hierarchy.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/assembled.h"
#include "zarrcore/hierarchy/hierarchy.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

class WholeFiles {
 public:
  /// `hierarchy` must outlive this object.
  explicit WholeFiles(const Hierarchy& hierarchy);

  /// The name of the file that the view makes from the node at `path`: the node's name and the
  /// view's suffix, with one or more `_` between them if that name is already used. The file is in
  /// the folder of the parent group; the file of the root is in the view's top folder.
  [[nodiscard]] Result<std::string> Name(const std::string& path, size_t view, Age max_age) const;
  /// The path of the node whose file is called `name` in the folder of the group at `folder`.
  /// nullopt if no such file exists.
  [[nodiscard]] Result<std::optional<std::string>> PathOf(const std::string& folder, size_t view,
                                                          std::string_view name, Age max_age) const;
  /// True if the view makes a file (or, if `file` is false, a folder) from the node at `path`. Also
  /// true if the node cannot be read.
  [[nodiscard]] Result<bool> HasFileOrFolder(const std::string& path, size_t view, bool file,
                                             Age max_age) const;
  /// The file that the view makes from the node at `path`. For an array of strings with
  /// NodeView::has_texts, the file is the array's only chunk. Fails if a node that the file is made
  /// from cannot be read.
  [[nodiscard]] Result<AssembledPtr> Assemble(const std::string& path, size_t view,
                                              Age max_age) const;
  /// The last known version of the file that the view makes from the node at `path`, or null. Makes
  /// no requests to the store.
  [[nodiscard]] AssembledPtr Known(const std::string& path, size_t view) const;

  /// Evicts files of `bytes` in total, or all files. Called when memory is short.
  void Evict(size_t bytes) { files_.Evict(bytes); }

 private:
  using Cache = RevalidatingCache<std::string, Assembled>;

  // Makes the file of a node; returns `known` (may be null) if nothing has changed.
  [[nodiscard]] Result<Valid<Cache::Loaded>> Make(const std::string& path, size_t view, Age max_age,
                                                  const AssembledPtr& known) const;
  // Scans the elements of an array. Reuses the scan in `known` (may be null) if the stored chunks
  // are unchanged.
  [[nodiscard]] Scan ScanFor(const Node& array, size_t view, Age max_age,
                             const AssembledPtr& known) const;
  // Reports that the file that the view makes from `node` omits something. `note` states what is
  // omitted or why.
  void ReportLeftOut(const Node& node, size_t view, std::string_view note) const;
  // The arrays of a group that belong in the view's file. For an array, only the array itself.
  [[nodiscard]] Result<Valid<std::vector<NodePtr>>> ArraysOf(const NodePtr& node, size_t view,
                                                             Age max_age) const;
  // Adds the coordinates of the dimensions of `arrays` from ancestor groups, nearest first, and
  // sorts all arrays by name. Returns the validity of the result.
  [[nodiscard]] Result<Validity> AddCoordinatesAbove(const NodePtr& group, size_t view, Age max_age,
                                                     std::vector<NodePtr>& arrays) const;

  const Hierarchy& hierarchy_;
  mutable Cache files_;  // keyed by view and path
};

}  // namespace zarrfs
