#include "zarrcore/base/result.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace zarrfs {
namespace {

struct CodeRow {
  ErrorCode code;
  int error_number;
  std::string_view name;
};

// The errno and name of each code. FromErrno() returns the code of the first row with the given
// errno.
constexpr std::array kCodes = {
    CodeRow{ErrorCode::kNotFound, ENOENT, "not found"},
    CodeRow{ErrorCode::kIo, EIO, "input/output error"},
    CodeRow{ErrorCode::kDamaged, EIO, "damaged"},
    CodeRow{ErrorCode::kPermissionDenied, EACCES, "permission denied"},
    CodeRow{ErrorCode::kStale, ESTALE, "changed meanwhile"},
    CodeRow{ErrorCode::kInterrupted, EINTR, "interrupted"},
    CodeRow{ErrorCode::kTimedOut, ETIMEDOUT, "timed out"},
    CodeRow{ErrorCode::kUnsupported, ENOTSUP, "not supported"},
    CodeRow{ErrorCode::kInvalidArgument, EINVAL, "invalid argument"},
    CodeRow{ErrorCode::kTooLarge, EFBIG, "too large"},
    CodeRow{ErrorCode::kNoMemory, ENOMEM, "out of memory"},
    CodeRow{ErrorCode::kTooManyOpenFiles, EMFILE, "too many open files"},
    CodeRow{ErrorCode::kWouldBlock, EAGAIN, "would block"},
    CodeRow{ErrorCode::kNotADirectory, ENOTDIR, "not a directory"},
    CodeRow{ErrorCode::kLinkRefused, EIO, "symbolic link not followed"},
    CodeRow{ErrorCode::kZarrfsMount, EIO, "a zarrfs mount"},
};

}  // namespace

int ToErrno(ErrorCode code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row.error_number;
  }
  return EIO;
}

ErrorCode FromErrno(int error_number) {
  if (error_number == EPERM) return ErrorCode::kPermissionDenied;
  if (error_number == ENFILE) return ErrorCode::kTooManyOpenFiles;
  // Only zarrfs itself may produce kWouldBlock and kInterrupted, so EAGAIN and EINTR from the
  // operating system become kIo.
  if (error_number == EAGAIN || error_number == EINTR) return ErrorCode::kIo;
  for (const CodeRow& row : kCodes) {
    if (row.error_number == error_number) return row.code;
  }
  return ErrorCode::kIo;
}

std::string ErrnoText(int error_number) { return std::strerror(error_number); }

std::string_view ToString(ErrorCode code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row.name;
  }
  return "unknown error";
}

}  // namespace zarrfs
