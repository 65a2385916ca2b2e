// View: what a kind of reader is shown of an array or group. A view decides names and contents; it
// holds no state and does no I/O.
//
//   v3      the hierarchy unsharded: zarr.json rewritten, one file an innermost chunk
//   v2      the same as Zarr v2: .zgroup, .zarray, .zattrs, one file an innermost chunk
//   gdal    the same for GDAL 3.6, and
//   netcdf  for netCDF-C, and
//   java    for jzarr, which know less of v2 (reader_profile.h)
//   nc      one NetCDF file a group, and
//   npy     one file an array, for readers that know nothing of Zarr (assembled_file.h)
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

/// What a view shows of one array.
struct ArrayView {
  std::vector<Document> documents;
  ChunkNaming naming;
  ChunkEncoding encoding;
  /// The files of chunks that are not stored; null: they have no files.
  std::shared_ptr<const FillChunk> fill_chunk;
  std::vector<std::string> notes;  // what of the metadata is left out, and why
  /// Texts of variable length, shown as items of one size, in one chunk: documents kTextDocument
  /// and kTextChunk, without bytes here, are made by Assemble(), once the texts were looked at.
  bool has_texts = false;
  /// Only in views that share dimensions: names and lengths of the dimensions as the view's readers
  /// see them, and of an array in the root group .zattrs without the names.
  ArrayDimensions dimensions;
  Json attributes;
};

/// What a view shows of one group.
struct GroupView {
  std::vector<Document> documents;
  std::vector<std::string> notes;  // what of the metadata readers find in another place, and why
};

/// A node below a group, as a view shows it.
struct NodeBelow {
  std::string_view path;  // from the group on; "" is the group itself
  std::span<const Document> documents;
};

/// Whether readers that mask what .zarray calls the fill value, as xarray does, get to see it.
enum class FillPolicy {
  kAuto,         // where masking it changes nothing, or is meant
  kKeep,         // also where it masks measured values, but not where _FillValue says another value
  kMaterialize,  // never: chunks that are not stored are files of it instead
  kAsStored,     // always (no option: for views that cannot do otherwise)
};

/// What a view needs to know beside the metadata.
struct ViewContext {
  char forced_separator = '\0';  // '.' or '/' if the user forces one
  bool below_ome = false;        // an ancestor group is an OME one (tools build "0/3/1" themselves)
  FillPolicy fill = FillPolicy::kAuto;
  bool is_in_root = true;  // of the store: its group or the array itself
  bool keeps_ome = false;  // OME-Zarr metadata stay in the version that the store has
  CompressorSet compressors = kAllCompressors;  // that readers know, of those of the view
  std::span<const std::string> axes = {};  // of the OME-Zarr 0.4 image that the array belongs to
  std::string_view group_name = {};        // the last component of a group's path
};

/// Of which nodes a view makes one file each, in the folder of the group above.
enum class FileOf {
  kNothing,  // nodes are folders of documents and chunks
  kArrays,   // and groups are folders of these files
  kGroups,   // and a group is also a folder, of the groups below it
};

class View {
 public:
  virtual ~View() = default;
  /// The name of the view's folder in the mount.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// For people: the readers it is for.
  [[nodiscard]] virtual std::string_view readers() const = 0;
  /// Whether the root of a mount lists that folder unless it is told which views to list. Not if
  /// the view holds everything once more, for few: `du` and `cp -r` would meet it. It can always be
  /// opened.
  [[nodiscard]] virtual bool is_listed() const { return true; }
  /// kUnsupported with the reason if the view cannot express the array.
  [[nodiscard]] virtual Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                                    const ArrayLayout& layout,
                                                    const ViewContext& context) const = 0;
  [[nodiscard]] virtual GroupView ShowGroup(const GroupMetadata& metadata,
                                            const ViewContext& context) const = 0;
  /// Whether files beside the nodes of OME groups are shown: METADATA.ome.xml.
  [[nodiscard]] virtual bool shows_files() const { return false; }
  [[nodiscard]] virtual FileOf file_of() const { return FileOf::kNothing; }
  /// What the names of these files end in: ".npy".
  [[nodiscard]] virtual std::string_view suffix() const { return ""; }
  /// Such a file, or the chunk of an array with ArrayView::has_texts. kUnsupported with the reason
  /// if there can be none.
  [[nodiscard]] virtual Result<AssembledFile> Assemble(const FileSource& /*source*/) const {
    return Fail(ErrorCode::kUnsupported, "{} has no such files", name());
  }
  /// The name of the document that makes a folder an array to the view's readers.
  [[nodiscard]] virtual std::string_view ArrayDocumentName() const = 0;
  /// The name of the group's document that repeats those of all nodes below it, instead of the one
  /// of this name that ShowGroup() gives, if any; "" if the group has none.
  [[nodiscard]] virtual std::string_view ConsolidatedName(const GroupMetadata& metadata) const = 0;
  /// Its bytes. `nodes`: the group itself first.
  [[nodiscard]] virtual std::string Consolidate(std::span<const NodeBelow> nodes) const = 0;
  /// Whether readers know a dimension by its name alone (shared_dimensions.h). Then the .zattrs of
  /// an array in the root group depends on its siblings, and is what ShareDimensions() makes. The
  /// one of ShowArray() is right whatever the siblings are.
  [[nodiscard]] virtual bool shares_dimensions() const { return false; }
  [[nodiscard]] virtual std::string ShareDimensions(
      const ArrayView& /*array*/, const std::vector<std::string>& /*names*/) const {
    return "";
  }
  /// Whether the .zattrs of an array depends on what other nodes say of its coordinate system, and
  /// is what WithPlace() makes (gdal_crs.h).
  [[nodiscard]] virtual bool places_arrays() const { return false; }
  /// Whether a node of this name may be shown below a group; it would be hidden behind a metadata
  /// file, or misread by the view's readers, otherwise.
  [[nodiscard]] virtual bool AllowsNodeName(std::string_view node) const = 0;
};

/// All views, in the order of their numbers.
[[nodiscard]] std::span<const View* const> AllViews();
inline constexpr size_t kMaxViews = 7;
/// Of one node in one view; the last two are the consolidated one, and a file that is no part of
/// Zarr.
inline constexpr size_t kMaxDocuments = 6;
inline constexpr size_t kSharedDocument = 1;  // .zattrs
// Of ArrayView::has_texts, in the place of the document that would not depend on the chunks.
inline constexpr size_t kTextDocument = 2;
inline constexpr size_t kTextChunk = 3;

/// The number of the view called `name` in AllViews().
[[nodiscard]] std::optional<size_t> ViewNumber(std::string_view name);

/// Views by their numbers.
using ViewSet = std::bitset<kMaxViews>;
/// Those that the root of a mount lists unless it is told: View::is_listed().
[[nodiscard]] ViewSet ListedViews();
/// Of names between colons, "v2:v3"; nullopt if there is no view of one of them.
[[nodiscard]] std::optional<ViewSet> ParseViews(std::string_view names);
/// What ParseViews() takes; or with another separator, for people.
[[nodiscard]] std::string ViewNames(const ViewSet& views, std::string_view separator = ":");

}  // namespace zarrfs
