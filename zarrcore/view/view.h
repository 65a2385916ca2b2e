// View: how one kind of reader sees an array or group. A view chooses names and contents; it has no
// state and does no I/O.
//
//   v3      the hierarchy without sharding: zarr.json rewritten, one file per innermost chunk
//   v2      the hierarchy as Zarr v2: .zgroup, .zarray, .zattrs, one file per innermost chunk
//   gdal    Zarr v2 within the limits of GDAL 3.6 (reader_profile.h)
//   netcdf  Zarr v2 within the limits of netCDF-C
//   java    Zarr v2 within the limits of jzarr
//   nc      one NetCDF file per group, for readers without Zarr support (assembled_file.h)
//   npy     one .npy file per array, for readers without Zarr support
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_encoding.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/assembled_file.h"
#include "zarrcore/view/compressors.h"
#include "zarrcore/view/shared_dimensions.h"

namespace zarrfs {

/// A metadata file of a view.
struct Document {
  std::string name;
  std::string bytes;
  bool operator==(const Document&) const = default;
};

/// One array in a view.
struct ArrayView {
  std::vector<Document> documents;
  ChunkNaming naming;
  ChunkEncoding encoding;
  /// The contents of the file shown for each missing chunk. Null if missing chunks have no files.
  std::shared_ptr<const FillChunk> fill_chunk;
  std::vector<std::string> notes;  // lines for users: what the documents omit or change, and why
  /// True for an array of variable-length strings that is shown as one chunk of fixed-length
  /// strings. documents[kTextDocument] and documents[kTextChunk] are empty here; View::Assemble()
  /// makes them after a scan of the strings.
  bool has_texts = false;
  /// The dimensions of the array as the view's readers see them. Only in views that share
  /// dimensions. `attributes`: for an array in the root group, the .zattrs in which
  /// ShareDimensions() replaces the dimension names.
  ArrayDimensions dimensions;
  Json attributes;
};

/// One group in a view.
struct GroupView {
  std::vector<Document> documents;
  std::vector<std::string> notes;  // lines for users: which metadata were changed, and why
};

/// The documents of a group, or of a node below it, for View::Consolidate().
struct NodeBelow {
  std::string_view path;  // relative to the group; "" is the group itself
  std::span<const Document> documents;
};

/// Decides when .zarray states the v3 fill value. Readers such as xarray mask the value that
/// .zarray states.
enum class FillPolicy {
  kAuto,         // if _FillValue is that value, or masking it is harmless (v2_fill.h)
  kKeep,         // even if readers then mask data; kAuto for bool or another _FillValue
  kMaterialize,  // never for readers that mask; missing chunks are shown as files
  kAsStored,     // always; chosen only by views, not by users
};

/// What a view must know about a node in addition to its metadata: options, and its place in the
/// store.
struct ViewContext {
  char forced_separator = '\0';  // the separator of chunk names if the user chose it: '.' or '/'
  // True if an ancestor is an OME group. OME tools generate chunk names such as "0/3/1" themselves.
  bool below_ome = false;
  FillPolicy fill = FillPolicy::kAuto;
  bool is_in_root = true;                       // true for the root group and its direct children
  bool keeps_ome = false;                       // true if OME-Zarr metadata are not converted
  CompressorSet compressors = kAllCompressors;  // compressors that the user says readers support
  // The names of the axes of the OME-Zarr 0.4 image that contains the array.
  std::span<const std::string> axes = {};
  std::string_view group_name = {};  // the last component of a group's path
};

/// Which nodes a view shows as one file each, in the folder of their parent group.
enum class FileOf {
  kNothing,  // none; each node is a folder of documents and chunks
  kArrays,   // arrays; each group is a folder with these files
  kGroups,   // groups; a group is also a folder of the groups below it
};

class View {
 public:
  virtual ~View() = default;
  /// The name of the view's folder in the mount.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The readers that the view is for, as a phrase for messages.
  [[nodiscard]] virtual std::string_view readers() const = 0;
  /// True if the root of a mount lists the view's folder by default. False for views that few
  /// readers need, because `du` and `cp -r` on the mount would read the whole store again in each
  /// listed view. An unlisted folder can still be opened.
  [[nodiscard]] virtual bool is_listed() const { return true; }
  /// Shows an array. kUnsupported with the reason if the view cannot express it.
  [[nodiscard]] virtual Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                                    const ArrayLayout& layout,
                                                    const ViewContext& context) const = 0;
  [[nodiscard]] virtual GroupView ShowGroup(const GroupMetadata& metadata,
                                            const ViewContext& context) const = 0;
  /// True if the view shows additional files in OME groups, such as METADATA.ome.xml.
  [[nodiscard]] virtual bool shows_files() const { return false; }
  [[nodiscard]] virtual FileOf file_of() const { return FileOf::kNothing; }
  /// The file name suffix of whole arrays or groups, such as ".npy"; "" if the view has no such
  /// files.
  [[nodiscard]] virtual std::string_view suffix() const { return ""; }
  /// Makes the file that shows a whole array or group, or the only chunk of an array with
  /// ArrayView::has_texts. kUnsupported with the reason if that is impossible.
  [[nodiscard]] virtual Result<AssembledFile> Assemble(const FileSource& /*source*/) const {
    return Fail(ErrorCode::kUnsupported, "{} has no such files", name());
  }
  /// The name of the document by which the view's readers recognize an array.
  [[nodiscard]] virtual std::string_view ArrayDocumentName() const = 0;
  /// The name of the document that repeats the documents of all nodes below a group (consolidated
  /// metadata); "" if the group has none. This document replaces one of the same name from
  /// ShowGroup().
  [[nodiscard]] virtual std::string_view ConsolidatedName(const GroupMetadata& metadata) const = 0;
  /// True if groups that are stored as Zarr v2 keep their stored documents. Such a group shows
  /// consolidated metadata if and only if they are stored, regardless of options.
  [[nodiscard]] virtual bool keeps_stored_v2() const { return false; }
  /// Returns the text of the document called ConsolidatedName(). `nodes`: the group itself, then
  /// the nodes below it.
  [[nodiscard]] virtual std::string Consolidate(std::span<const NodeBelow> nodes) const = 0;
  /// True if readers identify a dimension only by its name (shared_dimensions.h). The .zattrs of an
  /// array in the root group then depends on the other arrays there, and ShareDimensions() makes
  /// that .zattrs. The .zattrs from ShowArray() is valid regardless of other arrays.
  [[nodiscard]] virtual bool shares_dimensions() const { return false; }
  [[nodiscard]] virtual std::string ShareDimensions(
      const ArrayView& /*array*/, const std::vector<std::string>& /*names*/) const {
    return "";
  }
  /// True if the .zattrs of an array depends on coordinate systems of other nodes. WithPlace()
  /// (gdal_crs.h) makes that .zattrs.
  [[nodiscard]] virtual bool places_arrays() const { return false; }
  /// True if a node of this name may be shown below a group. False if a metadata file would hide
  /// the node, or if the view's readers would misread the name.
  [[nodiscard]] virtual bool AllowsNodeName(std::string_view node) const = 0;
};

