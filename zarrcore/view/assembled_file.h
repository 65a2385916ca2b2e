// AssembledFile: one file made of whole arrays: a header, then the elements of each array in C
// order. The position of each element is computed; only the header is held in memory.
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

/// How an element is encoded in a file: widened, then converted, then in the file's byte order.
struct ElementForm {
  DataType type;         // in the file
  bool is_wide = false;  // by Widen()
  bool is_converted =
      false;  // to the number or text that `type` is; what that cannot hold: kDamaged
  bool is_big_endian = false;

  [[nodiscard]] size_t item_size() const { return type.item_size; }
  [[nodiscard]] bool is_as_stored() const { return !is_wide && !is_converted; }
};

/// Encodes `elements` of type `from`, little-endian, as in the file.
[[nodiscard]] Result<Bytes> InForm(Bytes elements, const DataType& from, const ElementForm& form);

/// All elements of one array.
struct FilePart {
  uint64_t offset = 0;    // in the file, in bytes
  uint64_t elements = 0;  // number of elements
  size_t array = 0;       // index in FileSource::arrays
  ElementForm form;

  [[nodiscard]] uint64_t size() const { return elements * form.item_size(); }  // bytes
};

struct AssembledFile {
  std::string header;                   // beginning of the file
  std::vector<FilePart> parts;          // by offset, without overlap; gaps are zeros
  uint64_t size = 0;                    // bytes
  std::vector<std::string> notes = {};  // omissions from this file or another, with reasons
  /// If a NetCDF file is CDF-5 because CDF-2 would lose something: what, and which readers cannot
  /// open it.
  std::string why_cdf5 = {};
  /// In a view whose arrays are folders: the document that describes the file, which is a chunk.
  /// Empty if the array cannot be shown, for the reason in `notes`.
  std::string document = {};
};

/// Properties of an array's elements, after a scan of all.
struct ElementRange {
  bool fits_int32 = false;       // integers and dates: every value does
  uint64_t text_bytes = 0;       // texts: longest one in UTF-8, at least 1
  uint64_t text_characters = 0;  // texts of variable length: longest one, at least 1
};
/// The range of integers, dates or texts; nullopt for other types.
[[nodiscard]] std::optional<ElementRange> RangeOf(BytesView elements, const DataType& type);

/// The classic NetCDF format of a file.
enum class NetcdfFormat {
  kAuto,  // CDF-2, which most readers know, if it can express everything
  kCdf2,
  kCdf5,
};

/// The input of a file.
struct FileSource {
  struct Array {
    std::string_view name;
    const ArrayMetadata* metadata;
  };
  const GroupMetadata* group = nullptr;  // null for the file of one array
  std::span<const Array> arrays;         // that array; or those directly below the group, by name
  std::string_view name;                 // of the group or the array; the file's name
  /// Scans all elements of array number `array`. kUnsupported if there are too many, or no item of
  /// one size can hold them.
  std::function<Result<ElementRange>(size_t array)> scan;
  NetcdfFormat netcdf = NetcdfFormat::kAuto;
};

}  // namespace zarrfs
