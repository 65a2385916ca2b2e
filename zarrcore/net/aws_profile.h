// The profiles of ~/.aws/config and ~/.aws/credentials (AWS_CONFIG_FILE,
// AWS_SHARED_CREDENTIALS_FILE).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zarrfs {

/// Settings by name. What the credentials file says comes first.
using AwsProfile = std::map<std::string, std::string>;

/// `name`: "" for AWS_PROFILE, or "default". Empty if there is none.
[[nodiscard]] AwsProfile ReadAwsProfile(std::string_view name);

/// Adds to `profile` what the section `section` of the text of such a file says and `profile` does
/// not.
void AddAwsSection(std::string_view text, std::string_view section, AwsProfile& profile);

/// HOME, or what the table of users says of this one: a service manager that mounts at boot sets
/// none. "" if there is none.
[[nodiscard]] std::string HomeFolder();

/// A variable of the environment; "" if there is none.
[[nodiscard]] std::string Environment(const char* name);

/// Without blanks and ends of lines at either end.
[[nodiscard]] std::string_view WithoutBlanks(std::string_view text);

/// The beginning of a file, at most 1 MiB; "" if it cannot be read.
[[nodiscard]] std::string ReadSmallFile(const std::string& path);

}  // namespace zarrfs
