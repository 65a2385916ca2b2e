// Passes documents and chunks of a v2 source through to v2 readers, and documents of an unsharded
// v3 source to the v3 view. A reader then gets the same bytes from the view as from the source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// Shows a stored v2 array with its own documents and chunk files, regardless of its codecs and
/// data type. Only a forced separator changes the .zarray.
[[nodiscard]] ArrayView PassThroughV2(const ArrayMetadata& metadata, const ViewContext& context);

/// The stored documents of a v2 node: `name`, which is .zarray or .zgroup, and .zattrs if it
/// exists.
[[nodiscard]] std::vector<Document> StoredV2(const StoredDocuments& stored, std::string_view name);

/// Converts a document to a value that can be inserted into another JSON document with `encoding`.
/// Invalid JSON becomes a string, which readers reject as they would reject the document itself.
[[nodiscard]] std::string InsideJson(std::string_view text, JsonEncoding encoding);

/// True if a Zarr v3 reader interprets the `stored` zarr.json of an array like the `rewritten`
/// zarr.json. Both may differ in the order of members, and in the spelling of the fill value and of
/// optional configurations, if both spellings are valid today.
[[nodiscard]] bool MeansTheSame(const Json& rewritten, const Json& stored);

}  // namespace zarrfs
