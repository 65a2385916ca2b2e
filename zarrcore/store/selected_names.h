// A part of a store: which of the names in its root folder there are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// Patterns as of a shell: `*`, `?` and `[…]` (fnmatch(3)). A name is there if it matches one of
/// `show`, or `show` is empty, and none of `hide`. The metadata documents of the root are always
/// there.
struct NamePatterns {
  std::vector<std::string> show;
  std::vector<std::string> hide;

  [[nodiscard]] bool empty() const { return show.empty() && hide.empty(); }
  [[nodiscard]] bool Has(std::string_view name) const;
  bool operator==(const NamePatterns&) const = default;
};

/// "*.tmp:scratch": patterns separated by colons. Nullopt if one is empty, has a slash, or is
/// longer than a name can be.
[[nodiscard]] std::optional<std::vector<std::string>> ParsePatterns(std::string_view text);

/// Wraps `store`, unless everything is to be there. What is not selected is absent, and so is
/// everything below it.
[[nodiscard]] std::shared_ptr<const Store> SelectNames(std::shared_ptr<const Store> store,
                                                       NamePatterns patterns);

}  // namespace zarrfs
