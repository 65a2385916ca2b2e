// The file of virtual_file=: prefixes as of virtual=, each with options of its own.
//
//   # A line that begins with # is a comment.
//   s3://bucket/run7/ region=eu-central-1 profile=ocean
//   s3://public/nc/ endpoint=https://minio.example:9000 addressing=path
//   https://host/nc/ headers=/home/me/token
//   file:///data/nc/
//
// Blanks separate words. A backslash before a blank or a backslash makes that part of a word. The
// options are those of a store at such an address (remote_source.h), except those that concern the
// whole mount, or listings and absent objects, which references do not have.
//
// The file contains no secrets, but it says where the secrets that it names are sent. So a file
// that names any must belong to root or to this user, and nobody else may change it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_prefix.h"

namespace zarrfs {

/// Reads the file, at most 64 KiB, and checks who may change it. The message of an error begins
/// with "virtual_file=`path`".
[[nodiscard]] Result<std::string> ReadVirtualFile(const std::string& path);

/// Adds the prefixes in `text` to `prefixes`. kInvalidArgument if a line is malformed, if a prefix
/// occurs twice or is already in `prefixes`, or if there are more than kMaxVirtualPrefixes. The
/// message begins with "`path`:LINE:".
[[nodiscard]] Result<void> AddVirtualFile(std::string_view text, std::string_view path,
                                          std::vector<VirtualPrefix>& prefixes);

}  // namespace zarrfs
