#include "zarrcore/net/cache_address.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

#include "zarrcore/base/number_text.h"
#include "zarrcore/net/aws_profile.h"
#include "zarrcore/net/guarded_address.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

constexpr std::string_view kWithoutTls = "http://";
constexpr std::string_view kWithTls = "https://";

bool IsHost(std::string_view host) {
  const bool is_v6 = host.starts_with('[') && host.ends_with(']');
  if (is_v6) host = host.substr(1, host.size() - 2);
  return !host.empty() && std::ranges::all_of(host, [&](char c) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_word || c == '.' || (is_v6 ? c == ':' : c == '-' || c == '_');
  });
}

std::string TextOfNetrc() {
  std::ifstream file(Environment("HOME") + "/.netrc");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<std::string> ParseCacheAddress(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  const std::string_view scheme = text.starts_with(kWithTls) ? kWithTls : kWithoutTls;
  if (!text.starts_with(scheme)) return std::nullopt;
  const std::string_view place = text.substr(scheme.size());
  const size_t colon = place.rfind(':');
  if (colon == place.npos || !IsHost(place.substr(0, colon))) return std::nullopt;
  const auto port = NumberFrom<uint16_t>(place.substr(colon + 1));
  if (port.value_or(0) == 0) return std::nullopt;
  return std::string(text);
}

bool AddCacheAddress(std::string_view text, std::vector<std::string>& caches) {
  auto address = ParseCacheAddress(text);
  if (!address) return false;
  if (std::ranges::find(caches, *address) != caches.end()) return true;
  if (caches.size() >= kMaxCaches) return false;
  caches.push_back(*std::move(address));
  return true;
}

bool HasLoginFor(std::string_view netrc, std::string_view host) {
  std::istringstream words{std::string(netrc)};
  for (std::string word; words >> word;) {
    if (word == "default") return true;
    if (word == "machine" && words >> word && word == host) return true;
  }
  return false;
}

Result<void> CheckCaches(const RemoteSource& source) {
  const std::vector<std::string>& caches = source.options.caches;
  const auto open = std::ranges::find_if(
      caches, [](const std::string& cache) { return cache.starts_with(kWithoutTls); });
  if (open == caches.end()) return {};
  const auto refuse = [&](std::string_view what) {
    return Fail(ErrorCode::kInvalidArgument,
                "via={}: {} would be sent to this cache without encryption: give the cache a "
                "certificate and name it with https://, or leave out via=",
                *open, what);
  };
  if (!source.options.headers_file.empty()) return refuse("the secrets of headers=");
  if (!source.options.query_file.empty()) return refuse("the secrets of query=");
  if (!source.is_s3 && HasLoginFor(TextOfNetrc(), HostIn(source.url))) {
    return refuse("the password that ~/.netrc has for the store");
  }
  return {};
}

}  // namespace zarrfs
