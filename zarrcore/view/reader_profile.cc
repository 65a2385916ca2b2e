#include "zarrcore/view/reader_profile.h"

#include <initializer_list>

#include "zarrcore/view/compressors.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;
using enum DataKind;

constexpr std::array<TypeUse, kDataKinds> Types(std::initializer_list<DataKind> as_is,
                                                std::initializer_list<DataKind> wide) {
  std::array<TypeUse, kDataKinds> types{};
  types.fill(TypeUse::kRefused);
  for (const DataKind kind : as_is) types[static_cast<size_t>(kind)] = TypeUse::kAsIs;
  for (const DataKind kind : wide) types[static_cast<size_t>(kind)] = TypeUse::kWide;
  return types;
}

constexpr std::array kOfGdal = {"gzip"sv, "zlib"sv, "zstd"sv, "lz4"sv, "lzma"sv, "blosc"sv};
constexpr std::array kFilters = {"delta"sv, "fixedscaleoffset"sv, "shuffle"sv};
constexpr std::array kOfJzarr = {"zlib"sv, "blosc"sv};

}  // namespace

const ReaderProfile& ZarrPython2Profile() {
  static constexpr ReaderProfile profile = {
      .name = "v2",
      .readers = "zarr-python 2, xarray with it, other readers of Zarr v2",
      .types = Types({kBool, kInt, kUint, kFloat, kComplex, kRaw, kNarrowInt, kNarrowUint,
                      kNarrowFloat, kNarrowComplex, kDatetime, kTimedelta, kFixedLengthUtf32,
                      kNullTerminatedBytes, kStruct, kString, kBytes},
                     {}),
      .compressors = kCompressors,
      .filters = kFilters,
      .needs_plain_zstd = true,
      .masks_fill = true,
      .passes_v2_through = true,
      .has_consolidated_metadata = true,
      .shows_ome_04 = true,
  };
  return profile;
}

const ReaderProfile& GdalProfile() {
  static constexpr ReaderProfile profile = {
      .name = "gdal",
      .readers = "GDAL",
      .types = Types(
          {kBool, kInt, kUint, kFloat, kComplex, kFixedLengthUtf32, kNullTerminatedBytes, kStruct},
          {kNarrowInt, kNarrowUint, kNarrowFloat, kNarrowComplex, kDatetime, kTimedelta}),
      .longest_text = 249,  // GDAL refuses items of 1,000 bytes or more
      .compressors = kOfGdal,
      .takes_complex_fill = false,
      .takes_text_fill = false,
      .takes_all_uint64_fill = false,
      .takes_empty_dimensions = false,
      .has_cf_time = true,
      .is_gdal = true,
      .takes_empty_names = false,
  };
  return profile;
}

const ReaderProfile& NetcdfProfile() {
  static constexpr ReaderProfile profile = {
      .name = "netcdf",
      .readers = "netCDF-C; chunks are plain numbers",
      .types = Types({kInt, kUint, kFloat},
                     {kBool, kNarrowInt, kNarrowUint, kNarrowFloat, kDatetime, kTimedelta}),
      .takes_float16 = false,
      .takes_big_endian = false,
      .takes_fortran_order = false,
      .compressors = {},
      .keeps_fill_attribute = true,
      .needs_typed_fill = true,
      .takes_scalars = false,
      .takes_empty_dimensions = false,
      .takes_padding = false,
      .has_cf_time = true,
      .is_netcdf = true,
      .needs_plain_attributes = true,
      .shares_dimensions = true,
      .needs_plain_names = true,
      .needs_utf8 = true,
  };
  return profile;
}

const ReaderProfile& JavaProfile() {
  static constexpr ReaderProfile profile = {
      .name = "java",
      .readers = "jzarr: Bio-Formats, OMERO, QuPath, SNAP",
      .is_listed = false,
      .types = Types({kInt, kUint, kFloat},
                     {kBool, kNarrowInt, kNarrowUint, kNarrowFloat, kDatetime, kTimedelta}),
      .takes_float16 = false,
      .takes_uint64 = false,
      .takes_fortran_order = false,
      .compressors = kOfJzarr,
      .takes_snappy_in_blosc = false,
      .takes_fill_literally = true,
      .keeps_fill_attribute = true,
      .takes_scalars = false,
      .takes_empty_dimensions = false,
      .largest_extent = std::numeric_limits<int32_t>::max(),
      .has_consolidated_metadata = true,
      .shows_ome_04 = true,
      .has_cf_time = true,
      .needs_strict_json = true,
  };
  return profile;
}

}  // namespace zarrfs
