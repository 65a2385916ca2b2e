// The file of virtual_file=: prefixes as in virtual=, each with its own options.
//
//   # A line that begins with # is a comment.
//   s3://bucket/run7/ region=eu-central-1 profile=ocean
//   s3://public/nc/ endpoint=https://minio.example:9000 addressing=path
//   https://host/nc/ headers=/home/me/token
//   file:///data/nc/
//
// Blanks separate words. A backslash before a space or a backslash makes that character part of a
// word. A line may have the options of a store at this kind of address (remote_source.h), except
// options that apply to the whole mount, to listings (which references do not need), or to absent
// objects.
//
// The file contains no secrets, but it may name files and profiles with secrets, and it says where
// these secrets are sent. A file that configures credentials must belong to root or to this user,
// and no other user may be able to change it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/virtual_prefix.h"

namespace zarrfs {

/// Reads the file at `path`. If it configures credentials, checks who may change it. kTooLarge
/// above 64 KiB. The message of an error begins with "virtual_file=`path`".
[[nodiscard]] Result<std::string> ReadVirtualFile(const std::string& path);

/// Adds the prefixes in `text` to `prefixes`. kInvalidArgument if a line is malformed, if a prefix
/// occurs twice or is already in `prefixes`, or if there are more than kMaxVirtualPrefixes. The
/// message begins with "`path`:LINE:".
[[nodiscard]] Result<void> AddVirtualFile(std::string_view text, std::string_view path,
                                          std::vector<VirtualPrefix>& prefixes);

}  // namespace zarrfs
