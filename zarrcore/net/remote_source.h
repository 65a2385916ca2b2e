// RemoteSource: the address of objects in a bucket or on a web server, and how to request them.
//
//   s3://bucket/data/ocean.zarr   the keys that begin with data/ocean.zarr/
//   https://host/ocean.zarr       the objects below this address
//   https://host/all.zip          one object
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Options for a store behind a network. Secrets are in files, which these name.
struct RemoteOptions {
  std::string endpoint;         // of S3: "https://host:9000"; "": AWS, or as in the environment
  std::string region;           // "": as in the environment, else us-east-1
  std::string addressing;       // "path", "virtual"; "": whichever suits
  std::string profile;          // of ~/.aws; "": as in the environment
  std::string headers_file;     // lines "Name: value", sent with each request
  std::string query_file;       // with a query to append to each address: a signature
  std::string list_file;        // with all keys of a store that cannot be listed
  bool anonymous = false;       // send unsigned requests
  bool requester_pays = false;  // pay for requests
  bool forbidden_is_absent = false;        // 403 means that the object does not exist
  uint64_t timeout = 60;                   // seconds until a request finally fails
  uint64_t list_max = 10'000;              // requests to list an array without list_file
  uint64_t connections = 64;               // maximum number of concurrent requests
  std::string disk_cache;                  // a folder that keeps what was fetched; "": none
  uint64_t disk_cache_size = 10ULL << 30;  // maximum size in bytes

  bool operator==(const RemoteOptions&) const = default;
};

/// Sets the option `name`. False if the option does not exist or does not accept `value`.
[[nodiscard]] bool SetRemoteOption(std::string_view name, std::string_view value,
                                   RemoteOptions& options);

/// Sets options from a list as after -o: "endpoint=URL,region=REGION" (base/option_list.h). Unknown
/// options are kInvalidArgument, or ignored if `may_have_others`.
[[nodiscard]] Result<RemoteOptions> ParseRemoteOptions(std::string_view list, bool may_have_others);

/// Whether a store of this name is accessed over a network: "s3://…", "http://…", "https://…".
[[nodiscard]] bool IsRemote(std::string_view source);

/// The contents of the files of headers= and query=.
struct SecretTexts {
  bool are_read = false;
  std::string headers = {};
  std::string query = {};
};

struct RemoteSource {
  bool is_s3 = false;
  std::string name;                // as given, for messages; without a final slash
  std::string url;                 // of the folder of all keys, or of one object; percent-encoded
  std::string list_url;            // of the bucket (S3)
  std::string prefix;              // of keys in the bucket; "" or ends in a slash (S3)
  std::string region;              // (S3)
  bool is_region_known = false;    // from an option or the environment; otherwise a guess
  bool is_endpoint_known = false;  // likewise; otherwise Amazon's (S3)
  RemoteOptions options;
  SecretTexts secrets;
  std::string problem;  // why nothing can be asked there; "": it can
};

/// kInvalidArgument, with advice, if `source` is not the address of a store. Reads environment
/// variables for values that `options` lack, but no files.
[[nodiscard]] Result<RemoteSource> ParseRemoteSource(std::string_view source,
                                                     const RemoteOptions& options);

/// Reads the files of headers= and query= into `source.secrets`, unless that has been done. They
/// are read once for a mount: the user did not choose a file or symbolic link that gets the name
/// later.
void ReadSecrets(RemoteSource& source);

/// Returns `source` with the region and endpoint of the profile in ~/.aws where they are unknown.
/// Reads files with secrets: only for the fetching process.
[[nodiscard]] RemoteSource WithProfile(const RemoteSource& source);

/// `url` without its port if that is the scheme's default, as in the signed header "Host". `url`
/// has a scheme.
[[nodiscard]] std::string WithoutDefaultPort(std::string_view url);

/// Encodes `text` for the path of an address: every character except letters, digits, "-._~" and,
/// if `with_slashes`, "/" becomes %XX.
[[nodiscard]] std::string PercentEncode(std::string_view text, bool with_slashes = false);

/// The inverse. Invalid %XX stay; "+" becomes a blank, as in a query, or stays, as in a path.
[[nodiscard]] std::string PercentDecode(std::string_view text, bool plus_is_blank = true);

}  // namespace zarrfs
