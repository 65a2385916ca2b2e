// What a page says of an array in words: rows of a name and a text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/stored_chunks.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

/// A name and a text, not escaped.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Of an array: shape, dimensions, chunks, codecs, sizes. `stored`: null if it was not looked at.
[[nodiscard]] Facts FactsOf(const Node& array, const StoredChunks* stored);

/// The first of the attributes, each shortened.
[[nodiscard]] Facts AttributesOf(const Json& attributes);

/// A text among the attributes, shortened; "" if there is none.
[[nodiscard]] std::string TextAttribute(const Json& attributes, std::string_view name);

/// "; with scale_factor and add_offset: 230.1 to 310.4", or "".
[[nodiscard]] std::string Unpacked(const Json& attributes, const std::string& least,
                                   const std::string& greatest);

}  // namespace zarrfs::ctl
