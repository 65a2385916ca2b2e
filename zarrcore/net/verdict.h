// What a server's response means: bytes, no such object, a permanent error, or "ask again".
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
    kBytes,      // the requested bytes
    kError,      // permanent
    kAgain,      // transient; the error to report in the end
    kNoRange,    // the object is empty, or ends before the range: ask for its version
    kOtherKey,   // the key has expired
    kOtherTime,  // the clock of this machine is wrong
  };
  Kind kind = Kind::kBytes;
  Error error = {};
  bool slow_down = false;  // the server asks for fewer requests
};

/// `what`: the key, for messages. `url`: the requested address.
[[nodiscard]] Verdict Judge(const HttpReply& reply, const RemoteSource& source,
                            std::string_view what, std::string_view url);

/// The version of the bytes in `reply`; nullopt if a later version may look the same, so that the
/// bytes must not be cached.
[[nodiscard]] std::optional<Version> LastingVersion(const HttpReply& reply,
                                                    const RemoteSource& source);

/// The code in the XML of an S3 error: "NoSuchKey"; "" if there is none.
[[nodiscard]] std::string S3ErrorCode(std::string_view text);

}  // namespace zarrfs
