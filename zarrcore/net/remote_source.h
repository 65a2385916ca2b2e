// RemoteSource: where objects in a bucket or on a web server are, and how to ask for them.
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

/// What users choose about a store behind a network. Secrets are in files, which these name.
struct RemoteOptions {
  std::string endpoint;         // of S3: "https://host:9000"; "": AWS, or as in the environment
  std::string region;           // "": as in the environment, else us-east-1
  std::string addressing;       // "path", "virtual"; "": whichever suits
  std::string profile;          // of ~/.aws; "": as in the environment
  std::string headers_file;     // lines "Name: value", sent with each request
  std::string query_file;       // a query to add to each address: a signature
  std::string list_file;        // all keys of a store that cannot be listed
  bool anonymous = false;       // sign nothing
  bool requester_pays = false;  // pay for what is read
  bool forbidden_is_absent = false;  // 403 means that there is no such object
  uint64_t timeout = 60;             // seconds until a request fails for good
  uint64_t list_max = 10'000;  // objects that are asked for to list an array without list_file
  uint64_t connections = 64;   // requests at once
  std::string disk_cache;      // a folder that keeps what was fetched; "": none
  uint64_t disk_cache_size = 10ULL << 30;  // bytes that it may take

  bool operator==(const RemoteOptions&) const = default;
};

/// Sets the option `name`. False if there is none, or `value` is not what it takes.
[[nodiscard]] bool SetRemoteOption(std::string_view name, std::string_view value,
                                   RemoteOptions& options);

/// Sets the options in a list as after -o: "endpoint=URL,region=REGION" (base/option_list.h). What
/// is no option of a store behind a network is kInvalidArgument, or left out if `may_have_others`.
[[nodiscard]] Result<RemoteOptions> ParseRemoteOptions(std::string_view list, bool may_have_others);

/// Whether a store of this name is asked for over a network: "s3://…", "http://…", "https://…".
[[nodiscard]] bool IsRemote(std::string_view source);

/// What is in the files of headers= and query=.
struct SecretTexts {
  bool are_read = false;
  std::string headers = {};
  std::string query = {};
};

struct RemoteSource {
  bool is_s3 = false;
  std::string name;                // as it was given, for messages; ends in no slash
  std::string url;                 // of the folder of all keys, or of one object; percent-encoded
  std::string list_url;            // of the bucket (S3)
  std::string prefix;              // of keys in the bucket; "" or ends in a slash (S3)
  std::string region;              // (S3)
  bool is_region_known = false;    // from an option or the environment; else it is a guess
  bool is_endpoint_known = false;  // likewise; else it is Amazon's (S3)
  RemoteOptions options;
  SecretTexts secrets;
  std::string problem;  // why nothing can be asked there; "": it can
};

/// kInvalidArgument, with what to write instead, for what is no address of a store. Looks into the
/// environment for what `options` leave open, and into no file.
[[nodiscard]] Result<RemoteSource> ParseRemoteSource(std::string_view source,
                                                     const RemoteOptions& options);

/// Reads the files of headers= and query= into `source.secrets`, unless that has been done. They
/// are read once for a mount: a file or symbolic link that has the name later is none that the user
/// meant.
void ReadSecrets(RemoteSource& source);

/// The same in the region and at the endpoint that the profile in ~/.aws names, where they are not
/// known. Reads files with secrets: for the process that fetches.
[[nodiscard]] RemoteSource WithProfile(const RemoteSource& source);

/// `url` without the port of its host if that is the scheme's own, as in the header "Host", which
/// is signed. `url` has a scheme.
[[nodiscard]] std::string WithoutDefaultPort(std::string_view url);

/// `text` as part of a path of an address: all but letters, digits, "-._~" and, unless
/// `with_slashes`, "/" become %XX.
[[nodiscard]] std::string PercentEncode(std::string_view text, bool with_slashes = false);

/// The opposite. What is no %XX stays; "+" is a blank, as in a query, or stays, as in a path.
[[nodiscard]] std::string PercentDecode(std::string_view text, bool plus_is_blank = true);

}  // namespace zarrfs
