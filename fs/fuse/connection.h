// The connection of a mount to the kernel, which one process passes on to the next.
//
// A mount lives while an open file description of its /dev/fuse device exists. Through that
// description, one process after the other can answer the kernel. The only difficulty is FUSE_INIT,
// which the kernel sends only once. Every new session gets a copy of that message. The kernel uses
// only the answer of the first session, and the answers of later sessions must promise the same
// features and limits (OnlyGiven).
#pragma once

#include <fuse_lowlevel.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The largest READ in bytes. Set in the mount options and in the answer to FUSE_INIT, which must
/// agree.
inline constexpr size_t kMaxRead = size_t{1} << 20;

/// Returns the number of READs of a mount that the kernel may send without waiting for replies. It
/// is large enough to keep all connections of a store busy: a chunk larger than the kernel's
/// readahead takes two READs. `connections` is 0 for a store that is not behind a network.
[[nodiscard]] uint32_t MaxBackground(uint32_t connections);

/// Sets the capabilities and limits that every session of a mount must announce in its answer to
/// FUSE_INIT. Called from libfuse's init().
void Negotiate(fuse_conn_info& connection, uint32_t connections = 0);

/// Reads the FUSE_INIT of a new mount from its device. Call before all other reads.
[[nodiscard]] Result<std::string> ReadInit(const Descriptor& device);

/// Makes a session that is mounted on the device answer `init`, a FUSE_INIT message, before its
/// loop runs. At most one session per process. Also allows concurrent lookups in one folder,
/// because libfuse before 3.17 accepts FUSE_CAP_PARALLEL_DIROPS but does not pass it to the kernel.
/// Without concurrent lookups, the kernel looks up the names of a folder one after the other, under
/// a lock that cannot be interrupted: a lookup that waits for a dead server would block all others
/// in that folder, even after Ctrl-C.
void AnswerInit(fuse_session* session, std::string_view init);

/// Makes a session that is not mounted answer `init`. The user data of the session is a
/// std::string, which receives the body of the answer; "" if libfuse does not answer.
void AnswerTo(fuse_session* session, std::string_view init);
/// Compares the answers of two sessions to FUSE_INIT. Returns why a session that answers `now`
/// cannot serve a mount whose kernel accepted the answer `then`: the field and both values. "" if
/// the session can.
[[nodiscard]] std::string DifferentPromise(std::string_view then, std::string_view now);

/// Reduces a FUSE_INIT to the features that are in `answer`, the answer of an earlier session, so a
/// later session cannot ask for a feature that the mount does not have.
[[nodiscard]] std::string OnlyGiven(std::string_view init, std::string_view answer);

/// Opens another file description of the same connection. A request can only be answered through
/// the description from which it was read, and fails when the last process closes that description.
/// Empty, with errno set, on failure.
[[nodiscard]] Descriptor CloneDevice(const Descriptor& device);

/// True if the kernel that sent `init` supports Resend() (Linux 6.9).
[[nodiscard]] bool CanResend(std::string_view init);
/// Makes the kernel resend the requests that were read but not answered. Any process may read the
/// resent requests.
void Resend(int device);

/// Makes the kernel look up every name again (FUSE_NOTIFY_INC_EPOCH, Linux 6.16). False, with errno
/// set, if the kernel does not support it.
bool IncEpoch(int device);

/// True if the connection still exists: the mount or a program that uses it still exists, and the
/// connection was not aborted. Never blocks, because it only polls the device.
[[nodiscard]] bool IsConnected(const Descriptor& device);

}  // namespace zarrfs
