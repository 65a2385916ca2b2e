// Credentials: the key that signs requests to S3, found in the usual order and renewed before it
// expires:
//
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), unless a profile is named
//   AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN
//   the profile in ~/.aws/credentials and ~/.aws/config: keys, web_identity_token_file with
//   role_arn, credential_process
//   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI
//   the instance's metadata, version 2
//
// Searches on a thread of its own, so a program or server that does not answer blocks nobody.
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

/// One search in that order. kPermissionDenied, with advice, if nothing is found. Waits for
/// programs and servers.
[[nodiscard]] Result<ExpiringKey> FindKey(const RemoteSource& source);

class Credentials {
 public:
  /// Begins to search. `on_change` is called on another thread when Get() has a new answer. It must
  /// stay valid until the process ends.
  Credentials(const RemoteSource& source, std::function<void()> on_change);

  /// The key or an error; nullopt during the first search.
  [[nodiscard]] std::optional<Result<AwsKey>> Get() const;
  /// The store rejected `key`, which may be out of date. True if another key was found or a new
  /// search has begun; false if the last search is too recent.
  [[nodiscard]] bool Refresh(const AwsKey& key);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
