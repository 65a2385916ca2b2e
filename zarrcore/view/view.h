// View: how one kind of reader sees an array or group. A view chooses names and contents; it has no
// state and does no I/O.
//
//   v3      the hierarchy without sharding: zarr.json rewritten, one file per innermost chunk
//   v2      the hierarchy as Zarr v2: .zgroup, .zarray, .zattrs, one file per innermost chunk
//   gdal    Zarr v2 for GDAL 3.6, which supports fewer features (reader_profile.h)
//   netcdf  Zarr v2 for netCDF-C, which supports fewer features
//   java    Zarr v2 for jzarr, which supports fewer features
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
  /// The file shown for each chunk that is not stored. Null if these chunks have no files.
  std::shared_ptr<const FillChunk> fill_chunk;
  std::vector<std::string> notes;  // what the documents omit or change, with reasons
  /// True for an array of variable-length strings that is shown as one chunk of fixed-length
  /// strings. Assemble() makes the documents kTextDocument and kTextChunk after a scan of the
  /// strings; they are empty here.
  bool has_texts = false;
  /// The names and lengths of the dimensions as the view's readers see them and, for an array in
  /// the root group, the .zattrs without these names. Only in views that share dimensions.
  ArrayDimensions dimensions;
  Json attributes;
};

/// One group in a view.
struct GroupView {
  std::vector<Document> documents;
  std::vector<std::string> notes;  // which metadata are omitted or converted, with reasons
};

/// A node below a group, as a view shows it.
struct NodeBelow {
  std::string_view path;  // relative to the group; "" is the group itself
  std::span<const Document> documents;
};

/// When the v3 fill value becomes the fill value of .zarray, which readers such as xarray mask.
enum class FillPolicy {
  kAuto,         // if masking it changes nothing, or is intended
  kKeep,         // even if that masks measured values, but not if _FillValue is another value
  kMaterialize,  // never; instead, missing chunks become files filled with it
  kAsStored,     // always; users cannot choose it, only views can
};

/// Options and properties that a view needs besides the metadata.
struct ViewContext {
  char forced_separator = '\0';  // '.' or '/' if set by the user
  // True if an ancestor is an OME group. OME tools generate chunk names such as "0/3/1" themselves.
  bool below_ome = false;
  FillPolicy fill = FillPolicy::kAuto;
  bool is_in_root = true;                       // true if the node is the root group, or in it
  bool keeps_ome = false;                       // true if OME-Zarr metadata keep their version
  CompressorSet compressors = kAllCompressors;  // the compressors that readers of the view support
  // The axes of the OME-Zarr 0.4 image to which the array belongs.
  std::span<const std::string> axes = {};
  std::string_view group_name = {};  // the last component of a group's path
};

/// The nodes that a view shows as one file each, in the folder of their parent group.
enum class FileOf {
  kNothing,  // none; nodes are folders of documents and chunks
  kArrays,   // arrays; groups are folders of these files
  kGroups,   // groups; a group is also a folder of the groups below it
};

class View {
 public:
  virtual ~View() = default;
  /// The name of the view's folder in the mount.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The readers that the view is for, as a phrase for messages.
  [[nodiscard]] virtual std::string_view readers() const = 0;
  /// True if the root of a mount lists the view's folder by default. False for a view for few
  /// readers that repeats the whole store, because `du` and `cp -r` would read it. An unlisted
  /// folder can still be opened.
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
  /// The suffix of the files of whole arrays or groups, such as ".npy".
  [[nodiscard]] virtual std::string_view suffix() const { return ""; }
  /// Makes the file of a whole array or group, or the chunk of an array with ArrayView::has_texts.
  /// kUnsupported with the reason if that is impossible.
  [[nodiscard]] virtual Result<AssembledFile> Assemble(const FileSource& /*source*/) const {
    return Fail(ErrorCode::kUnsupported, "{} has no such files", name());
  }
  /// The document by which the view's readers recognize an array.
  [[nodiscard]] virtual std::string_view ArrayDocumentName() const = 0;
  /// The name of the consolidated document of a group, which repeats the documents of all nodes
  /// below; "" if the group has none. It replaces a document of this name from ShowGroup().
  [[nodiscard]] virtual std::string_view ConsolidatedName(const GroupMetadata& metadata) const = 0;
  /// True if groups that are stored as Zarr v2 keep their stored documents. Such a group then has a
  /// consolidated document if it has a stored one, regardless of options.
  [[nodiscard]] virtual bool keeps_stored_v2() const { return false; }
  /// The bytes of the consolidated document. `nodes`: the group itself, then the nodes below it.
  [[nodiscard]] virtual std::string Consolidate(std::span<const NodeBelow> nodes) const = 0;
  /// True if readers identify a dimension only by its name (shared_dimensions.h). The .zattrs of an
  /// array in the root group then depends on its siblings, and ShareDimensions() makes it. The
  /// .zattrs from ShowArray() is valid with any siblings.
  [[nodiscard]] virtual bool shares_dimensions() const { return false; }
  [[nodiscard]] virtual std::string ShareDimensions(
      const ArrayView& /*array*/, const std::vector<std::string>& /*names*/) const {
    return "";
  }
  /// True if the .zattrs of an array depends on coordinate systems of other nodes. WithPlace()
  /// (gdal_crs.h) makes it.
  [[nodiscard]] virtual bool places_arrays() const { return false; }
  /// True if a node of this name may be shown below a group. False if a metadata file would hide
  /// the node, or if the view's readers would misread the name.
  [[nodiscard]] virtual bool AllowsNodeName(std::string_view node) const = 0;
};

/// All views, in the order of their numbers.
[[nodiscard]] std::span<const View* const> AllViews();
inline constexpr size_t kMaxViews = 7;
/// Maximum number of documents of one node in one view. The last two are the consolidated document,
/// and a file that is not part of Zarr.
inline constexpr size_t kMaxDocuments = 6;
inline constexpr size_t kSharedDocument = 1;  // the number of .zattrs
// Documents of an array with ArrayView::has_texts: numbers of its .zarray and of its only chunk,
// which are made after a scan.
inline constexpr size_t kTextDocument = 2;
inline constexpr size_t kTextChunk = 3;

/// The number in AllViews() of the view called `name`; nullopt if there is none.
[[nodiscard]] std::optional<size_t> ViewNumber(std::string_view name);

/// A set of views, by number.
using ViewSet = std::bitset<kMaxViews>;
/// The views that the root of a mount lists by default; see View::is_listed().
[[nodiscard]] ViewSet ListedViews();
/// Parses view names separated by colons, such as "v2:v3"; nullopt if a name is unknown.
[[nodiscard]] std::optional<ViewSet> ParseViews(std::string_view names);
/// Formats a set so that ParseViews() can parse it, or with another separator for messages.
[[nodiscard]] std::string ViewNames(const ViewSet& views, std::string_view separator = ":");

}  // namespace zarrfs
