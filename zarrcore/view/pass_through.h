// Passes through documents and chunks of a v2 source to v2 readers, and documents of an unsharded
// v3 source to the v3 view, where the view must agree with the source itself, read by the same
// reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// A v2 array with its own documents and chunk files, regardless of its codecs and data type. Only
/// a forced separator changes its .zarray.
[[nodiscard]] ArrayView PassThroughV2(const ArrayMetadata& metadata, const ViewContext& context);

/// The documents of a v2 source: `name` (.zarray or .zgroup), and .zattrs if there is one.
[[nodiscard]] std::vector<Document> StoredV2(const StoredDocuments& stored, std::string_view name);

/// The bytes of a document as a value in another JSON document of this encoding. Text that is not
/// JSON becomes a string: readers fail to parse that as they fail to parse the document.
[[nodiscard]] std::string InsideJson(std::string_view text, JsonEncoding encoding);

/// Whether a Zarr v3 reader interprets an array's stored zarr.json like the rewritten one: they
/// differ only in spellings that are both valid today (a fill value, an optional configuration, the
/// order of members).
[[nodiscard]] bool MeansTheSame(const Json& rewritten, const Json& stored);

}  // namespace zarrfs
