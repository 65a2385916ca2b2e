// View: how a kind of reader sees an array or group. A view decides names and contents; it has no
// state and does no I/O.
//
//   v3      the hierarchy unsharded: zarr.json rewritten, one file per innermost chunk
//   v2      the same as Zarr v2: .zgroup, .zarray, .zattrs, one file per innermost chunk
//   gdal    the same for GDAL 3.6, and
//   netcdf  for netCDF-C, and
//   java    for jzarr, which know less of v2 (reader_profile.h)
//   nc      one NetCDF file per group, and
//   npy     one file per array, for readers without Zarr support (assembled_file.h)
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
  /// The files of chunks that are not stored; null: no files.
  std::shared_ptr<const FillChunk> fill_chunk;
  std::vector<std::string> notes;  // omissions from the metadata, with reasons
  /// Texts of variable length, shown as items of one size, in one chunk: Assemble() makes the
  /// documents kTextDocument and kTextChunk, which are empty here, after a scan of the texts.
  bool has_texts = false;
  /// Only in views that share dimensions: names and lengths of the dimensions as the view's readers
  /// see them, and, for an array in the root group, .zattrs without the names.
  ArrayDimensions dimensions;
  Json attributes;
};

/// One group in a view.
struct GroupView {
  std::vector<Document> documents;
  std::vector<std::string> notes;  // which metadata readers find in another place, with reasons
};

/// A node below a group, as a view shows it.
struct NodeBelow {
  std::string_view path;  // from the group on; "" is the group itself
  std::span<const Document> documents;
};

/// Whether readers that mask the fill value of .zarray, such as xarray, get to see it.
enum class FillPolicy {
  kAuto,         // if masking it changes nothing, or is intended
  kKeep,         // also if it masks measured values, but not if _FillValue is another value
  kMaterialize,  // never: missing chunks become files filled with it instead
  kAsStored,     // always (not an option: for views that have no choice)
};

/// What a view needs to know in addition to the metadata.
struct ViewContext {
  char forced_separator = '\0';  // '.' or '/' if set by the user
  bool below_ome = false;        // an ancestor group is an OME one (tools build "0/3/1" themselves)
  FillPolicy fill = FillPolicy::kAuto;
  bool is_in_root = true;                       // of the store: its group or the array itself
  bool keeps_ome = false;                       // OME-Zarr metadata keep the version of the store
  CompressorSet compressors = kAllCompressors;  // of the view, those that readers know
  std::span<const std::string> axes = {};  // of the OME-Zarr 0.4 image that the array belongs to
  std::string_view group_name = {};        // the last component of a group's path
};

/// Which nodes a view shows as one file each, in the folder of the parent group.
enum class FileOf {
  kNothing,  // nodes are folders of documents and chunks
  kArrays,   // groups are folders of these files
  kGroups,   // a group is also a folder of the groups below it
};

class View {
 public:
  virtual ~View() = default;
  /// The name of the view's folder in the mount.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The readers it is for, in messages.
  [[nodiscard]] virtual std::string_view readers() const = 0;
  /// Whether the root of a mount lists that folder by default. False if the view repeats everything
  /// for few readers, because `du` and `cp -r` would read it. It can always be opened.
  [[nodiscard]] virtual bool is_listed() const { return true; }
  /// kUnsupported with the reason if the view cannot express the array.
  [[nodiscard]] virtual Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                                    const ArrayLayout& layout,
                                                    const ViewContext& context) const = 0;
  [[nodiscard]] virtual GroupView ShowGroup(const GroupMetadata& metadata,
                                            const ViewContext& context) const = 0;
  /// Whether files next to the nodes of OME groups are shown: METADATA.ome.xml.
  [[nodiscard]] virtual bool shows_files() const { return false; }
  [[nodiscard]] virtual FileOf file_of() const { return FileOf::kNothing; }
  /// The suffix of file names: ".npy".
  [[nodiscard]] virtual std::string_view suffix() const { return ""; }
  /// Such a file, or the chunk of an array with ArrayView::has_texts. kUnsupported with the reason
  /// if that is impossible.
  [[nodiscard]] virtual Result<AssembledFile> Assemble(const FileSource& /*source*/) const {
    return Fail(ErrorCode::kUnsupported, "{} has no such files", name());
  }
  /// The document by which the view's readers recognize an array.
  [[nodiscard]] virtual std::string_view ArrayDocumentName() const = 0;
  /// The name of the group's document that repeats the documents of all nodes below it, which
  /// replaces the one of this name from ShowGroup(), if any; "" if the group has none.
  [[nodiscard]] virtual std::string_view ConsolidatedName(const GroupMetadata& metadata) const = 0;
  /// Its bytes. `nodes`: the group itself first.
  [[nodiscard]] virtual std::string Consolidate(std::span<const NodeBelow> nodes) const = 0;
  /// Whether readers identify a dimension by its name alone (shared_dimensions.h). Then the .zattrs
  /// of an array in the root group depends on its siblings, and is made by ShareDimensions(). That
  /// of ShowArray() is valid regardless of the siblings.
  [[nodiscard]] virtual bool shares_dimensions() const { return false; }
  [[nodiscard]] virtual std::string ShareDimensions(
      const ArrayView& /*array*/, const std::vector<std::string>& /*names*/) const {
    return "";
  }
  /// Whether the .zattrs of an array depends on the coordinate systems of other nodes, and is
  /// made by WithPlace() (gdal_crs.h).
  [[nodiscard]] virtual bool places_arrays() const { return false; }
  /// Whether a node of this name may be shown below a group; otherwise it would be hidden behind a
  /// metadata file, or misread by the view's readers.
  [[nodiscard]] virtual bool AllowsNodeName(std::string_view node) const = 0;
};

/// All views, in the order of their numbers.
[[nodiscard]] std::span<const View* const> AllViews();
inline constexpr size_t kMaxViews = 7;
/// Maximum number of documents of one node in one view; the last two are the consolidated one, and
/// a file that is not part of Zarr.
inline constexpr size_t kMaxDocuments = 6;
inline constexpr size_t kSharedDocument = 1;  // .zattrs
// For ArrayView::has_texts, replacing the document that would not depend on the chunks.
inline constexpr size_t kTextDocument = 2;
inline constexpr size_t kTextChunk = 3;

/// The number of the view called `name` in AllViews().
[[nodiscard]] std::optional<size_t> ViewNumber(std::string_view name);

/// Views by number.
using ViewSet = std::bitset<kMaxViews>;
/// The views that the root of a mount lists by default: View::is_listed().
[[nodiscard]] ViewSet ListedViews();
/// Parses names separated by colons, "v2:v3"; nullopt if one of them is unknown.
[[nodiscard]] std::optional<ViewSet> ParseViews(std::string_view names);
/// The inverse of ParseViews(); or with another separator, for messages.
[[nodiscard]] std::string ViewNames(const ViewSet& views, std::string_view separator = ":");

}  // namespace zarrfs