/// Returns all views. The number of a view is its index in this span.
[[nodiscard]] std::span<const View* const> AllViews();
inline constexpr size_t kMaxViews = 7;
/// Maximum number of documents of one node in one view. The last two indexes are for consolidated
/// metadata, and for a file that is not part of Zarr, such as METADATA.ome.xml.
inline constexpr size_t kMaxDocuments = 6;
inline constexpr size_t kSharedDocument = 1;  // the index of .zattrs in ArrayView::documents
// For arrays with ArrayView::has_texts: the indexes of .zarray and of the only chunk in
// ArrayView::documents. Both are made after a scan of the strings.
inline constexpr size_t kTextDocument = 2;
inline constexpr size_t kTextChunk = 3;

/// The number of the view called `name`, which is its index in AllViews(); nullopt if no view has
/// this name.
[[nodiscard]] std::optional<size_t> ViewNumber(std::string_view name);

/// A set of views. Bit n stands for AllViews()[n].
using ViewSet = std::bitset<kMaxViews>;
/// The views that the root of a mount lists by default; see View::is_listed().
[[nodiscard]] ViewSet ListedViews();
/// Parses view names separated by colons, such as "v2:v3"; nullopt if a name is unknown.
[[nodiscard]] std::optional<ViewSet> ParseViews(std::string_view names);
/// Returns the names of `views` in the form that ParseViews() parses, or with another separator,
/// for messages.
[[nodiscard]] std::string ViewNames(const ViewSet& views, std::string_view separator = ":");

}  // namespace zarrfs
