// The connection of a mount to the kernel, which passes from one process to the next.
//
// A mount lives as long as one open description of its /dev/fuse. Its owner can have any process
// answer, one after the other. The only other requirement is FUSE_INIT, which the kernel sends once
// and never again. Every session gets that message; the kernel takes the first answer, and later
// ones must promise the same (OnlyGiven).
#pragma once

#include <fuse_lowlevel.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {

/// The largest READ, in bytes. Set in the mount options and in FUSE_INIT, which must agree.
inline constexpr size_t kMaxRead = size_t{1} << 20;

/// The number of READs that the kernel sends for a mount before readers wait for answers. Enough to
/// keep all connections of a store busy: a chunk larger than the kernel's readahead takes two.
/// `connections`: 0 for a store that is not behind a network.
[[nodiscard]] uint32_t MaxBackground(uint32_t connections);

/// Sets what every session of a mount promises in its answer to FUSE_INIT; called from libfuse's
/// init().
void Negotiate(fuse_conn_info& connection, uint32_t connections = 0);

/// The FUSE_INIT of a new mount, read from its device before anything else.
[[nodiscard]] Result<std::string> ReadInit(const Descriptor& device);

/// Makes the session, which is mounted on the device, answer that message before its loop runs; at
/// most one session per process. Allows concurrent lookups in one folder: before 3.17 libfuse
/// accepts FUSE_CAP_PARALLEL_DIROPS but does not pass it on. Otherwise the kernel would look up
/// names of a folder one after the other, under a lock that cannot be interrupted: a lookup that a
/// dead server delays would hang all others in that folder, Ctrl-C or not.
void AnswerInit(fuse_session* session, std::string_view init);

/// Makes a session that is not mounted answer it; the body of the answer is stored in the
/// std::string that is the session's user data, or "" without an answer.
void AnswerTo(fuse_session* session, std::string_view init);
/// Why a session that answers `now` cannot serve a mount whose kernel accepted `then`: names the
/// field and both values. "" if it can.
[[nodiscard]] std::string DifferentPromise(std::string_view then, std::string_view now);

/// FUSE_INIT for a session that follows one that gave `answer`. It offers only what that session
/// asked for, so the later one asks for nothing that the mount does not have.
[[nodiscard]] std::string OnlyGiven(std::string_view init, std::string_view answer);

/// Opens another description of the same connection. A request read from one description can be
/// answered only by it, and fails when the last process closes it. Empty, with errno set, on
/// failure.
[[nodiscard]] Descriptor CloneDevice(const Descriptor& device);

/// Whether the kernel that sent `init` can Resend() (Linux 6.9).
[[nodiscard]] bool CanResend(std::string_view init);
/// Makes the kernel resend requests that were read but not answered, to any reader.
void Resend(int device);

/// Makes the kernel look up every name again (FUSE_NOTIFY_INC_EPOCH, Linux 6.16). False, with errno
/// set, if the kernel does not support it.
bool IncEpoch(int device);

/// Whether the mount, or a user of it, still exists and nobody has aborted the connection. Asks
/// only the device, which always answers.
[[nodiscard]] bool IsConnected(const Descriptor& device);

}  // namespace zarrfs
