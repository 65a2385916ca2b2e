// Scans all elements of an array to find the type that readers need for them.
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
  Digest objects;  // changes if the stored chunks may have changed
  std::optional<ElementRange> range;
  /// The reason why the scan gave no range although all elements could be read: the array has too
  /// many elements, or some of them do not fit into items of one size.
  std::string why_not;
  std::optional<Error> failure;  // the error if elements could not be read
  Validity validity;             // the validity of `objects`
};

/// Scans all elements of an array. Limits: for variable-length strings, 4,096 chunks with
/// `string_scan` stored bytes; for one-dimensional arrays of numbers, in addition 16 times as many
/// decoded bytes; for all other arrays, 64 chunks with 1 MiB in total. Returns the result of
/// `known` (may be null) if the stored objects are unchanged. Their versions are at most `max_age`
/// old.
[[nodiscard]] Scan ScanElements(const Store& store, const Node& array, Age max_age,
                                uint64_t string_scan, const Scan* known);

}  // namespace zarrfs
