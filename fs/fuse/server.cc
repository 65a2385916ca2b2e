#include "fs/fuse/server.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fs/fuse/reply.h"
#include "fs/fuse/running_request.h"
#include "fs/fuse/waiting_room.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// A READDIR that takes longer is answered with the entries found so far; the kernel then requests
// the rest.
constexpr std::chrono::nanoseconds kLongListing = std::chrono::milliseconds(50);

// This thread's buffer for one READ.
std::span<std::byte> ReadBuffer(size_t size) {
  thread_local std::unique_ptr<std::byte[]> buffer;
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(kMaxRead);
  return {buffer.get(), std::min(size, kMaxRead)};
}

// Runs the handler. Returns false if the handler must run again on a thread that may wait. If
// memory has run out, replies with the last known entry of the name, or with ENOMEM.
template <typename Handler, typename Fallback>
bool Run(const Handler& handler, const Fallback& fallback, Reply reply) {
  const MemoryBudget::Work work(ProcessMemory());
  try {
    handler(reply);
  } catch (const std::bad_alloc&) {
    if (const Result<Entry> entry = fallback.Known()) {
      reply.Unreadable(*entry);
    } else {
      reply.Failed(ErrorCode::kNoMemory);
    }
  }
  return !reply.must_wait();
}

}  // namespace

// Provides the reply if the request is interrupted: the last known entry, or an error. Also logs
// slow requests.
template <typename Interrupted>
struct Server::Fallback {
  Server& server;
  Subject subject;
  RequestMetrics& metrics;
  RequestMetrics::Request counted;
  Interrupted interrupted;

  [[nodiscard]] RequestCallbacks Callbacks() const {
    return {*this, [&tree = *server.tree_, asked = subject](std::chrono::seconds time) {
              tree.OnLongRequest(asked.operation, asked.id, asked.name, time);
            }};
  }

  [[nodiscard]] Result<Entry> Known() const {
    try {
      return interrupted();
    } catch (const std::bad_alloc&) {
      return tl::unexpected(Error{ErrorCode::kNoMemory, {}});
    }
  }
  void operator()(fuse_req_t request) const {
    const Result<Entry> entry = Known();
    metrics.End(counted, RequestResult::kError);
    if (entry) {
      const fuse_entry_param param = ToParam(*entry);
      fuse_reply_entry(request, &param);
    } else {
      fuse_reply_err(request, EINTR);
    }
  }
};

Server::Threads::Threads(uint32_t count) : limit_(count), limit_of_data_(count) {
  // Two threads always stay free to receive requests, including interruptions. READs may use up to
  // two thirds of the other threads; the rest is reserved for lookups and listings.
  constexpr uint32_t kFew = 8;
  if (count < kFew) return;
  limit_ = count - 2;
  limit_of_data_ = limit_ - limit_ / 3;
}

Server::Threads::Slot::Slot(Threads& threads, bool is_data)
    : running_(is_data ? threads.data_ : threads.names_) {
  const uint32_t same = running_++;
  const uint32_t all = same + (is_data ? threads.names_ : threads.data_);
  good_ = all < threads.limit_ && (!is_data || same < threads.limit_of_data_);
}

template <typename Handler, typename Interrupted>
void Server::Answer(fuse_req_t request, Subject subject, Handler handler, Interrupted interrupted) {
  RequestMetrics& metrics = tree_->metrics();
  // Requests for the status folder are counted as kOther.
  const bool is_status = Tree::IsStatus(subject.id, subject.name);
  const Operation operation = is_status ? Operation::kOther : subject.operation;
  const bool is_data = operation == Operation::kRead;
  const RequestMetrics::Request counted = RequestMetrics::Start(operation);
  const Fallback<Interrupted> fallback{*this, std::move(subject), metrics, counted,
                                       std::move(interrupted)};
  std::shared_ptr<PendingRequest> pending;
  bool was_tried = false;
  {
    const Threads::Slot slot(threads_, is_data);
    was_tried = tree_->answers_fast() && (slot || uses_io_uring_);
    std::optional<NoWaiting> scope;
    if (!was_tried) scope.emplace();
    RunningRequest running(request, fallback);
    if (Run(handler, fallback, {request, metrics, counted, running})) return;
    pending = running.HandOver();
  }
  try {
    WaitingHandler waiting = [request, was_tried, handler = std::move(handler),
                              fallback](const std::shared_ptr<PendingRequest>& own) {
      const auto run = [&](bool trial) {
        return Run(handler, fallback, {request, fallback.metrics, fallback.counted, own, trial});
      };
      if (!was_tried && run(/*trial=*/true)) return;
      // The handler lacked memory, so it runs a last time, with the memory budget to itself.
      const MemoryBudget::Alone alone(ProcessMemory(), [&] { return own->answered.load(); });
      if (alone.granted()) (void)run(/*trial=*/false);
    };
    if (pending == nullptr) pending = MakeInterruptible(request, fallback.Callbacks());
    AnswerFromWaitingRoom(request, is_data ? WaitingFor::kData : WaitingFor::kNames,
                          std::move(waiting), pending);
  } catch (const std::bad_alloc&) {
    if (pending != nullptr && !pending->Claim()) return;
    metrics.End(counted, RequestResult::kError);
    fuse_reply_err(request, ENOMEM);
  }
}

