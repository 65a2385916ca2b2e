// The profiles of ~/.aws/config and ~/.aws/credentials (AWS_CONFIG_FILE,
// AWS_SHARED_CREDENTIALS_FILE).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zarrfs {

/// Settings by name. The credentials file takes precedence.
using AwsProfile = std::map<std::string, std::string>;

/// `name`: "" for AWS_PROFILE, or "default". Empty if the profile does not exist.
[[nodiscard]] AwsProfile ReadAwsProfile(std::string_view name);

/// Adds the settings of the section `section` in the text of such a file to `profile`; existing
/// ones stay.
void AddAwsSection(std::string_view text, std::string_view section, AwsProfile& profile);

/// HOME, or the home folder of this user in the user database: a service manager that mounts at
/// boot does not set HOME. "" if there is none.
[[nodiscard]] std::string HomeFolder();

/// An environment variable; "" if it is not set.
[[nodiscard]] std::string Environment(const char* name);

/// `text` without leading and trailing blanks and line ends.
[[nodiscard]] std::string_view WithoutBlanks(std::string_view text);

/// The beginning of a file, at most 1 MiB; "" if it cannot be read.
[[nodiscard]] std::string ReadSmallFile(const std::string& path);

}  // namespace zarrfs
