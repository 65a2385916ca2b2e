// The views of the readers of Zarr v2: .zgroup, .zarray, .zattrs, and chunk files named by the grid
// alone.
#pragma once

#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_chain.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// Passes a v2 source through if the profile says so (pass_through.h), unless the user says that
/// readers do not know the compressor of its chunks. Otherwise shows the stored bytes if v2 can
/// describe how to decode them (v2_chain.h), else the decoded elements. The fill value is chosen
/// such that the reader masks nothing that a v3 reader would not (v2_fill.h). _ARRAY_DIMENSIONS in
/// .zattrs are the dimension names, made up if there are none.
class V2View final : public View {
 public:
  explicit V2View(const ReaderProfile& profile) : profile_(profile) {}

  [[nodiscard]] std::string_view name() const override { return profile_.name; }
  [[nodiscard]] std::string_view readers() const override { return profile_.readers; }
  [[nodiscard]] bool is_listed() const override { return profile_.is_listed; }
  [[nodiscard]] Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                            const ArrayLayout& layout,
                                            const ViewContext& context) const override;
  [[nodiscard]] GroupView ShowGroup(const GroupMetadata& metadata,
                                    const ViewContext& context) const override;
  [[nodiscard]] bool shows_files() const override { return profile_.shows_ome_04; }
  [[nodiscard]] Result<AssembledFile> Assemble(const FileSource& source) const override;
  [[nodiscard]] std::string_view ArrayDocumentName() const override { return ".zarray"; }
  [[nodiscard]] std::string_view ConsolidatedName(const GroupMetadata& metadata) const override;
  [[nodiscard]] std::string Consolidate(std::span<const NodeBelow> nodes) const override;
  [[nodiscard]] bool shares_dimensions() const override { return profile_.shares_dimensions; }
  [[nodiscard]] bool places_arrays() const override { return profile_.is_gdal; }
  [[nodiscard]] std::string ShareDimensions(const ArrayView& array,
                                            const std::vector<std::string>& names) const override;
  [[nodiscard]] bool AllowsNodeName(std::string_view node) const override;

 private:
  // `must_decode`: does not pass the stored bytes through.
  [[nodiscard]] Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                            const ArrayLayout& layout, const ViewContext& context,
                                            bool must_decode) const;
  // A stored v2 array, for a reader of any v2 array.
  [[nodiscard]] Result<ArrayView> ShowStoredV2(const ArrayMetadata& metadata,
                                               const ArrayLayout& layout,
                                               const ViewContext& context) const;
  // An array of texts of variable length, for a reader that knows only fixed ones.
  [[nodiscard]] Result<ArrayView> ShowTexts(const ArrayMetadata& metadata,
                                            const ArrayLayout& layout,
                                            const ViewContext& context) const;
  // The documents of an array, and the data that depend on its siblings.
  void AddDocuments(const ArrayMetadata& metadata, const ArrayLayout& layout, const V2Chain& chain,
                    const Json& type, Json fill_value, Json attributes, const ViewContext& context,
                    ArrayView& view) const;
  // .zattrs, with dimension names. `type`: "dtype".
  void AddAttributes(const ArrayMetadata& metadata, const Json& type, Json attributes,
                     const ViewContext& context, ArrayView& view) const;
  // Removes attributes that netCDF-C claims for itself, and those whose names this view's readers
  // refuse.
  void LeaveOutUnreadable(Json& attributes, std::vector<std::string>& notes) const;
  [[nodiscard]] std::string Dump(const Json& json) const;

  const ReaderProfile& profile_;
};

}  // namespace zarrfs
