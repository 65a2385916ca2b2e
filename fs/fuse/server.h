// Server: answers the kernel's requests from a Tree, and notifies the kernel of changes. The caller
// creates, mounts and runs the session, whose user data must be the Server.
//
// A handler computes its result, then replies exactly once, holding no lock. First it runs as a
// trial on the thread that received the request. In a trial it must not wait for memory. It may
// wait only for a store that answers fast, and only while enough threads are free, because a disk
// may hang. If the trial fails, the handler runs again in a waiting room, where it may wait for the
// store. A handler that lacks memory there waits for its turn and runs a last time, as the only
// request that holds memory. So a thread is always free for requests that can be answered from
// caches.
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
  bool no_epoch = false;  // do not use FUSE_NOTIFY_INC_EPOCH, as if the kernel were older than 6.16
  bool open_messages = false;  // the kernel sends OPEN each time a file is opened
  // True if the extended attributes of chunk files say where the chunks are stored.
  bool extended_attributes = false;
  bool io_uring = false;     // true to use FUSE over io_uring if the kernel supports it
  uint32_t threads = 1;      // number of threads that serve requests
  uint32_t connections = 0;  // number of connections to a store behind a network; otherwise 0
};

class Server {
 public:
  Server(std::unique_ptr<Tree> tree, const ServerOptions& options)
      : tree_(std::move(tree)),
        options_(options),
        threads_(options.threads),
        folders_(tree_->journal().predecessors()) {}

  /// The callbacks of libfuse. The user data of their session must be the Server.
  [[nodiscard]] static const fuse_lowlevel_ops& Operations();

  /// Starts prefetching, notifying, and watching the store. Call once, after FUSE_INIT was
  /// answered, on a thread that serves no requests, because it sends notifications. After this
  /// call, the Server and the session must live until the process ends.
  void OnMounted(fuse_session* session);

  /// The progress of requests. `answered` excludes requests for the status files and statfs(2).
  struct Progress {
    uint64_t answered = 0;
    size_t unanswered = 0;
    std::chrono::steady_clock::duration oldest{};  // the age of the oldest unanswered request
    uint32_t free_threads = 0;  // the number of idle threads that can receive requests
  };
  /// Thread-safe.
  [[nodiscard]] Progress progress() const;

  [[nodiscard]] Tree& tree() { return *tree_; }
  [[nodiscard]] bool uses_io_uring() const { return uses_io_uring_; }

 private:
  struct Handlers;  // the functions in Operations()

  // Decides which requests may be answered on the threads that receive them.
  class Threads {
   public:
    explicit Threads(uint32_t count);

    [[nodiscard]] uint32_t busy() const { return names_ + data_; }

    // A receiving thread holds a Slot while it answers a request. A Slot is false if the thread
    // must pass the request to a waiting room.
    class Slot {
     public:
      Slot(Threads& threads, bool is_data);
      ~Slot() { --running_; }
      Slot(const Slot&) = delete;
      Slot& operator=(const Slot&) = delete;
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

  // The operation of a request, and the file or name to which it applies.
  struct Subject {
    Operation operation;
    NodeId id;
    std::string name = {};  // a name in the folder `id`, or ""
  };

  template <typename Interrupted>
  struct Fallback;
  // Runs `handler`, a void(Reply&), up to three times, so it must be repeatable. If the request is
  // interrupted before the handler replies, the reply is the result of `interrupted`, which must
  // not wait, or EINTR if `interrupted` fails. In either case the request counts as failed.
  static Result<Entry> NoEntry() { return Fail(ErrorCode::kInterrupted, "interrupted"); }
  template <typename Handler, typename Interrupted = decltype(&NoEntry)>
  void Answer(fuse_req_t request, Subject subject, Handler handler,
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
