// Changes metadata documents for tests.
#pragma once

#include <string>
#include <string_view>

#include "zarrcore/metadata/json.h"

namespace zarrfs {

/// Returns `document` with the members of `change` added or replaced, or removed if their value in
/// `change` is "-".
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
