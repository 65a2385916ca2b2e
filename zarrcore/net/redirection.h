// Follows redirections by web servers, if the option redirects=follow is set.
//
// The server that redirects is trusted only with the location of an object. Another host gets no
// credentials. A redirection from TLS to plain HTTP is not followed. A redirection to a guarded
// address (guarded_address.h) is not followed either, unless the store itself has that address.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_job.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {

/// The maximum number of consecutive redirections.
inline constexpr int kMaxRedirections = 5;

/// If `reply` redirects the job from `url` to an address that may be requested, makes this address
/// the job's next attempt (FetchJob::redirected) and returns true. `verdict`: the result of Judge()
/// for `reply`.
[[nodiscard]] bool Follows(const HttpReply& reply, const Verdict& verdict, std::string_view url,
                           FetchJob& job);

/// Returns the address that `reply`, the response to a request for `url`, redirects to. nullopt if
/// `reply` does not redirect, or redirects to an address that must not be requested.
[[nodiscard]] std::optional<std::string> RedirectionOf(const HttpReply& reply,
                                                       std::string_view url);

/// Directs `get`, a request to the store, to `url`. If `url` has another host, scheme or port, only
/// the headers that name a version stay, and the request is guarded (HttpGet::is_guarded).
void Redirect(std::string url, HttpGet& get);

}  // namespace zarrfs
