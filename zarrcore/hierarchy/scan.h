// Looks at all elements of an array to find out what type readers need to hold them.
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

/// What that has shown.
struct Scan {
  Digest objects;  // another one if what is stored may be other chunks
  std::optional<ElementRange> range;
  /// Without a range: why there is none, though everything could be read: too many elements, or
  /// some that items of one size cannot hold.
  std::string why_not;
  std::optional<Error> failure;  // else: what could not be read
  Validity validity;             // of `objects`
};

/// Texts of variable length are looked at in up to 4,096 chunks with up to `string_scan` stored
/// bytes, and so are numbers along one axis, up to 16 times as many decoded bytes; other elements
/// in up to 64 chunks of up to a MiB in all. `known`: what was found before,
/// or null; it is taken if the stored objects are the same. Chunks are those of the store at most
/// `max_age` ago.
[[nodiscard]] Scan ScanElements(const Store& store, const Node& array, Age max_age,
                                uint64_t string_scan, const Scan* known);

}  // namespace zarrfs
