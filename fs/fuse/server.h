// Server: answers the kernel's requests with what a Tree says, and notifies the kernel of changes.
// The caller creates, mounts and runs the session, whose user data it is.
//
// A handler gathers its result, then replies exactly once, holding no lock. It runs first as a
// trial on the thread that took the request, which must not wait for memory, and not for the store
// unless that answers fast; not even there if so many others run already that too few threads are
// left, because a disk hangs. Only if that was not enough it runs again in a waiting room: where it
// may wait for the store, and then for memory, alone. So a thread is always free for what is known.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "fs/fuse/connection.h"
#include "fs/fuse/notifier.h"
#include "fs/fuse/open_folders.h"
#include "fs/tree/tree.h"

namespace zarrfs {

class Reply;

struct ServerOptions {
  bool no_epoch = false;       // do without FUSE_NOTIFY_INC_EPOCH, as kernels before 6.16 must
  bool open_messages = false;  // the kernel sends OPEN each time a file is opened
  bool io_uring = false;       // request FUSE over io_uring
  uint32_t threads = 1;        // that serve requests
  uint32_t connections = 0;    // to a store behind a network; 0: it is not
};

class Server {
 public:
  Server(std::unique_ptr<Tree> tree, const ServerOptions& options)
      : tree_(std::move(tree)),
        options_(options),
        threads_(options.threads),
        folders_(tree_->journal().predecessors()) {}

  /// The user data of the session is the Server.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

  /// Call once, after FUSE_INIT was answered, on a thread that serves no requests: it sends
  /// notifications. Starts prefetching, notifying, and watching the store. The Server and the
  /// session must live until the process ends from then on.
  void OnMounted(fuse_session* session);

  /// Requests excluding those about the status files, and statfs(2). Thread-safe.
  struct Progress {
    uint64_t answered = 0;
    size_t unanswered = 0;
    std::chrono::steady_clock::duration oldest{};  // of the unanswered
    uint32_t free_threads = 0;                     // of those that take requests
  };
  [[nodiscard]] Progress progress() const;

  [[nodiscard]] Tree& tree() { return *tree_; }
  [[nodiscard]] bool uses_io_uring() const { return uses_io_uring_; }

 private:
  struct Handlers;  // of Operations()

  // Which requests the threads that take requests may answer themselves.
  class Threads {
   public:
    explicit Threads(uint32_t count);

    [[nodiscard]] uint32_t busy() const { return names_ + data_; }

    // As long as a thread answers one. False if it must not.
    class Turn {
     public:
      Turn(Threads& threads, bool is_data);
      ~Turn() { --running_; }
      Turn(const Turn&) = delete;
      Turn& operator=(const Turn&) = delete;
      explicit operator bool() const { return good_; }

     private:
      std::atomic<uint32_t>& running_;
      bool good_ = false;
    };

   private:
    std::atomic<uint32_t> names_ = 0;
    std::atomic<uint32_t> data_ = 0;
    uint32_t limit_;
    uint32_t limit_of_data_;
  };

  // Negotiates the capabilities in FUSE_INIT.
  void Negotiate(fuse_conn_info& connection);

  // What is asked.
  struct Question {
    Operation operation;
    NodeId id;
    std::string name = {};  // in the folder `id`
  };

  template <typename Interrupted>
  struct Substitute;
  // Runs `handler`, a void(Reply&), perhaps three times, so it must be repeatable.
  // `interrupted`, which does not wait, gives the answer if the request is interrupted meanwhile;
  // where it fails, that is EINTR. Either way it counts as an error.
  static Result<Entry> NoEntry() { return Fail(ErrorCode::kInterrupted, "interrupted"); }
  template <typename Handler, typename Interrupted = decltype(&NoEntry)>
  void Answer(fuse_req_t request, Question question, Handler handler,
              Interrupted interrupted = NoEntry);

  void Read(Reply& reply, NodeId id, size_t size, uint64_t offset);
  void OpenFolder(Reply& reply, NodeId id, fuse_file_info info);
  void List(Reply& reply, NodeId id, uint64_t handle, size_t size, uint64_t cookie, bool plus);
  void StatFs(Reply& reply) const;

  const std::unique_ptr<Tree> tree_;
  const ServerOptions options_;
  std::atomic<bool> uses_io_uring_ = false;  // set during FUSE_INIT
  Threads threads_;
  OpenFolders folders_;
  Notifier notifier_;
};

}  // namespace zarrfs
