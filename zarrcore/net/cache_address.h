// Parses and checks the addresses in the option via=, which name HTTP caches between a mount and
// its store, such as nginx with packaging/cache/nginx.conf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

struct RemoteSource;

/// Maximum number of caches.
inline constexpr size_t kMaxCaches = 64;

/// Parses "http://HOST:PORT" or "https://HOST:PORT". A slash may follow, but no path. nullopt for
/// any other text, such as an address with a user name.
[[nodiscard]] std::optional<std::string> ParseCacheAddress(std::string_view text);

/// Adds the address `text` to `caches`, unless `caches` contains it. False if `text` is not a cache
/// address, or if `caches` already has kMaxCaches.
[[nodiscard]] bool AddCacheAddress(std::string_view text, std::vector<std::string>& caches);

/// Returns kInvalidArgument if a cache without TLS would receive secrets in plain text: those of
/// headers=, query= or ~/.netrc. Reads ~/.netrc.
[[nodiscard]] Result<void> CheckCaches(const RemoteSource& source);

/// True if `netrc`, the text of a ~/.netrc, has an entry for `host`, or a default entry.
[[nodiscard]] bool HasLoginFor(std::string_view netrc, std::string_view host);

}  // namespace zarrfs