Server::Progress Server::progress() const {
  const auto [waiting, oldest] = UnansweredRequests();
  const uint32_t busy = threads_.busy();
  Progress progress{.unanswered = waiting + RunningRequest::CountNotPending(),
                    .oldest = oldest,
                    .free_threads = options_.threads - std::min(busy, options_.threads)};
  const RequestFigures figures = tree_->metrics().figures();
  for (const Operation operation :
       {Operation::kLookup, Operation::kRead, Operation::kReadDirectory, Operation::kGetAttributes,
        Operation::kOpen, Operation::kOpenDirectory}) {
    for (const uint64_t count : figures.answered[static_cast<size_t>(operation)]) {
      progress.answered += count;
    }
  }
  return progress;
}

void Server::Read(Reply& reply, NodeId id, size_t size, uint64_t offset) {
  const auto piece = tree_->Read(id, offset, ReadBuffer(size));
  if (!piece) return reply.Failed(piece.error().code);
  reply.Bytes(piece->bytes);
  tree_->PrefetchAfter(*piece, offset, size);
}

void Server::OpenFolder(Reply& reply, NodeId id, fuse_file_info info) {
  auto opened = tree_->OpenFolder(id);
  if (!opened) return reply.Failed(opened.error().code);
  info.fh = folders_.Add(std::move(opened->folder));
  info.cache_readdir = 1;
  info.keep_cache = opened->is_cached ? 1 : 0;
  if (!reply.Opened(info)) folders_.Remove(info.fh);
}

void Server::List(Reply& reply, NodeId id, uint64_t handle, size_t size, uint64_t cookie,
                  bool plus) {
  auto folder = folders_.Find(handle);
  if (folder == nullptr) {
    auto opened = tree_->OpenFolder(id);
    if (!opened) return reply.Failed(opened.error().code);
    folder = folders_.Put(handle, std::move(opened->folder));
  }
  std::vector<char> bytes(size);
  size_t used = 0;
  const int64_t begin_ns = SteadyNowNs();
  // For an entry without an id, the reply contains only the name, which the kernel then looks up.
  const auto add = [&](const std::string& name, const Entry& entry, uint64_t next) {
    if (used > 0 && SteadyNowNs() - begin_ns > kLongListing.count()) return false;
    char* const to = bytes.data() + used;
    const size_t room = size - used;
    const auto next_cookie = static_cast<off_t>(next);
    const fuse_entry_param param = ToParam(entry);
    const size_t need =
        plus ? fuse_add_direntry_plus(reply.request(), to, room, name.c_str(), &param, next_cookie)
             : fuse_add_direntry(reply.request(), to, room, name.c_str(), &param.attr, next_cookie);
    if (need > room) return false;  // the buffer of the reply is full
    used += need;
    return true;
  };
  const auto listed =
      tree_->List(*folder, cookie, add, plus ? ListingOf::kAttributes : ListingOf::kNames);
  if (!listed) return reply.Failed(listed.error().code);
  reply.Bytes(std::as_bytes(std::span(bytes)).first(used));
}

void Server::StatFs(Reply& reply) const {
  struct statvfs st {};
  st.f_namemax = 255;
  st.f_bsize = st.f_frsize = 4096;
  const auto capacity = tree_->Capacity();
  if (!capacity && capacity.error().code == ErrorCode::kWouldBlock) {
    return reply.Failed(capacity.error().code);
  }
  if (capacity) {
    st.f_bsize = st.f_frsize = capacity->block_size;
    st.f_blocks = capacity->blocks;
    st.f_bfree = capacity->blocks_free;
    st.f_bavail = capacity->blocks_available;
    st.f_files = capacity->files;
    st.f_ffree = st.f_favail = capacity->files_free;
  }
  reply.StatFs(st);
}

