// AssembledFile: one file made of whole arrays: a header, and behind it the elements of each array
// in C order. Where each element is, is arithmetic; nothing but the header is held in memory.
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

/// How an element is written in a file: widened, then converted, then in the file's byte order.
struct ElementForm {
  DataType type;         // in the file
  bool is_wide = false;  // as Widen() makes it
  bool is_converted =
      false;  // to the number or text that `type` is; what that cannot hold: kDamaged
  bool is_big_endian = false;

  [[nodiscard]] size_t item_size() const { return type.item_size; }
  [[nodiscard]] bool is_as_stored() const { return !is_wide && !is_converted; }
};

/// `elements` of type `from`, little-endian, as they are in the file.
[[nodiscard]] Result<Bytes> InForm(Bytes elements, const DataType& from, const ElementForm& form);

/// All elements of one array.
struct FilePart {
  uint64_t offset = 0;    // in the file, in bytes
  uint64_t elements = 0;  // how many
  size_t array = 0;       // the number of the array in FileSource::arrays
  ElementForm form;

  [[nodiscard]] uint64_t size() const { return elements * form.item_size(); }  // bytes
};

struct AssembledFile {
  std::string header;                   // its first bytes
  std::vector<FilePart> parts;          // by offset, without overlap; what is between is zeros
  uint64_t size = 0;                    // bytes
  std::vector<std::string> notes = {};  // what is left out of it or another, and why
  /// Of a NetCDF file that is CDF-5 because CDF-2 would lack something: that, and who cannot open
  /// it.
  std::string why_cdf5 = {};
  /// In a view whose array is a folder: the document that says what the file holds, a chunk. None
  /// if the array cannot be shown, for the reason in `notes`.
  std::string document = {};
};

/// What is known of the elements of an array that were all looked at.
struct ElementRange {
  bool fits_int32 = false;       // integers and dates: each value does
  uint64_t text_bytes = 0;       // texts: of the longest one in UTF-8, at least 1
  uint64_t text_characters = 0;  // texts of variable length: of the longest one, at least 1
};
/// Of elements that are such; otherwise nothing is known.
[[nodiscard]] std::optional<ElementRange> RangeOf(BytesView elements, const DataType& type);

/// Which of the classic formats of NetCDF a file has.
enum class NetcdfFormat {
  kAuto,  // CDF-2, which most readers know, where that can hold everything
  kCdf2,
  kCdf5,
};

/// What a file is made from.
struct FileSource {
  struct Array {
    std::string_view name;
    const ArrayMetadata* metadata;
  };
  const GroupMetadata* group = nullptr;  // null for the file of an array
  std::span<const Array> arrays;         // the array; or those directly below the group, by name
  std::string_view name;                 // of the group, or the array: what the file is called
  /// Looks at all elements of array number `array`. kUnsupported if nothing can be said of them:
  /// too many, or what no item of one size can hold.
  std::function<Result<ElementRange>(size_t array)> scan;
  NetcdfFormat netcdf = NetcdfFormat::kAuto;
};

}  // namespace zarrfs
