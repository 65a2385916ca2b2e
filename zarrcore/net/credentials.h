// Credentials: the key that requests to S3 are signed with, found in the usual order and fetched
// again before it expires:
//
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), unless a profile is named
//   AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN
//   the profile in ~/.aws/credentials and ~/.aws/config: keys, web_identity_token_file with
//   role_arn, credential_process
//   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI
//   the instance's metadata, version 2
//
// A thread of its own finds them: nobody waits for a program or a server that does not answer.
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
  std::optional<int64_t> expires_s;  // Unix time
};

/// One search in that order. kPermissionDenied, with what to do, if nothing is found. Waits for
/// programs and servers.
[[nodiscard]] Result<ExpiringKey> FindKey(const RemoteSource& source);

class Credentials {
 public:
  /// Begins to search. `on_change` is called on another thread when Get() says something new.
  /// Outlives the process.
  Credentials(const RemoteSource& source, std::function<void()> on_change);

  /// The key, or why there is none; nullopt as long as that is not known.
  [[nodiscard]] std::optional<Result<AwsKey>> Get() const;
  /// The store does not accept `key`, which may be out of date. False if it was found long ago
  /// enough that a new search may help; else it has begun.
  [[nodiscard]] bool Refresh(const AwsKey& key);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
