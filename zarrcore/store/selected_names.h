// Selects the visible names in the root folder of a store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

/// Shell patterns with `*`, `?` and `[…]` (fnmatch(3)). A name is visible if it matches a pattern
/// of `show`, or `show` is empty, and it matches no pattern of `hide`. The metadata documents of
/// the root are always visible.
struct NamePatterns {
  std::vector<std::string> show;
  std::vector<std::string> hide;

  [[nodiscard]] bool empty() const { return show.empty() && hide.empty(); }
  [[nodiscard]] bool Has(std::string_view name) const;
  bool operator==(const NamePatterns&) const = default;
};

/// Parses patterns separated by colons, such as "*.tmp:scratch". nullopt if a pattern is empty,
/// contains a slash or NUL, or exceeds the maximum length of a name.
[[nodiscard]] std::optional<std::vector<std::string>> ParsePatterns(std::string_view text);

/// Wraps `store` in a store without the hidden names and everything below them. Returns `store`
/// itself if `patterns` is empty.
[[nodiscard]] std::shared_ptr<const Store> SelectNames(std::shared_ptr<const Store> store,
                                                       NamePatterns patterns);

}  // namespace zarrfs