void Server::OnMounted(fuse_session* session) {
  RunningRequest::StartWatching();
  SetWaitingThreads(WaitingThreads(options_.connections));
  // notify_store waits while a READ holds the page's lock, so a second thread must be free to
  // answer that READ without waiting for the tree's store. So prefetching requires a store that
  // answers fast. Prefetching is off with io_uring, which has only one thread per core.
  if (tree_->answers_fast() && options_.threads > 1 && !uses_io_uring_) {
    tree_->StartPrefetch([this, session](NodeId id, std::span<const std::byte> bytes) {
      fuse_bufvec data = FUSE_BUFVEC_INIT(bytes.size());
      data.buf[0].mem = const_cast<std::byte*>(bytes.data());
      const int result = fuse_lowlevel_notify_store(session, id, 0, &data, FUSE_BUF_NO_SPLICE);
      if (result == 0) tree_->metrics().CountPrefetch(bytes.size());
      return result == 0;
    });
  }
  notifier_.Start(
      session, !options_.no_epoch, tree_->journal().predecessors() > 0,
      [this](const Changes& changes, EntryInvalidator& invalidator) {
        return tree_->FindInvalidEntries(changes, invalidator);
      },
      [this] { return tree_->Sweep(); });
  tree_->Watch(
      [this](const Changes& changes) {
        if (changes.is_coming) return notifier_.NotifyNow(changes);
        if (!changes.was_announced) notifier_.Notify(changes);
      },
      notifier_.can_invalidate_all());
  // The kernel has cached the root's attributes with a timeout, so they are invalidated.
  fuse_lowlevel_notify_inval_inode(session, FUSE_ROOT_ID, -1, 0);
}

void Server::Negotiate(fuse_conn_info& connection) {
  zarrfs::Negotiate(connection, options_.connections);
#ifdef FUSE_CAP_OVER_IO_URING
  connection.want &= ~unsigned{FUSE_CAP_OVER_IO_URING};
  if (options_.io_uring) connection.want |= connection.capable & FUSE_CAP_OVER_IO_URING;
  uses_io_uring_ = (connection.want & FUSE_CAP_OVER_IO_URING) != 0;
#endif
}

// The callbacks of libfuse. Their arguments are only valid during the call.
struct Server::Handlers {
  static Server& Self(fuse_req_t request) {
    return *static_cast<Server*>(fuse_req_userdata(request));
  }
  // Counts a request that is answered immediately, without Answer().
  static void CountAnswered(fuse_req_t request, Operation operation) {
    Self(request).tree_->metrics().End({operation}, RequestResult::kOk);
  }

