// Server: answers the kernel's requests from a Tree, and notifies the kernel of changes. The caller
// creates, mounts and runs the session, whose user data it is.
//
// A handler gathers its result, then replies exactly once, holding no lock. It first runs as a
// trial on the thread that received the request. There it must not wait for memory; it may wait
// only for a store that answers fast, and not if so many other requests run that too few threads
// are free, because a disk hangs. If the trial fails it runs again in a waiting room, where it may
// wait for the store, and then for memory, alone. So a thread is always free for requests that can
// be answered from caches.
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
  bool no_epoch = false;       // no FUSE_NOTIFY_INC_EPOCH, like kernels before 6.16
  bool open_messages = false;  // the kernel sends OPEN each time a file is opened
  bool io_uring = false;       // request FUSE over io_uring
  uint32_t threads = 1;        // number of threads that serve requests
  uint32_t connections = 0;    // to a store behind a network; otherwise 0
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
  /// notifications. Starts prefetching, notifying, and watching the store. From then on the Server
  /// and the session must live until the process ends.
  void OnMounted(fuse_session* session);

  /// Requests except those about the status files, and statfs(2). Thread-safe.
  struct Progress {
    uint64_t answered = 0;
    size_t unanswered = 0;
    std::chrono::steady_clock::duration oldest{};  // of the unanswered requests
    uint32_t free_threads = 0;                     // of the threads that receive requests
  };
  [[nodiscard]] Progress progress() const;

  [[nodiscard]] Tree& tree() { return *tree_; }
  [[nodiscard]] bool uses_io_uring() const { return uses_io_uring_; }

 private:
  struct Handlers;  // of Operations()

  // Decides which requests may be answered on the threads that receive them.
  class Threads {
   public:
    explicit Threads(uint32_t count);

    [[nodiscard]] uint32_t busy() const { return names_ + data_; }

    // Held while such a thread answers a request. False if it must not.
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

  // The subject of a request.
  struct Question {
    Operation operation;
    NodeId id;
    std::string name = {};  // in the folder `id`
  };

  template <typename Interrupted>
  struct Substitute;
  // Runs `handler`, a void(Reply&), up to three times, so it must be repeatable. If the request is
  // interrupted in the meantime, `interrupted`, which does not wait, gives the answer; if that
  // fails, the answer is EINTR. Either counts as an error.
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
