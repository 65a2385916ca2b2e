// The waiting room runs requests that must wait for a slow store, off the threads that serve the
// kernel.
//
// Each request is answered exactly once: by its handler, or as soon as the kernel interrupts it
// (Ctrl-C), whichever is first; a late answer is dropped. Handlers run on up to 64
// threads of their own; when all wait, further requests queue, and can still be interrupted.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>
#include <memory>

namespace zarrfs {

/// Shared by a request's handler and its interruption.
struct Ticket {
  std::atomic<bool> answered{false};
  std::function<void(fuse_req_t)> on_interrupted;
  /// True for exactly one caller, which must reply; the request is gone for everybody else.
  bool Claim() { return !answered.exchange(true); }
};

using WaitingHandler = std::function<void(const std::shared_ptr<Ticket>&)>;

/// Runs `handler` some time on a thread that may wait. `on_interrupted` answers instead, at once
/// and on any thread, if the request is interrupted before.
void AnswerFromWaitingRoom(fuse_req_t request, WaitingHandler handler,
                           std::function<void(fuse_req_t)> on_interrupted);

}  // namespace zarrfs
