// Server: answers the kernel's requests with what a Tree says. All that is FUSE about a mount is in
// this folder.
//
// A handler finds out everything first and answers last, once; no lock is held meanwhile. On a
// store that answers fast it runs on the thread that took the request. Otherwise it first tries
// with what is cached, and goes to the WaitingRoom only if that is not enough.
#ifndef FS_FUSE_SERVER_H_
#define FS_FUSE_SERVER_H_

#include <fuse_lowlevel.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "fs/fuse/notifier.h"
#include "fs/tree/tree.h"

namespace zarrfs {

class Reply;

/// Bytes of one READ at most: what the kernel is told at the mount, and again by libfuse.
inline constexpr size_t kMaxRead = size_t{1} << 20;

struct ServerOptions {
  bool no_epoch = false;       // do without FUSE_NOTIFY_INC_EPOCH, as kernels before 6.16 must
  bool open_messages = false;  // the kernel asks for each open
  bool io_uring = false;       // ask the kernel for it
  uint32_t threads = 1;        // that answer the kernel
};

class Server {
 public:
  Server(std::unique_ptr<Tree> tree, const ServerOptions& options)
      : tree_(std::move(tree)), options_(options) {}

  /// The user data of the session is the Server.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

  /// The mount answers: from now on the kernel is notified of changes. Once.
  void OnMounted(fuse_session* session);

  [[nodiscard]] Tree& tree() { return *tree_; }
  [[nodiscard]] bool uses_io_uring() const { return uses_io_uring_; }

 private:
  struct Handlers;  // of Operations()

  // Negotiates what the kernel and this program have.
  void Negotiate(fuse_conn_info& connection);

  // Runs `handler`, a void(Reply&), where it may take as long as it needs. `interrupted`, a
  // Result<Entry>() that does not wait, gives the answer if the request is interrupted meanwhile;
  // where it fails, that is EINTR.
  template <typename Handler, typename Interrupted>
  void Answer(fuse_req_t request, Operation operation, Handler handler, Interrupted interrupted);
  template <typename Handler>
  void Answer(fuse_req_t request, Operation operation, Handler handler);

  void Read(Reply& reply, NodeId id, size_t size, uint64_t offset);
  void OpenFolder(Reply& reply, NodeId id, fuse_file_info info);
  void List(Reply& reply, Folder& folder, size_t size, uint64_t cookie, bool plus) const;
  void StatFs(Reply& reply) const;

  const std::unique_ptr<Tree> tree_;
  const ServerOptions options_;
  std::atomic<bool> uses_io_uring_ = false;  // set when the kernel says what it has
  Notifier notifier_;
};

}  // namespace zarrfs

#endif  // FS_FUSE_SERVER_H_
