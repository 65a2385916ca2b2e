// Result<T>: a value, or an Error with a code and a message. All functions that can fail return a
// Result.
//
// An error message names the key, what was expected and what was found, e.g.
//   "temperature/c/0/1: shard index checksum 0x1f3a0000, computed 0x77b01122"
// No exception crosses a library boundary of zarrcore.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace zarrfs {

enum class ErrorCode {
  kNotFound,          // no such object, folder or name
  kDamaged,           // the store holds bytes that violate the format
  kIo,                // the store could not be read
  kPermissionDenied,  // the store refuses this reader
  kStale,             // the object no longer has the requested version
  kInterrupted,       // the caller stopped waiting
  kTimedOut,          // the store did not answer in time
  kUnsupported,       // valid Zarr that this program or this view does not support
  kInvalidArgument,   // the request is invalid
  kTooLarge,          // a size exceeds a limit
  kNoMemory,          // memory has run out
  kTooManyOpenFiles,  // the process has no free descriptors
  kWouldBlock,        // the call would have to wait for a store or for memory, and may not
  kNotADirectory,     // a path continues below something that is not a folder
  kLinkRefused,       // a symbolic link that must not be followed, dangles or loops
  kZarrfsMount,       // the path is in a zarrfs mount, which zarrfs never reads
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Returns the errno that a reader of the mount sees for `code`.
int ToErrno(ErrorCode code);

/// Returns the code for an errno from the operating system, or kIo if no code corresponds to the
/// errno.
ErrorCode FromErrno(int error_number);

/// Returns the description of an errno, from strerror(3).
std::string ErrnoText(int error_number);

/// Returns the name of a code for messages and logs: "not found", "damaged", …
std::string_view ToString(ErrorCode code);

/// Makes an error: `return Fail(ErrorCode::kDamaged, "{}: expected {} bytes, found {}", key, want,
/// got);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Returns the error of another result, whose type may differ: `if (!r) return Fail(r);`
template <typename T>
[[nodiscard]] tl::unexpected<Error> Fail(const Result<T>& failed) {
  return tl::unexpected<Error>(failed.error());
}

}  // namespace zarrfs
