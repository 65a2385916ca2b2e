// Reply: the one answer to one request of the kernel.
#ifndef FS_REPLY_H_
#define FS_REPLY_H_

#include <fuse_lowlevel.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "fs/waiting_room.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

class Reply {
 public:
  /// `ticket`: of a request that may be interrupted meanwhile, else null. `trial`: an answer that
  /// would have to wait is not given, and must_wait() says so.
  explicit Reply(fuse_req_t request, std::shared_ptr<Ticket> ticket = nullptr, bool trial = false)
      : request_(request), ticket_(std::move(ticket)), trial_(trial) {}

  [[nodiscard]] fuse_req_t request() const { return request_; }
  [[nodiscard]] bool must_wait() const { return must_wait_; }

  void Failed(ErrorCode code) {
    if (trial_ && code == ErrorCode::kWouldBlock) {
      must_wait_ = true;
    } else if (Claim()) {
      fuse_reply_err(request_, ToErrno(code));
    }
  }
  void Entry(const fuse_entry_param& entry) {
    if (Claim()) fuse_reply_entry(request_, &entry);
  }
  void Attributes(const struct stat& attributes, double timeout) {
    if (Claim()) fuse_reply_attr(request_, &attributes, timeout);
  }
  void Bytes(const char* bytes, size_t size) {
    if (Claim()) fuse_reply_buf(request_, bytes, size);
  }
  /// False if the request was interrupted: nobody will release what was opened.
  [[nodiscard]] bool Opened(const fuse_file_info& info) {
    return Claim() && fuse_reply_open(request_, &info) == 0;
  }
  void StatFs(const struct statvfs& stat) {
    if (Claim()) fuse_reply_statfs(request_, &stat);
  }

 private:
  bool Claim() { return ticket_ == nullptr || ticket_->Claim(); }

  const fuse_req_t request_;
  const std::shared_ptr<Ticket> ticket_;
  const bool trial_;
  bool must_wait_ = false;
};

}  // namespace zarrfs

#endif  // FS_REPLY_H_
