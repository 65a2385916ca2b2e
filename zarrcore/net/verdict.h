// What the answer of a server means: bytes, no such object, an error for good, or "ask again".
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
    kBytes,      // the bytes that were asked for
    kError,      // for good
    kAgain,      // may be another one later; the error is what to say in the end
    kNoRange,    // the object is empty, or ends before the range: ask for its version
    kOtherKey,   // the key has expired
    kOtherTime,  // the clock of this machine is wrong
  };
  Kind kind = Kind::kBytes;
  Error error = {};
  bool slow_down = false;  // the server asks for fewer requests
};

/// `what`: the key, for messages. `url`: what was asked for.
[[nodiscard]] Verdict Judge(const HttpReply& reply, const RemoteSource& source,
                            std::string_view what, std::string_view url);

/// The version whose bytes are in `reply`; nullopt if a later version may look the same, so that
/// the bytes must not be kept.
[[nodiscard]] std::optional<Version> LastingVersion(const HttpReply& reply,
                                                    const RemoteSource& source);

/// The code of an error of S3 in the XML that comes with it: "NoSuchKey"; "" if there is none.
[[nodiscard]] std::string S3ErrorCode(std::string_view text);

}  // namespace zarrfs
