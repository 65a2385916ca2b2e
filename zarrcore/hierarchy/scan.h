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
  Digest objects;  // changes when the stored chunks may have changed
  std::optional<ElementRange> range;
  /// If no range was found although everything could be read, the reason: too many elements, or
  /// some that do not fit items of one size.
  std::string why_not;
  std::optional<Error> failure;  // otherwise the read error
  Validity validity;             // of `objects`
};

/// Scans texts of variable length in up to 4,096 chunks with up to `string_scan` stored bytes, and
/// one-dimensional arrays of numbers likewise, up to 16 times as many decoded bytes; other elements
/// in up to 64 chunks of up to 1 MiB in total. `known`: the previous result, or null; reused if the
/// stored objects are the same. Chunks are those of the store at most `max_age` ago.
[[nodiscard]] Scan ScanElements(const Store& store, const Node& array, Age max_age,
                                uint64_t string_scan, const Scan* known);

}  // namespace zarrfs
