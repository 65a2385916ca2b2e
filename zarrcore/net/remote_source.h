// RemoteSource: the address of objects in a bucket or on a web server, and how to request them.
//
//   s3://bucket/data/ocean.zarr   the keys that begin with data/ocean.zarr/
//   gs://bucket/data/ocean.zarr   the keys that begin with data/ocean.zarr/, at Google
//   az://account/container/x.zarr the objects below this address, at Azure
//   https://host/ocean.zarr       the objects below this address
//   https://host/all.zip          one object
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_prefix.h"
#include "zarrcore/net/secret_files.h"

namespace zarrfs {

/// Options of a store behind a network. The options contain no secrets, only the names of files
/// with secrets.
struct RemoteOptions {
  static constexpr uint64_t kForever = UINT64_MAX;

  // The address of an S3 service: "https://host:9000"; "" for AWS, or as in the environment.
  std::string endpoint;
  std::string region;        // "" for the value in the environment, or us-east-1
  std::string addressing;    // "path" or "virtual"; "" to choose automatically
  std::string profile;       // a profile in ~/.aws; "" for the value in the environment
  std::string headers_file;  // a file with lines "Name: value" to send with each request
  std::string query_file;    // a file with a query to append to each address, such as a signature
  std::string list_file;     // a file with all keys of a store that cannot be listed
  bool anonymous = false;    // send unsigned requests
  bool requester_pays = false;        // pay for requests to a requester-pays bucket
  bool forbidden_is_absent = false;   // 403 means that the object does not exist
  bool follows_redirections = false;  // follow redirections by web servers (net/redirection.h)
  uint64_t timeout = 60;              // in seconds, for all attempts of a request
  uint64_t list_max = 10'000;  // the maximum number of requests to list an array without list_file
  uint64_t connections = 64;   // maximum number of concurrent requests
  uint64_t bandwidth = 0;      // maximum bytes of data per second; 0: no limit
  std::string disk_cache;      // the folder of the disk cache; "" for none
  uint64_t disk_cache_size = 10ULL << 30;  // the maximum size of the disk cache in bytes
  // The addresses of caches that requests go through (net/cache_route.h): "http://cache1:8080".
  std::vector<std::string> caches;
  // How long a cache may reuse its reply to a request without a version, in milliseconds. 0: such
  // requests go to the store.
  uint64_t cache_window_ms = 1000;

  bool operator==(const RemoteOptions&) const = default;
};

/// Sets the option `name`. False if the option does not exist or does not accept `value`.
[[nodiscard]] bool SetRemoteOption(std::string_view name, std::string_view value,
                                   RemoteOptions& options);

/// Sets options from a list in the syntax of -o: "endpoint=URL,region=REGION" (base/option_list.h).
/// An unknown option is kInvalidArgument, or ignored if `may_have_others`.
[[nodiscard]] Result<RemoteOptions> ParseRemoteOptions(std::string_view list, bool may_have_others);

/// True if `source` names a store in a bucket, which can be listed: "s3://…", "gs://…".
[[nodiscard]] bool IsBucket(std::string_view source);

/// True if `source` names a store that is accessed over a network: in a bucket, "az://…",
/// "http://…", "https://…".
[[nodiscard]] bool IsRemote(std::string_view source);

/// Returns the domain of Amazon's services in `region`.
[[nodiscard]] std::string_view AmazonsDomain(std::string_view region);

struct RemoteSource {
  bool is_s3 = false;
  std::string name;      // the address as given, for messages; without a final slash
  std::string address;   // the address as parsed
  std::string url;       // the percent-encoded address of the folder of all keys, or of one object
  std::string list_url;  // the address of the bucket; only for S3
  std::string
      prefix;  // the prefix of keys in the bucket; ends in a slash unless it is ""; only for S3
  std::string region;  // only for S3
  // True if WithProfile() must not replace `region` by that of the profile in ~/.aws, because an
  // option or the environment sets it, or because ~/.aws must not be read.
  bool is_region_known = false;
  bool is_endpoint_known =
      false;  // like is_region_known, for the endpoint, which is Amazon's by default; only for S3
  RemoteOptions options;
  SecretTexts secrets;
  std::string problem;  // why no request may be sent; "" if requests may be sent

  /// True for a prefix of virtual=, where virtual chunks are read. Its objects are requested
  /// without ~/.netrc, and only from addresses that MayConnect() allows.
  bool is_virtual = false;
  /// The prefixes of virtual= that are not local. FetchRequest::store is the index of a prefix plus
  /// 1.
  std::vector<RemoteSource> prefixes;

  /// True if requests may be sent with credentials: a signature, headers= or query=.
  [[nodiscard]] bool has_credentials() const {
    return (is_s3 && !options.anonymous) || !options.headers_file.empty() ||
           !options.query_file.empty();
  }
};

/// Parses the address of a store. kInvalidArgument, with advice, if `source` is not a valid
/// address. Reads environment variables for values that `options` lacks, but no files.
[[nodiscard]] Result<RemoteSource> ParseRemoteSource(std::string_view source,
                                                     const RemoteOptions& options);

/// Parses the source of a fetch process: the store `source`, unless that is a local path, and each
/// of `prefixes` that is not local. Prefixes have their own options; only the `timeout` of
/// `options` applies to them. Requests below a prefix in a bucket are unsigned unless the prefix
/// has a profile, requester_pays or anonymous=no. If the options of a bucket do not set its region
/// and endpoint, the environment does. Returns the errors of ParseRemoteSource() above, for the
/// store and for each prefix.
[[nodiscard]] Result<RemoteSource> ParseRemoteSource(std::string_view source,
                                                     const RemoteOptions& options,
                                                     std::span<const VirtualPrefix> prefixes);

/// Reads the files of headers= and query= into `source.secrets`, unless they have been read. Does
/// not read the secrets of the prefixes.
void ReadSecrets(RemoteSource& source);

/// Calls `use` with `source` and with each of its prefixes, in this order.
template <typename Use>
void ForEachOrigin(RemoteSource& source, const Use& use) {
  use(source);
  for (RemoteSource& prefix : source.prefixes) use(prefix);
}
template <typename Use>
void ForEachOrigin(const RemoteSource& source, const Use& use) {
  use(source);
  for (const RemoteSource& prefix : source.prefixes) use(prefix);
}

/// Moves `secrets`, which are in the order of ForEachOrigin(), into `source` and its prefixes.
/// False if the number of `secrets` does not match.
bool SetSecretsOfAll(std::vector<SecretTexts> secrets, RemoteSource& source);

/// Returns `source` with its unknown region and endpoint replaced by those of the profile in
/// ~/.aws. Reads files with secrets, so only the fetching process may call it.
[[nodiscard]] RemoteSource WithProfile(const RemoteSource& source);

/// Returns `url`, which must have a scheme, without its port if that is the scheme's default. The
/// signed header "Host" has this form.
[[nodiscard]] std::string WithoutDefaultPort(std::string_view url);

/// Encodes `text` for an address. Every byte becomes %XX, except ASCII letters, digits and "-._~".
/// "/" is encoded only if `with_slashes`.
[[nodiscard]] std::string PercentEncode(std::string_view text, bool with_slashes = false);

/// Decodes %XX; invalid sequences stay as they are. "+" becomes a space, as in a query, or stays,
/// as in a path.
[[nodiscard]] std::string PercentDecode(std::string_view text, bool plus_is_blank = true);

}  // namespace zarrfs
