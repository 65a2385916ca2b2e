// ReaderProfile: what a kind of reader of Zarr v2 can take. A profile is a table; the one
// translator (v2_view.h) shows every array such that the reader of its profile can.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs {

/// What becomes of the elements of a data type.
enum class TypeUse {
  kAsIs,
  kWide,     // as the core type that holds all values: codec/widen.h
  kRefused,  // an array of them is not shown
};

struct ReaderProfile {
  std::string_view name;     // of the view: the folder of the mount
  std::string_view readers;  // View::readers()
  bool is_listed = true;     // View::is_listed()

  // Data types, by DataKind.
  std::array<TypeUse, kDataKinds> types;
  /// Texts of variable length are of a fixed one, of at most so many characters; 0: not shown.
  uint64_t longest_text = 0;
  bool takes_float16 = true;
  bool takes_uint64 = true;
  bool takes_big_endian = true;
  bool takes_fortran_order = true;

  // Compressors whose chunks are passed through, by their v2 ids. Chunks with any other, and with
  // what v2 cannot say, are decoded.
  std::span<const std::string_view> compressors;
  bool takes_snappy_in_blosc = true;
  /// Filters of numcodecs, by their v2 ids, that come before a compressor, likewise.
  std::span<const std::string_view> filters = {};
  /// Decoders of zstd fail at frames that do not state their size, and at skippable ones.
  bool needs_plain_zstd = false;

  // Fill values and missing chunks.
  /// Masks what .zarray calls the fill value, also where no attribute _FillValue asks for it; and
  /// knows no value for a missing chunk where that is null.
  bool masks_fill = false;
  /// The fill value is that of missing chunks and masks nothing: it can be said whatever it is.
  bool takes_fill_literally = false;
  bool takes_complex_fill = true;  // [re, im]
  bool takes_text_fill = true;     // of fixed-length text
  bool takes_all_uint64_fill = true;
  /// _FillValue stays an attribute, as a number of the array's type.
  bool keeps_fill_attribute = false;
  bool needs_typed_fill = false;  // which does not say its type: v2_attributes.h

  // Shapes.
  bool takes_scalars = true;           // else they are vectors of one element
  bool takes_empty_dimensions = true;  // else an array with one is not shown
  bool takes_padding = true;           // chunks that are longer than the array
  /// The longest dimension, and the most elements of a chunk; an array with more is not shown.
  uint64_t largest_extent = std::numeric_limits<uint64_t>::max();

  // Documents.
  /// Reads whatever a v2 source holds: its documents and chunks are passed through.
  bool passes_v2_through = false;
  bool has_consolidated_metadata = false;
  bool shows_ome_04 = false;            // OME-Zarr 0.5 as 0.4, and the files beside it: ome.h
  bool has_cf_time = false;             // dates are numbers whose attributes say what they count
  bool is_gdal = false;                 // reads coordinate systems from _CRS: gdal_crs.h
  bool takes_empty_names = true;        // of attributes
  bool is_netcdf = false;               // takes attributes of NCZarr's names for its own: nczarr.h
  bool needs_plain_attributes = false;  // numbers, lists of numbers, strings and objects only
  /// A dimension is known by its name alone, in the whole store: shared_dimensions.h.
  bool shares_dimensions = false;
  bool needs_strict_json = false;  // NaN and infinities in attributes are text
  bool needs_plain_names = false;  // of dimensions, attributes and nodes: v2_attributes.h
  bool needs_utf8 = false;         // text is not escaped; else it is pure ASCII
};

/// zarr-python 2 (2.13 to 2.18), and xarray on it.
[[nodiscard]] const ReaderProfile& ZarrPython2Profile();
/// GDAL 3.6.
[[nodiscard]] const ReaderProfile& GdalProfile();
/// netCDF-C 4.9, as Debian builds it: without filters.
[[nodiscard]] const ReaderProfile& NetcdfProfile();
/// jzarr 0.4, which Bio-Formats, OMERO, QuPath and SNAP read by.
[[nodiscard]] const ReaderProfile& JavaProfile();

}  // namespace zarrfs
