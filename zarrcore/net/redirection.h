// Redirections of web servers, which the option redirects=follow follows.
//
// The server that redirects is trusted to say where an object is, and nothing else: another host
// gets no credentials, a redirection away from TLS is not followed, and guarded addresses
// (guarded_address.h) are not connected to, unless the store itself has one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/net/fetch_job.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {

/// The maximum number of redirections in a row.
inline constexpr int kMaxRedirections = 5;

/// True if `reply`, which `verdict` judges, redirects the job from `url` to another address that
/// must be requested next: FetchJob::redirected.
[[nodiscard]] bool Follows(const HttpReply& reply, const Verdict& verdict, std::string_view url,
                           FetchJob& job);

/// Where the response to a request for `url` redirects. nullopt if it does not redirect, or to an
/// address that must not be requested.
[[nodiscard]] std::optional<std::string> RedirectionOf(const HttpReply& reply,
                                                       std::string_view url);

/// Directs `get`, a request to the store, to `url`. If that is another host, scheme or port, the
/// request keeps only the headers that name a version, and is guarded.
void Redirect(std::string url, HttpGet& get);

}  // namespace zarrfs
