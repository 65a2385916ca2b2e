// Reads the profiles in ~/.aws/config and ~/.aws/credentials, or in the files that AWS_CONFIG_FILE
// and AWS_SHARED_CREDENTIALS_FILE name.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zarrfs {

/// The settings of a profile, by name. The credentials file takes precedence over the configuration
/// file.
using AwsProfile = std::map<std::string, std::string>;

/// Reads a profile. `name`: "" for the value of AWS_PROFILE, or "default" if that is unset. Returns
/// an empty map if the profile does not exist.
[[nodiscard]] AwsProfile ReadAwsProfile(std::string_view name);

/// Adds the settings in section `section` of a configuration file, whose contents are `text`, to
/// `profile`. Settings that `profile` already has are kept.
void AddAwsSection(std::string_view text, std::string_view section, AwsProfile& profile);

/// Returns the value of HOME. If HOME is unset, as when a service manager mounts at boot, returns
/// this user's home folder from the user database; "" if that is missing, too.
[[nodiscard]] std::string HomeFolder();

/// Returns the value of an environment variable; "" if it is unset.
[[nodiscard]] std::string Environment(const char* name);

/// Returns `text` without leading and trailing spaces, tabs and line ends.
[[nodiscard]] std::string_view WithoutBlanks(std::string_view text);

/// Reads the beginning of a file, at most 1 MiB; "" if the file cannot be read.
[[nodiscard]] std::string ReadSmallFile(const std::string& path);

}  // namespace zarrfs
