// AssembledFile: one file made from whole arrays. It has a header, followed by the elements of each
// array in C order. The position of each element is computed, so only the header is held in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

/// How the elements of an array are encoded in an AssembledFile. Elements are first widened
/// (codec/widen.h), then converted to `type`, then put into the file's byte order.
struct ElementForm {
  DataType type;         // the type in the file
  bool is_wide = false;  // true if Widen() is applied to elements first
  bool is_converted =
      // True if elements are converted to `type`, a number or text type. An element that `type`
      // cannot represent is kDamaged.
      false;
  bool is_big_endian = false;

  [[nodiscard]] size_t item_size() const { return type.item_size; }
  [[nodiscard]] bool is_as_stored() const { return !is_wide && !is_converted; }
};

/// Converts little-endian `elements` of type `from` to `form`.
[[nodiscard]] Result<Bytes> InForm(Bytes elements, const DataType& from, const ElementForm& form);

/// The part of a file that holds all elements of one array.
struct FilePart {
  uint64_t offset = 0;    // where the part begins in the file, in bytes
  uint64_t elements = 0;  // number of elements
  size_t array = 0;       // the index of the array in FileSource::arrays
  ElementForm form;

  [[nodiscard]] uint64_t size() const { return elements * form.item_size(); }  // in bytes
};

struct AssembledFile {
  std::string header;  // the beginning of the file
  // The parts after the header, one per array, sorted by offset and without overlap. Gaps between
  // them read as zeros.
  std::vector<FilePart> parts;
  uint64_t size = 0;                    // the size of the file in bytes
  std::vector<std::string> notes = {};  // lines for users: what was left out, and why
  /// Explains why kAuto chose CDF-5 for a NetCDF file: the array that CDF-2 cannot contain, the
  /// reason, and the readers that cannot open CDF-5. Empty for any other file.
  std::string why_cdf5 = {};
  /// The .zarray of an array with ArrayView::has_texts, whose only chunk this file is. Empty for
  /// any other file, and if the array cannot be shown; `notes` then has the reason.
  std::string document = {};
};

/// Properties of an array's elements, found by scanning all of them.
struct ElementRange {
  bool fits_int32 = false;  // for integers and dates: true if every value fits into an int32
  uint64_t text_bytes = 0;  // for strings: the length of the longest string in UTF-8, at least 1
  // For strings of variable length: the length of the longest string in characters, at least 1.
  uint64_t text_characters = 0;
};
/// Scans `elements` of type `type`. nullopt unless `type` is an integer type that may exceed int32,
/// a date type, or UTF-32 strings.
[[nodiscard]] std::optional<ElementRange> RangeOf(BytesView elements, const DataType& type);

/// The classic NetCDF format of a file.
enum class NetcdfFormat {
  kAuto,  // CDF-2, which most readers support, unless only CDF-5 can contain some array
  kCdf2,
  kCdf5,
};

/// The arrays from which View::Assemble() makes a file.
struct FileSource {
  struct Array {
    std::string_view name;
    const ArrayMetadata* metadata;
  };
  const GroupMetadata* group = nullptr;  // null if the file shows one array
  // The array to show; for a group, the arrays directly below it, and the coordinates from groups
  // above that these arrays use. Sorted by name.
  std::span<const Array> arrays;
  std::string_view name;  // the name of the group or array, which is also the file's name
  /// Scans all elements of the array with index `array` in `arrays`. kUnsupported if the array has
  /// too many elements, or if the elements do not fit into items of one size.
  std::function<Result<ElementRange>(size_t array)> scan;
  NetcdfFormat netcdf = NetcdfFormat::kAuto;
};

}  // namespace zarrfs
