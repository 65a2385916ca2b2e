// ReaderProfile: the capabilities of a kind of Zarr v2 reader. A profile is a table; the one
// translator (v2_view.h) shows every array such that the profile's reader can read it.
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
  kWide,     // as the core type that holds all their values: codec/widen.h
  kRefused,  // arrays of them are not shown
};

struct ReaderProfile {
  std::string_view name;     // of the view: the folder of the mount
  std::string_view readers;  // View::readers()
  bool is_listed = true;     // View::is_listed()

  // Data types, by DataKind.
  std::array<TypeUse, kDataKinds> types;
  /// Texts of variable length become fixed-length ones of at most this many characters; 0: not
  /// shown.
  uint64_t longest_text = 0;
  bool takes_float16 = true;
  bool takes_uint64 = true;
  bool takes_big_endian = true;
  bool takes_fortran_order = true;

  // Compressors whose chunks are passed through, by their v2 ids. Chunks with other compressors,
  // and those that v2 cannot describe, are decoded.
  std::span<const std::string_view> compressors;
  bool takes_snappy_in_blosc = true;
  /// Likewise for filters of numcodecs before a compressor.
  std::span<const std::string_view> filters = {};
  /// Zstd decoders fail on frames without a stated size, and on skippable frames.
  bool needs_plain_zstd = false;

  // Fill values and missing chunks.
  /// Masks what .zarray calls the fill value, also where no attribute _FillValue asks for it; and
  /// knows no value for a missing chunk where that is null.
  bool masks_fill = false;
  /// The fill value is that of missing chunks and masks nothing: any value may be stated.
  bool takes_fill_literally = false;
  bool takes_complex_fill = true;  // [re, im]
  bool takes_text_fill = true;     // of fixed-length text
  bool takes_all_uint64_fill = true;
  /// _FillValue remains an attribute, as a number of the array's type.
  bool keeps_fill_attribute = false;
  bool needs_typed_fill = false;  // the reader infers the type of _FillValue: v2_attributes.h

  // Shapes.
  bool takes_scalars = true;           // otherwise they become vectors of one element
  bool takes_empty_dimensions = true;  // otherwise an array with one is not shown
  bool takes_padding = true;           // chunks longer than the array
  /// The maximum length of a dimension, and maximum number of elements of a chunk; larger arrays
  /// are not shown.
  uint64_t largest_extent = std::numeric_limits<uint64_t>::max();

  // Documents.
  /// Reads whatever a v2 source holds: its documents and chunks are passed through.
  bool passes_v2_through = false;
  bool has_consolidated_metadata = false;
  bool shows_ome_04 = false;      // OME-Zarr 0.5 as 0.4, and the files next to it: ome.h
  bool has_cf_time = false;       // dates are numbers that attributes explain
  bool is_gdal = false;           // reads coordinate systems from _CRS: gdal_crs.h
  bool takes_empty_names = true;  // of attributes
  bool is_netcdf = false;         // claims attributes with NCZarr's names for itself: nczarr.h
  bool needs_plain_attributes = false;  // only numbers, lists of numbers, strings and objects
  /// Identifies a dimension by its name alone, in the whole store: shared_dimensions.h.
  bool shares_dimensions = false;
  bool needs_strict_json = false;  // NaN and infinities in attributes become text
  bool needs_plain_names = false;  // of dimensions, attributes and nodes: v2_attributes.h
  bool needs_utf8 = false;         // text is UTF-8; otherwise escaped as ASCII
};

/// zarr-python 2 (2.13 to 2.18), and xarray with it.
[[nodiscard]] const ReaderProfile& ZarrPython2Profile();
/// GDAL 3.6.
[[nodiscard]] const ReaderProfile& GdalProfile();
/// netCDF-C 4.9 as built by Debian, without filters.
[[nodiscard]] const ReaderProfile& NetcdfProfile();
/// jzarr 0.4, used by Bio-Formats, OMERO, QuPath and SNAP.
[[nodiscard]] const ReaderProfile& JavaProfile();

}  // namespace zarrfs
