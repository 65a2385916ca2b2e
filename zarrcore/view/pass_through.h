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
/// data type. The .zarray changes only if the user forces another separator of chunk names.
[[nodiscard]] ArrayView PassThroughV2(const ArrayMetadata& metadata, const ViewContext& context);

/// Returns the stored documents of a v2 node: the one called `name`, which is .zarray or .zgroup,
/// and .zattrs if it exists.
[[nodiscard]] std::vector<Document> StoredV2(const StoredDocuments& stored, std::string_view name);

/// Returns the document `text` as a value that can be inserted into another JSON document, whose
/// encoding is `encoding`. Invalid JSON becomes a string, which readers reject as they would reject
/// the document itself.
[[nodiscard]] std::string InsideJson(std::string_view text, JsonEncoding encoding);

/// True if a Zarr v3 reader interprets the `stored` zarr.json of an array like the `rewritten`
/// zarr.json. Both may differ in the order of members, and in the spelling of the fill value and of
/// optional configurations, if the current specification allows both spellings.
[[nodiscard]] bool MeansTheSame(const Json& rewritten, const Json& stored);

}  // namespace zarrfs
