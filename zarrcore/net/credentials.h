// Credentials: the key that signs requests to S3. The key is renewed before it expires. The key is
// searched for in these places, in this order:
//
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), unless a profile is named
//   AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN
//   the profile in ~/.aws/credentials and ~/.aws/config: keys, web_identity_token_file with
//     role_arn, credential_process
//   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI
//   the metadata service of the EC2 instance, version 2 (IMDSv2)
//
// The search runs on a separate thread, so a program or server that hangs does not block callers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "zarrcore/base/result.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/sigv4.h"

namespace zarrfs {

struct ExpiringKey {
  AwsKey key;
  std::optional<int64_t> expires_s;  // in Unix time
};

/// Runs one search for a key. Blocks until the programs and servers have answered or timed out.
/// kPermissionDenied, with advice, if no key is found.
[[nodiscard]] Result<ExpiringKey> FindKey(const RemoteSource& source);

class Credentials {
 public:
  /// Starts the thread that searches. The thread calls `on_change` when Get() has a new result.
  /// `on_change` must stay valid until the process ends.
  Credentials(const RemoteSource& source, std::function<void()> on_change);

  /// Returns the key, or the error of the last search; nullopt during the first search.
  [[nodiscard]] std::optional<Result<AwsKey>> Get() const;
  /// Call when the store has rejected `key`, which may be out of date. True if another key is
  /// already known or a new search was started. False if the last search is too recent to start
  /// another.
  [[nodiscard]] bool Refresh(const AwsKey& key);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
