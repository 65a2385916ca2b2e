// The addresses of the option via=: HTTP caches between a mount and its store, such as nginx with
// packaging/cache/nginx.conf.
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

/// Appends the cache at `text`, unless it is there already. False if it is not an address, or
/// there are too many.
[[nodiscard]] bool AddCacheAddress(std::string_view text, std::vector<std::string>& caches);

/// Fails if a cache that is reached without TLS would receive secrets that are sent as they are:
/// those of headers=, query= or ~/.netrc. Reads ~/.netrc.
[[nodiscard]] Result<void> CheckCaches(const RemoteSource& source);

/// True if the text of a ~/.netrc has a user name or password for `host`.
[[nodiscard]] bool HasLoginFor(std::string_view netrc, std::string_view host);

}  // namespace zarrfs
