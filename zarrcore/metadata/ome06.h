// OME-Zarr 0.6 as 0.5, where 0.5 can say it.
//
// 0.6 is a draft: read were ngff-spec at 0.6.dev3 (commit 00a9233) and its examples at 0.6.dev4
// (commit 124d9ac), in which transformations name their coordinate systems by a text or by an
// object with "name" or "path".
#pragma once

#include <optional>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Whether `version` is 0.6, or a draft of it.
[[nodiscard]] bool IsOme06(const Json& version);

/// The attribute `ome` of 0.6 as one of 0.5, if each of its `multiscales` is a plain pyramid: one
/// coordinate system, whose axes become `axes`, to which each dataset is brought by a scale, an
/// identity, a translation, or a sequence of a scale and a translation. nullopt otherwise: there
/// are other transformations or coordinate systems, or members that 0.5 does not know (a `scene`).
[[nodiscard]] std::optional<Json> Ome06As05(const Json& ome);

}  // namespace zarrfs
