// What a view passes through: the documents and chunks of a v2 source in the view of v2 readers,
// and the documents of an unsharded v3 source in the v3 view. There the view must agree with the
// source itself, read by the same reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// A v2 array with its own documents and chunk files, whatever its codecs and data type. Nothing
/// but a forced separator changes its .zarray.
[[nodiscard]] ArrayView PassThroughV2(const ArrayMetadata& metadata, const ViewContext& context);

/// The documents of a v2 source: `name` (.zarray or .zgroup), and .zattrs if there is one.
[[nodiscard]] std::vector<Document> StoredV2(const StoredDocuments& stored, std::string_view name);

/// The bytes of a document as a value in another JSON document that has this encoding. Text that is
/// not JSON becomes a string: readers fail to parse that as they fail to parse the document.
[[nodiscard]] std::string InsideJson(std::string_view text, JsonEncoding encoding);

/// Whether a reader of Zarr v3 takes the zarr.json of an array, as it is stored, for the same as
/// the one rewritten for it: they differ only where both spellings are today's (a fill value, a
/// configuration that may be left out, the order of members).
[[nodiscard]] bool MeansTheSame(const Json& rewritten, const Json& stored);

}  // namespace zarrfs
