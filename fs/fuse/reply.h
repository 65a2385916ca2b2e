// Reply: sends the one reply to a kernel request, and counts the request in the metrics.
//
// After the reply, or after another thread has claimed the PendingRequest, the request must not be
// used.
#pragma once

#include <fuse_lowlevel.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fs/fuse/running_request.h"
#include "fs/fuse/waiting_room.h"
#include "fs/tree/entry.h"
#include "fs/tree/metrics.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

[[nodiscard]] inline fuse_entry_param ToParam(const Entry& entry) {
  return {.ino = entry.id,
          .generation = entry.generation,
          .attr = entry.attributes,
          .attr_timeout = entry.attribute_timeout,
          .entry_timeout = entry.name_timeout};
}

class Reply {
 public:
  /// Makes a reply for the first run of a handler, during which the request cannot be interrupted.
  /// If the handler fails with kWouldBlock, nothing is sent, and must_wait() becomes true.
  Reply(fuse_req_t request, RequestMetrics& metrics, RequestMetrics::Request counted_as)
      : request_(request), metrics_(metrics), counted_as_(counted_as), trial_(true) {}
  /// Makes a reply for a handler whose request can be interrupted while the handler runs.
  Reply(fuse_req_t request, RequestMetrics& metrics, RequestMetrics::Request counted_as,
        std::shared_ptr<PendingRequest> pending, bool trial)
      : request_(request),
        metrics_(metrics),
        counted_as_(counted_as),
        pending_(std::move(pending)),
        trial_(trial) {}
  Reply(fuse_req_t request, RequestMetrics& metrics, RequestMetrics::Request counted_as,
        RunningRequest& running)
      : request_(request),
        metrics_(metrics),
        counted_as_(counted_as),
        running_(&running),
        trial_(true) {}

  [[nodiscard]] fuse_req_t request() const { return request_; }
  [[nodiscard]] bool must_wait() const { return must_wait_; }

  void Failed(ErrorCode code) {
    if (trial_ && code == ErrorCode::kWouldBlock) {
      must_wait_ = true;
    } else if (Claim(code == ErrorCode::kNotFound ? RequestResult::kAbsent
                                                  : RequestResult::kError)) {
      fuse_reply_err(request_, ToErrno(code));
    }
  }
  void Entry(const Result<zarrfs::Entry>& entry) {
    if (!entry) return Failed(entry.error().code);
    if (!Claim(entry->id == 0 ? RequestResult::kAbsent : RequestResult::kOk)) return;
    const fuse_entry_param param = ToParam(*entry);
    fuse_reply_entry(request_, &param);
  }
  /// Replies to a lookup that failed with the last known entry of the name.
  void Unreadable(const zarrfs::Entry& entry) {
    if (!Claim(RequestResult::kError)) return;
    const fuse_entry_param param = ToParam(entry);
    fuse_reply_entry(request_, &param);
  }
  void Attributes(const Result<zarrfs::Entry>& entry) {
    if (!entry) return Failed(entry.error().code);
    if (!Claim(RequestResult::kOk)) return;
    fuse_reply_attr(request_, &entry->attributes, entry->attribute_timeout);
  }
  void Bytes(std::span<const std::byte> bytes) {
    if (!Claim(RequestResult::kOk, bytes.size())) return;
    fuse_reply_buf(request_, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  /// Sends the reply to OPEN or OPENDIR. False if the request was interrupted; the kernel then
  /// never releases the opened file.
  [[nodiscard]] bool Opened(const fuse_file_info& info) {
    return Claim(RequestResult::kOk) && fuse_reply_open(request_, &info) == 0;
  }
  /// Sends the value of an extended attribute, or the list of attribute names. `room`: the size of
  /// the caller's buffer in bytes; 0 if the caller only asks for the size of the value.
  void ExtendedAttribute(const Result<std::string>& value, size_t room) {
    if (!value && value.error().code != ErrorCode::kNotFound) return Failed(value.error().code);
    const bool fits = value && value->size() <= room;
    const bool is_answer = value && (room == 0 || fits);
    if (!Claim(is_answer ? RequestResult::kOk : RequestResult::kError)) return;
    if (!is_answer) {
      fuse_reply_err(request_, value ? ERANGE : ENODATA);
    } else if (room == 0) {
      fuse_reply_xattr(request_, value->size());
    } else {
      fuse_reply_buf(request_, value->data(), value->size());
    }
  }
  void StatFs(const struct statvfs& stat) {
    if (Claim(RequestResult::kOk)) fuse_reply_statfs(request_, &stat);
  }

 private:
  // True if this call must send the reply. Metrics are updated first, so a client that has the
  // reply sees its request counted.
  bool Claim(RequestResult result, uint64_t bytes = 0) {
    if (std::exchange(is_claimed_, true)) return false;
    if (pending_ != nullptr && !pending_->Claim()) return false;
    if (running_ != nullptr && !running_->Claim()) return false;
    metrics_.End(counted_as_, result, bytes);
    return true;
  }

  const fuse_req_t request_;
  RequestMetrics& metrics_;
  const RequestMetrics::Request counted_as_;
  const std::shared_ptr<PendingRequest> pending_;
  RunningRequest* const running_ = nullptr;
  const bool trial_ = false;
  bool must_wait_ = false;
  bool is_claimed_ = false;
};

}  // namespace zarrfs
