// The files of headers= and query=, which contain secrets that are sent with each request.
//
// Secrets are renewed during the lifetime of a mount, so a file that has changed is read again. But
// a user who can replace the file by another file or a symbolic link could have any file that the
// mounting user may read sent to the server. So a file is read again only if it still has its first
// owner, and only root and this owner can change the files and folders on its path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace zarrfs {

struct RemoteOptions;

struct SecretFile {
  std::string text = {};
  /// The user id of the file's owner. nullopt if the file must not be read again, because its path
  /// led to a pipe or did not exist.
  std::optional<uint32_t> owner = {};

  bool operator==(const SecretFile&) const = default;
};

struct SecretTexts {
  bool are_read = false;
  SecretFile headers = {};
  SecretFile query = {};
  /// Identifies the contents of both files (VersionOfSecrets). "" if neither file can be read
  /// again.
  std::string version = {};

  bool operator==(const SecretTexts&) const = default;
};

/// Reads the files of headers= and query= for the first time, at most 64 KiB of each. The text of a
/// file that cannot be read is "".
[[nodiscard]] SecretTexts ReadSecretFiles(const RemoteOptions& options);

/// Reads the files that have changed into `secrets`. Returns "" on success. If a file has changed
/// but its old contents stay in use, returns the reason. An empty file does not replace old
/// contents, because it may be about to be written.
[[nodiscard]] std::string RenewSecrets(const RemoteOptions& options, SecretTexts& secrets);

/// Returns a string that changes when one of the files changes. It has their device, inode, size
/// and times, but nothing of pipes and missing files. Does not read the files.
[[nodiscard]] std::string VersionOfSecrets(const RemoteOptions& options);

/// Overwrites the secrets in memory.
void Erase(SecretTexts& secrets);

/// True if only root and `owner` can write to the file or link at `path`, or replace it.
[[nodiscard]] bool OnlyTheyCanChange(std::filesystem::path path, uint32_t owner);

}  // namespace zarrfs
