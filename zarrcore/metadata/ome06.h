// Converts OME-Zarr 0.6 to 0.5 if 0.5 can express it.
//
// 0.6 is a draft: this follows ngff-spec at 0.6.dev3 (commit 00a9233) and its examples at 0.6.dev4
// (commit 124d9ac), in which transformations name their coordinate systems by a text or by an
// object with "name" or "path".
#pragma once

#include <optional>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Whether `version` is 0.6, or a draft of it.
[[nodiscard]] bool IsOme06(const Json& version);

/// The attribute `ome` of 0.6 converted to 0.5, if each of its `multiscales` is a plain pyramid:
/// one coordinate system, whose axes become `axes`, to which each dataset is mapped by a scale, an
/// identity, a translation, or a sequence of a scale and a translation. nullopt for other
/// transformations or coordinate systems, and for members that 0.5 lacks (a `scene`).
[[nodiscard]] std::optional<Json> Ome06As05(const Json& ome);

}  // namespace zarrfs
