// Credentials: the key that signs requests to S3. The key is renewed before it expires. These
// places are searched, in the usual order:
//
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), unless a profile is named
//   AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN
//   the profile in ~/.aws/credentials and ~/.aws/config: keys, web_identity_token_file with
//   role_arn, credential_process
//   AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI
//   the instance's metadata, version 2
//
// A separate thread searches, so a program or server that hangs blocks no request.
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

/// Searches once, in the order above. kPermissionDenied, with advice, if no key is found. Waits for
/// programs and servers.
[[nodiscard]] Result<ExpiringKey> FindKey(const RemoteSource& source);

class Credentials {
 public:
  /// Starts searching. `on_change` is called on another thread when Get() has a new answer. The
  /// function must stay valid until the process ends.
  Credentials(const RemoteSource& source, std::function<void()> on_change);

  /// The key or an error; nullopt during the first search.
  [[nodiscard]] std::optional<Result<AwsKey>> Get() const;
  /// Call when the store has rejected `key`, which may be out of date. True if another key was
  /// found or a new search has begun; false if the last search is too recent.
  [[nodiscard]] bool Refresh(const AwsKey& key);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace zarrfs
