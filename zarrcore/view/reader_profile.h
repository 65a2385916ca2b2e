// ReaderProfile: the capabilities of one kind of Zarr v2 reader, as a table. V2View (v2_view.h)
// shows every array in a way that the reader with this profile can read.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs {

/// How the elements of a data type are shown.
enum class TypeUse {
  kAsIs,
  kWide,     // converted to a core type that can represent all values; see codec/widen.h
  kRefused,  // arrays of this type are not shown
};

struct ReaderProfile {
  std::string_view name;     // the name of the view, which is the name of its folder in the mount
  std::string_view readers;  // see View::readers()
  bool is_listed = true;     // see View::is_listed()

  // How the elements of each type are shown, indexed by DataKind.
  std::array<TypeUse, kDataKinds> types;
  /// Maximum length in characters of variable-length strings, which are shown as fixed-length
  /// strings. If 0, variable-length strings are not converted.
  uint64_t longest_text = 0;
  bool takes_float16 = true;
  bool takes_uint64 = true;
  bool takes_big_endian = true;
  bool takes_fortran_order = true;

  // The v2 ids of the compressors that the reader supports. Chunks with other compressors, or with
  // codecs that v2 cannot describe, are shown decoded.
  std::span<const std::string_view> compressors;
  bool takes_snappy_in_blosc = true;
  /// The v2 ids of the numcodecs filters that the reader supports.
  std::span<const std::string_view> filters = {};
  /// True if the reader's zstd decoder fails on skippable frames, and on frames that do not state
  /// their size.
  bool needs_plain_zstd = false;

  // The following members say how the reader treats fill values and missing chunks.
  /// True if the reader masks the fill value of .zarray even without an attribute _FillValue, and
  /// has no value for missing chunks if the fill value is null.
  bool masks_fill = false;
  /// True if the reader uses the fill value for missing chunks and masks nothing, so .zarray may
  /// state any value.
  bool takes_fill_literally = false;
  bool takes_complex_fill = true;  // true if complex fill values may be [re, im]
  bool takes_text_fill = true;     // true if fixed-length strings may have a fill value
  bool takes_all_uint64_fill = true;
  /// True if _FillValue stays in .zattrs even if .zarray states the same value.
  bool keeps_fill_attribute = false;
  bool needs_typed_fill = false;  // true if TypeFillAttribute() must state the type of _FillValue

  // Properties of shapes.
  bool takes_scalars = true;  // if false, a scalar becomes a vector of one element
  // If false, an array with a dimension of length 0 is not shown.
  bool takes_empty_dimensions = true;
  bool takes_padding = true;  // true if the reader accepts chunks that are larger than the array
  /// Maximum length of a dimension, and maximum number of elements in a chunk. Larger arrays are
  /// hidden.
  uint64_t largest_extent = std::numeric_limits<uint64_t>::max();

  // The following members describe the documents that the reader needs.
  // True if the reader supports every Zarr v2 store. Stored v2 documents and chunks are then shown
  // unchanged.
  bool passes_v2_through = false;
  bool has_consolidated_metadata = false;
  // True if OME-Zarr 0.5 is shown as 0.4, with the files of OME groups; see ome.h.
  bool shows_ome_04 = false;
  bool has_cf_time = false;       // true if dates are shown as integers with CF attributes
  bool is_gdal = false;           // true if coordinate systems are shown as _CRS; see gdal_crs.h
  bool takes_empty_names = true;  // true if the reader accepts an attribute with an empty name
  bool is_netcdf = false;         // true if NCZarr reserves attribute names; see nczarr.h
  // True if the reader accepts only numbers, booleans, lists of numbers, strings and objects as
  // attributes.
  bool needs_plain_attributes = false;
  /// True if the reader identifies a dimension in the whole store only by its name; see
  /// shared_dimensions.h.
  bool shares_dimensions = false;
  bool needs_strict_json = false;  // true if NaN and infinities in attributes become strings
  // True if names of dimensions, attributes and nodes must be changed by PlainName(), or hidden.
  bool needs_plain_names = false;
  // True if documents must have non-ASCII characters in UTF-8. If false, these are escaped.
  bool needs_utf8 = false;
};

/// The profile of zarr-python 2 (2.13 to 2.18), with xarray.
[[nodiscard]] const ReaderProfile& ZarrPython2Profile();
/// The profile of GDAL 3.6.
[[nodiscard]] const ReaderProfile& GdalProfile();
/// The profile of netCDF-C 4.9 as built by Debian, without filters.
[[nodiscard]] const ReaderProfile& NetcdfProfile();
/// The profile of jzarr 0.4, which Bio-Formats, OMERO, QuPath and SNAP use.
[[nodiscard]] const ReaderProfile& JavaProfile();

}  // namespace zarrfs
