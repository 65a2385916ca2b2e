// The one way to fail: Result<T> is a value or an Error{code, message}.
//
// A message names the key it is about, what was expected and what was found, e.g.
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
  kDamaged,           // the store holds bytes that break the format
  kIo,                // the store could not be read
  kPermissionDenied,  // the store refuses this reader
  kStale,             // the object is no longer the version that was asked for
  kInterrupted,       // the caller stopped waiting
  kTimedOut,          // the store did not answer in time
  kUnsupported,       // valid Zarr that this program, or this view, cannot express
  kInvalidArgument,   // the request makes no sense
  kTooLarge,          // beyond a stated cap
  kNoMemory,          // memory has run out
  kTooManyOpenFiles,  // the process is out of descriptors
  kWouldBlock,        // the answer is not cached, and this thread may not wait for it
  kNotADirectory,     // a path goes through something that is not a folder
  kLinkRefused,       // a symbolic link that is not followed, dangles or loops
  kZarrfsMount,       // lies in a zarrfs mount, which is never entered
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// The errno that a reader of the mount sees for `code`.
int ToErrno(ErrorCode code);

/// The code for an errno from the operating system; kIo for an errno without a code of its own.
ErrorCode FromErrno(int error_number);

/// strerror(3).
std::string ErrnoText(int error_number);

/// "not found", "damaged", …: for messages and logs.
std::string_view ToString(ErrorCode code);

/// `return Fail(ErrorCode::kDamaged, "{}: expected {} bytes, found {}", key, want, got);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// `if (!r) return Fail(r);` passes on the error of `r`.
template <typename T>
[[nodiscard]] tl::unexpected<Error> Fail(const Result<T>& failed) {
  return tl::unexpected<Error>(failed.error());
}

}  // namespace zarrfs
