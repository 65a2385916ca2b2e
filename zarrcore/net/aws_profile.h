// Reads the profiles in ~/.aws/config and ~/.aws/credentials, or in the files that AWS_CONFIG_FILE
// and AWS_SHARED_CREDENTIALS_FILE name.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zarrfs {

/// The settings of a profile by name. Settings in the credentials file take precedence.
using AwsProfile = std::map<std::string, std::string>;

/// Reads a profile. `name`: "" for the value of AWS_PROFILE, or "default" if that is not set. Empty
/// if the profile does not exist.
[[nodiscard]] AwsProfile ReadAwsProfile(std::string_view name);

/// Adds the settings in section `section` of a configuration file, whose contents are `text`, to
/// `profile`. Existing settings stay.
void AddAwsSection(std::string_view text, std::string_view section, AwsProfile& profile);

/// The value of HOME, or this user's home folder in the user database, because a service manager
/// that mounts at boot does not set HOME. "" if both are missing.
[[nodiscard]] std::string HomeFolder();

/// The value of an environment variable; "" if it is not set.
[[nodiscard]] std::string Environment(const char* name);

/// `text` without leading and trailing blanks and line ends.
[[nodiscard]] std::string_view WithoutBlanks(std::string_view text);

/// The beginning of a file, at most 1 MiB; "" if the file cannot be read.
[[nodiscard]] std::string ReadSmallFile(const std::string& path);

}  // namespace zarrfs
