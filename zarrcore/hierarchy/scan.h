// Scans all elements of an array, to choose a type that can represent them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/result.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/assembled_file.h"

namespace zarrfs {

/// The result of a scan.
struct Scan {
  Digest objects;  // a digest that changes if the stored chunks may have changed
  std::optional<ElementRange> range;
  /// The reason why the scan found no range although no read failed: the array has too many
  /// elements, or some of them do not fit into items of one size.
  std::string why_not;
  std::optional<Error> failure;  // the error if elements could not be read
  Validity validity;             // the validity of `objects`
};

/// Scans all elements of an array that does not exceed the limits. For variable-length strings, the
/// limits are 4,096 chunks and `string_scan` stored bytes. For one-dimensional arrays of numbers or
/// dates, a third limit is 16 times `string_scan` decoded bytes. For all other arrays, the limits
/// are 64 chunks and 1 MiB of decoded bytes. Returns the result of `known` (may be null) if the
/// stored objects are unchanged. Their versions are at most `max_age` old.
[[nodiscard]] Scan ScanElements(const Store& store, const Node& array, Age max_age,
                                uint64_t string_scan, const Scan* known);

}  // namespace zarrfs
