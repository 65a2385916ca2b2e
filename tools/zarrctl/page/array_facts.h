// The facts about an array on a page, as rows of a name and a value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/zarrctl/stored_chunks.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

/// Rows of a name and a value, not escaped for HTML.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The facts about an array: shape, dimensions, chunks, codecs, sizes. `stored`: its stored chunks;
/// null if they were not counted.
[[nodiscard]] Facts FactsOf(const Node& array, const StoredChunks* stored);

/// Returns the first attributes of a node, each shortened.
[[nodiscard]] Facts AttributesOf(const Json& attributes);

/// Returns the string attribute `name`, shortened; "" if it is absent.
[[nodiscard]] std::string TextAttribute(const Json& attributes, std::string_view name);

/// Returns the range of the unpacked values, such as "with scale_factor and add_offset: 230.1 to
/// 310.4"; "" for an array without these attributes. `least`, `greatest`: the packed minimum and
/// maximum.
[[nodiscard]] std::string Unpacked(const Json& attributes, const std::string& least,
                                   const std::string& greatest);

}  // namespace zarrfs::ctl
