// Converts OME-Zarr 0.6 to 0.5 if 0.5 can express it.
//
// 0.6 is a draft. This code follows ngff-spec at 0.6.dev3 (commit 00a9233) and its examples at
// 0.6.dev4 (commit 124d9ac), in which transformations identify their coordinate systems by a string
// or by an object with "name" or "path".
#pragma once

#include <optional>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// True if `version` is 0.6 or a draft of it.
[[nodiscard]] bool IsOme06(const Json& version);

/// Converts a 0.6 attribute `ome` to 0.5 if each of its `multiscales` is a plain pyramid. A plain
/// pyramid has one coordinate system, whose axes become `axes`. Each dataset is mapped to it by an
/// identity, a scale, a translation, or a sequence of a scale and a translation. nullopt for other
/// transformations or coordinate systems, and for members that 0.5 lacks, such as `scene`.
[[nodiscard]] std::optional<Json> Ome06As05(const Json& ome);

}  // namespace zarrfs
