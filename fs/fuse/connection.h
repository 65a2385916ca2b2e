// The connection of a mount to the kernel, as one process hands it on to the next.
//
// A mount lives as long as one open description of its /dev/fuse does. Whoever holds one can have
// any process answer, one after the other: what is needed besides is FUSE_INIT, which the kernel
// sends once and never again. Every session is given the same message; the kernel takes the first
// answer, and the others must promise the same.
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

/// How many READs of a mount the kernel sends before readers wait for answers. Enough to keep a
/// store busy that takes so many requests at once: two are under way for a chunk of more than the
/// kernel's readahead. `connections`: 0 for a store that is not behind a network.
[[nodiscard]] uint32_t MaxBackground(uint32_t connections);

/// Sets what every session of a mount promises in its answer to FUSE_INIT, on the init() of
/// libfuse.
void Negotiate(fuse_conn_info& connection, uint32_t connections = 0);

/// FUSE_INIT of a new mount, read from its device before anybody else reads.
[[nodiscard]] Result<std::string> ReadInit(const Descriptor& device);

/// Has the session, which is mounted on the device, answer that message before its loop runs; at
/// most one session a process. Lets the kernel look up several names of one folder at the same
/// time: before 3.17 libfuse takes FUSE_CAP_PARALLEL_DIROPS and does not pass it on. (The kernel
/// would ask for one name of a folder after the other, under a lock that cannot be interrupted: one
/// that a dead server holds up would make all others in that folder hang, Ctrl-C or not.)
void AnswerInit(fuse_session* session, std::string_view init);

/// Has a session that is not mounted answer it; the body of the answer becomes the std::string that
/// is the session's user data. "" if it gives none.
void AnswerTo(fuse_session* session, std::string_view init);
/// Why a session that gives the answer `now` cannot serve where the kernel took `then`: names the
/// field and both values. "" if it can.
[[nodiscard]] std::string DifferentPromise(std::string_view then, std::string_view now);

/// Another description of the same connection. What was read from one can only be answered by it,
/// and fails when the last process closes it. Empty, with errno, on failure.
[[nodiscard]] Descriptor CloneDevice(const Descriptor& device);

/// Whether the kernel that sent `init` can Resend() (Linux 6.9).
[[nodiscard]] bool CanResend(std::string_view init);
/// Requests that were read and not answered come again, to whoever reads next.
void Resend(int device);

/// Makes the kernel look up every name again (FUSE_NOTIFY_INC_EPOCH, Linux 6.16). False, with
/// errno, if it does not know the message.
bool IncEpoch(int device);

/// Whether the mount, or a use of it, is still there and nobody aborted the connection. Asks the
/// device alone, which always answers.
[[nodiscard]] bool IsConnected(const Descriptor& device);

}  // namespace zarrfs