  static void Lookup(fuse_req_t request, fuse_ino_t folder, const char* name) try {
    Server& self = Self(request);
    self.Answer(
        request, {Operation::kLookup, folder, name},
        [&self, folder, name = std::string(name)](Reply& reply) {
          reply.Entry(self.tree_->LookUp(folder, name));
        },
        [&self, folder, name = std::string(name)] {
          return self.tree_->LookUpInterrupted(folder, name);
        });
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);  // memory for the name ran out; Answer() does not throw
  }

  static void Forget(fuse_req_t request, fuse_ino_t id, uint64_t lookups) {
    Self(request).tree_->Forget(id, lookups);
    CountAnswered(request, Operation::kOther);
    fuse_reply_none(request);
  }

  static void ForgetMulti(fuse_req_t request, size_t count, fuse_forget_data* forgotten) {
    for (const fuse_forget_data& each : std::span(forgotten, count)) {
      Self(request).tree_->Forget(each.ino, each.nlookup);
    }
    CountAnswered(request, Operation::kOther);
    fuse_reply_none(request);
  }

  static void GetAttributes(fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
    Server& self = Self(request);
    self.Answer(request, {Operation::kGetAttributes, id},
                [&self, id](Reply& reply) { reply.Attributes(self.tree_->Attributes(id)); });
  }

  static void Open(fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
    Server& self = Self(request);
    // After ENOSYS, the kernel opens files without sending OPEN, and sends no RELEASE.
    if (!self.options_.open_messages) {
      CountAnswered(request, Operation::kOpen);
      fuse_reply_err(request, ENOSYS);
      return;
    }
    self.Answer(request, {Operation::kOpen, id}, [&self, id, info = *info](Reply& reply) {
      const auto can_open = self.tree_->CheckOpen(id);
      if (!can_open) return reply.Failed(can_open.error().code);
      fuse_file_info answer = info;
      answer.keep_cache = 1;
      answer.noflush = 1;
      (void)reply.Opened(answer);
    });
  }

  static void Read(fuse_req_t request, fuse_ino_t id, size_t size, off_t offset, fuse_file_info*) {
    Server& self = Self(request);
    self.Answer(request, {Operation::kRead, id}, [&self, id, size, offset](Reply& reply) {
      self.Read(reply, id, size, static_cast<uint64_t>(offset));
    });
  }

  // Programs check whether a file is a terminal, as Python does at each open. The kernel sends this
  // request every time, regardless of the answer.
  static void Ioctl(fuse_req_t request, fuse_ino_t, unsigned, void*, fuse_file_info*, unsigned,
                    const void*, size_t, size_t) {
    CountAnswered(request, Operation::kOther);
    fuse_reply_err(request, ENOTTY);
  }

  static void OpenDirectory(fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
    Server& self = Self(request);
    self.Answer(request, {Operation::kOpenDirectory, id},
                [&self, id, info = *info](Reply& reply) { self.OpenFolder(reply, id, info); });
  }

  template <bool kPlus>
  static void ReadDirectory(fuse_req_t request, fuse_ino_t id, size_t size, off_t offset,
                            fuse_file_info* info) {
    Server& self = Self(request);
    self.Answer(request, {Operation::kReadDirectory, id},
                [&self, id, handle = info->fh, size, offset](Reply& reply) {
                  self.List(reply, id, handle, size, static_cast<uint64_t>(offset), kPlus);
                });
  }

  static void ReleaseDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
    Self(request).folders_.Remove(info->fh);
    CountAnswered(request, Operation::kOther);
    fuse_reply_err(request, 0);
  }

  // ENOSYS makes the kernel stop its requests for extended attributes, so `ls -l` makes no
  // additional requests.
  static bool HasNoExtendedAttributes(fuse_req_t request) {
    if (Self(request).options_.extended_attributes) return false;
    CountAnswered(request, Operation::kOther);
    fuse_reply_err(request, ENOSYS);
    return true;
  }

  static void GetExtendedAttribute(fuse_req_t request, fuse_ino_t id, const char* name,
                                   size_t room) try {
    if (HasNoExtendedAttributes(request)) return;
    Server& self = Self(request);
    self.Answer(request, {Operation::kOther, id},
                [&self, id, room, name = std::string(name)](Reply& reply) {
                  reply.ExtendedAttribute(self.tree_->ExtendedAttribute(id, name), room);
                });
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
  }

  static void ListExtendedAttributes(fuse_req_t request, fuse_ino_t id, size_t room) {
    if (HasNoExtendedAttributes(request)) return;
    Server& self = Self(request);
    self.Answer(request, {Operation::kOther, id}, [&self, id, room](Reply& reply) {
      reply.ExtendedAttribute(self.tree_->ExtendedAttributes(id), room);
    });
  }

  // The kernel sends write requests if the mount is writable, which is possible if another program
  // made the mount.
  template <typename... Arguments>
  static void RefuseToWrite(fuse_req_t request, Arguments...) {
    CountAnswered(request, Operation::kOther);
    fuse_reply_err(request, EROFS);
  }

  // Sent only if the kernel does not check permissions itself.
  static void Access(fuse_req_t request, fuse_ino_t, int mask) {
    CountAnswered(request, Operation::kOther);
    fuse_reply_err(request, (mask & W_OK) != 0 ? EROFS : 0);
  }

  static void StatFs(fuse_req_t request, fuse_ino_t id) {
    Server& self = Self(request);
    self.Answer(request, {Operation::kStatFs, id}, [&self](Reply& reply) { self.StatFs(reply); });
  }
};

const fuse_lowlevel_ops& Server::Operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops{};
    ops.init = [](void* self, fuse_conn_info* connection) {
      static_cast<Server*>(self)->Negotiate(*connection);
    };
    ops.lookup = Handlers::Lookup;
    ops.forget = Handlers::Forget;
    ops.forget_multi = Handlers::ForgetMulti;
    ops.getattr = Handlers::GetAttributes;
    ops.open = Handlers::Open;
    ops.read = Handlers::Read;
    ops.ioctl = Handlers::Ioctl;
    ops.opendir = Handlers::OpenDirectory;
    ops.readdir = Handlers::ReadDirectory<false>;
    ops.readdirplus = Handlers::ReadDirectory<true>;
    ops.releasedir = Handlers::ReleaseDirectory;
    ops.statfs = Handlers::StatFs;
    ops.getxattr = Handlers::GetExtendedAttribute;
    ops.listxattr = Handlers::ListExtendedAttributes;
    ops.access = Handlers::Access;
    ops.setattr = Handlers::RefuseToWrite;
    ops.mknod = Handlers::RefuseToWrite;
    ops.mkdir = Handlers::RefuseToWrite;
    ops.unlink = Handlers::RefuseToWrite;
    ops.rmdir = Handlers::RefuseToWrite;
    ops.symlink = Handlers::RefuseToWrite;
    ops.rename = Handlers::RefuseToWrite;
    ops.link = Handlers::RefuseToWrite;
    ops.write = Handlers::RefuseToWrite;
    ops.create = Handlers::RefuseToWrite;
    ops.setxattr = Handlers::RefuseToWrite;
    ops.removexattr = Handlers::RefuseToWrite;
    ops.fallocate = Handlers::RefuseToWrite;
    return ops;
  }();
  return operations;
}

}  // namespace zarrfs
