// Metadata documents as a test changes them.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// `document` with the members of `change` replaced, added or (where `change` has "-") removed.
inline std::string Changed(std::string_view document, std::string_view change) {
  Json changed = *ParseJson(document, "document");
  const Json changes = *ParseJson(change, "change");
  for (const auto& [name, value] : changes.items()) {
    if (value == "-") {
      changed.erase(name);
    } else {
      changed[name] = value;
    }
  }
  return DumpJson(changed);
}

}  // namespace zarrfs
