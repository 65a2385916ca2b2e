// VirtualPrefix: where references to files outside a repository may lead (virtual=PREFIX).
//
//   file:///data/nc/       files below this folder
//   s3://bucket/run7/      keys that begin with run7/
//   https://host:8443/nc/  objects below this address
//
// A location is an address chosen by the author of the repository. It is compared with a prefix
// component by component, after both are normalized:
//
//   scheme      in lower case; only the schemes above
//   host        in lower case, without the default port of the scheme; a bucket unchanged; none for
//               a file
//   components  with %XX decoded
//
// Anything that another program could interpret as a different address is refused, not repaired: a
// user name, a query or fragment, "//", "." and ".." (even as %2e), an encoded slash, a backslash,
// a control character. This code uses neither the network nor the file system.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"

namespace zarrfs {

/// Maximum length of a location or prefix, in bytes.
inline constexpr size_t kMaxVirtualLocation = 8192;

/// Maximum number of prefixes of one mount.
inline constexpr size_t kMaxVirtualPrefixes = 64;

enum class VirtualScheme { kFile, kS3, kHttp, kHttps };

/// A parsed prefix. Immutable once parsed.
struct VirtualPrefix {
  VirtualScheme scheme = VirtualScheme::kFile;
  std::string authority;             // the bucket, or the host with its port; "" for files
  std::vector<std::string> folders;  // decoded
  // Options of the requests below a networked prefix, as on a line of virtual_file=
  // (net/virtual_file.h), in the syntax of -o. If "", the requests carry no credentials.
  std::string options = {};

  [[nodiscard]] bool is_local() const { return scheme == VirtualScheme::kFile; }
  /// The prefix in the form that ParseVirtualPrefix() parses: "file:///data/nc/". Equal prefixes
  /// have equal strings, which need no escaping in a list of options.
  [[nodiscard]] std::string Text() const;
  /// The folder of a local prefix, such as "/data/nc".
  [[nodiscard]] std::string Path() const;
  /// True if both prefixes cover the same locations.
  [[nodiscard]] bool IsSamePlaceAs(const VirtualPrefix& other) const;

  bool operator==(const VirtualPrefix&) const = default;
};

/// Parses a prefix as described at the top of this file. `text` must end in "/". kInvalidArgument,
/// with the reason, for any other string.
[[nodiscard]] Result<VirtualPrefix> ParseVirtualPrefix(std::string_view text);

/// The place to which a location refers.
struct VirtualPlace {
  size_t prefix = 0;  // the index of the longest prefix that covers the location
  std::string key;    // the key relative to that prefix, valid and not ""
};

/// Finds the longest allowed prefix that covers `location`. kUnsupported if `location` is refused,
/// or if no prefix covers it; the error then contains the option to add ("add -o virtual=…").
[[nodiscard]] Result<VirtualPlace> MatchVirtualLocation(std::span<const VirtualPrefix> prefixes,
                                                        std::string_view location);

/// Returns the narrowest prefix that covers `location`: its folder. kUnsupported if `location` is
/// refused.
[[nodiscard]] Result<VirtualPrefix> VirtualPrefixOf(std::string_view location);

}  // namespace zarrfs
