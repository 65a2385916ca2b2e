// Verdict: the meaning of a server's response: bytes, no such object, a permanent error, or "try
// again".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/remote_source.h"

namespace zarrfs {

struct Verdict {
  enum class Kind {
    kBytes,      // the requested bytes were received
    kError,      // a permanent error
    kAgain,      // a transient error, reported if no attempt succeeds
    kNoRange,    // the object is empty or ends before the range; its version must be requested
    kOtherKey,   // the server does not accept the key; another key may work
    kOtherTime,  // the server rejects the signature's time: this machine's clock is wrong
  };
  Kind kind = Kind::kBytes;
  Error error = {};
  bool slow_down = false;  // the server throttles requests (429, 503)
};

/// Judges a response. `what`: the name of the object, for messages. `url`: the requested address.
[[nodiscard]] Verdict Judge(const HttpReply& reply, const RemoteSource& source,
                            std::string_view what, std::string_view url);

/// Returns the version of the bytes in `reply`. nullopt if a later version may look the same, so
/// the bytes must not be cached.
[[nodiscard]] std::optional<Version> LastingVersion(const HttpReply& reply,
                                                    const RemoteSource& source);

/// The code in the XML of an S3 error, such as "NoSuchKey"; "" if there is none.
[[nodiscard]] std::string S3ErrorCode(std::string_view text);

}  // namespace zarrfs
