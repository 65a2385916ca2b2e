// V2View: the views for readers of Zarr v2, with .zgroup, .zarray, .zattrs, and chunk files named
// after their position in the chunk grid.
#pragma once

#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/v2_chain.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// A view for readers that share a ReaderProfile.
///
/// Passes a v2 source through if the profile allows it (pass_through.h), unless the user says that
/// readers do not support the compressor of its chunks. Otherwise, shows the stored bytes if v2 can
/// describe how to decode them (v2_chain.h), and decoded elements if it cannot. The fill value is
/// chosen such that readers mask the same values as v3 readers (v2_fill.h). _ARRAY_DIMENSIONS in
/// .zattrs has the dimension names. A dimension without a name gets one made of its index and
/// length.
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
  [[nodiscard]] bool keeps_stored_v2() const override { return profile_.passes_v2_through; }
  [[nodiscard]] std::string Consolidate(std::span<const NodeBelow> nodes) const override;
  [[nodiscard]] bool shares_dimensions() const override { return profile_.shares_dimensions; }
  [[nodiscard]] bool places_arrays() const override { return profile_.is_gdal; }
  [[nodiscard]] std::string ShareDimensions(const ArrayView& array,
                                            const std::vector<std::string>& names) const override;
  [[nodiscard]] bool AllowsNodeName(std::string_view node) const override;

 private:
  // `must_decode`: true to show decoded elements even if the reader could decode the stored bytes.
  [[nodiscard]] Result<ArrayView> ShowArray(const ArrayMetadata& metadata,
                                            const ArrayLayout& layout, const ViewContext& context,
                                            bool must_decode) const;
  // Shows an array that is stored as v2 to readers that support every v2 array.
  [[nodiscard]] Result<ArrayView> ShowStoredV2(const ArrayMetadata& metadata,
                                               const ArrayLayout& layout,
                                               const ViewContext& context) const;
  // Shows an array of variable-length strings to readers that support only fixed-length strings.
  [[nodiscard]] Result<ArrayView> ShowTexts(const ArrayMetadata& metadata,
                                            const ArrayLayout& layout,
                                            const ViewContext& context) const;
  // Adds the documents of an array, and sets ArrayView::dimensions and ArrayView::attributes.
  void AddDocuments(const ArrayMetadata& metadata, const ArrayLayout& layout, const V2Chain& chain,
                    const Json& type, Json fill_value, Json attributes, const ViewContext& context,
                    ArrayView& view) const;
  // Adds the .zattrs with dimension names. `type`: the "dtype" of .zarray.
  void AddAttributes(const ArrayMetadata& metadata, const Json& type, Json attributes,
                     const ViewContext& context, ArrayView& view) const;
  // Removes attributes that netCDF-C reserves, and attributes whose names this view's readers
  // refuse.
  void LeaveOutUnreadable(Json& attributes, std::vector<std::string>& notes) const;
  [[nodiscard]] std::string Dump(const Json& json) const;

  const ReaderProfile& profile_;
};

}  // namespace zarrfs
