// One thread walks the hierarchy and the folders of stored objects and fills a short queue; the
// others take one object each, follow every entry of its indexes and decode every chunk. Memory is
// what the queue, the index cache and one chunk a thread need, however large the store.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/progress.h"
#include "tools/zarrctl/target.h"
#include "tools/zarrctl/terminal.h"
#include "zarrcore/base/byte_order.h"
#include "zarrcore/codec/crc32c.h"

namespace zarrfs::ctl {
namespace {

constexpr int kAttempts = 3;  // at an object that changes while it is read
constexpr size_t kQueuedPerThread = 8;
constexpr size_t kMaxReasons = 1000;         // of one object, before they are printed
constexpr size_t kMaxListed = 100'000;       // damages in a JSON document
constexpr uint64_t kMaxOverhead = 1u << 20;  // no codec makes a chunk longer than twice and this
constexpr uint64_t kChecksumBytes = 4;
constexpr uint64_t kMaxChecksummed = 1u << 30;  // a shard is read whole for its own checksum

struct Task {
  NodePtr node;
  uint64_t outer = 0;
};

// Bounded, of many producers and consumers.
class TaskQueue {
 public:
  explicit TaskQueue(size_t limit) : limit_(limit) {}

  void Push(Task task) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return tasks_.size() < limit_; });
    tasks_.push_back(std::move(task));
    filled_.notify_one();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }
  /// nullopt once the queue is closed and empty.
  std::optional<Task> Pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
    if (tasks_.empty()) return std::nullopt;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    room_.notify_one();
    return task;
  }

 private:
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<Task> tasks_;
  bool closed_ = false;
};

std::optional<std::string> WhyNotDecoded(const ArrayLayout& layout) {
  if (!layout.inner_pipeline) return layout.inner_pipeline.error().message;
  if (layout.inner_pipeline->decoded_size() <= kMaxChunkBytes) return std::nullopt;
  return fmt::format("a chunk has {}", SizeText(layout.inner_pipeline->decoded_size()));
}

// What one object has wrong; equal reasons are one entry (a damaged index is that of every chunk).
struct Findings {
  struct Where {
    std::string chunk;  // the first; empty: the object itself
    uint64_t others = 0;
  };
  std::map<std::string, Where> damage;
  std::map<std::string, Where> unread;

  void Add(const Error& error, const std::string& key, const std::string& chunk) {
    auto& reasons = error.code == ErrorCode::kDamaged ? damage : unread;
    const auto [entry, added] = reasons.emplace(WithoutKey(error.message, key), Where{chunk, 0});
    if (!added) ++entry->second.others;
  }
};

class Verification {
 public:
  Verification(const TargetNode& target, const VerifyOptions& options)
      : target_(target), json_(options.json) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    jobs_ = options.jobs != 0 ? options.jobs : cores;
  }

  int Run() {
    const StopOnInterrupt on_interrupt;
    {
      Progress progress("object");
      if (Progress::IsSeen()) {
        Walk(*target_.node, [&](const NodePtr& node) {
          (void)node->chunks->VisitOuter({}, [&](uint64_t) {
            progress.AddFound();
            return !StopRequested();
          });
        });
      }
      progress.Begin();
      progress_ = &progress;
      counting_ = true;
      CheckAll();
      progress_ = nullptr;
    }
    Summarise();
    if (StopRequested()) return kExitCtrlC;
    if (damaged_ > 0) return kExitWrong;
    if (unread_ > 0) return kExitSystem;
    return unchecked_count_ > 0 ? kExitUnchecked : kExitOk;
  }

 private:
  void CheckAll() {
    TaskQueue queue(jobs_ * kQueuedPerThread);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < jobs_; ++i) {
      threads.emplace_back([&] {
        while (auto task = queue.Pop()) {
          // The queue is emptied also after a stop: nobody may wait for room in it.
          if (StopRequested()) continue;
          CheckObject(*task->node, task->outer);
          progress_->AddDone();
        }
      });
    }
    Walk(*target_.node, [&](const NodePtr& node) {
      ++arrays_;
      if (const auto reason = WhyNotDecoded(node->chunks->layout())) {
        AddUnchecked(node->path, "only ranges were checked", *reason);
      }
      const auto visited = node->chunks->VisitOuter({}, [&](uint64_t outer) {
        if (StopRequested()) return false;
        queue.Push({node, outer});
        return true;
      });
      if (!visited) AddUnread(visited.error().message);
    });
    queue.Close();
    for (std::thread& thread : threads) thread.join();
  }

  // Calls `visit` with each array whose chunks can be found. Whatever else is met counts only in
  // the walk that checks (counting_).
  void Walk(const Node& node, const std::function<void(const NodePtr&)>& visit) {
    if (StopRequested()) return;
    if (const Error* error = Unusable(node)) {
      if (!counting_) return;
      const std::string key = JoinKey(node.path, node.document);
      const std::string reason = WithoutKey(error->message, key);
      if (error->code == ErrorCode::kDamaged) {
        AddDamage(key, {}, 0, reason);
      } else {
        AddUnchecked(node.path, "not checked", reason);
      }
      return;
    }
    if (const ArrayMetadata* array = node.array(); counting_ && array != nullptr &&
                                                   array->grid_only &&
                                                   array->grid_only->code == ErrorCode::kDamaged) {
      const std::string key = JoinKey(node.path, node.document);
      AddDamage(key, {}, 0, WithoutKey(array->grid_only->message, key));
    }
    if (node.array() != nullptr) {
      const auto again = target_.hierarchy->Get(node.path, kAnyAge);
      if (again && (*again)->chunks != nullptr) visit(*again);
      return;
    }
    const auto children = target_.hierarchy->Children(node, kAnyAge);
    if (!children) {
      if (counting_) AddUnread(children.error().message);
      return;
    }
    for (const std::string& name : *children) {
      const auto child = target_.hierarchy->Get(JoinKey(node.path, name), kAnyAge);
      if (child) {
        Walk(**child, visit);
      } else if (counting_) {
        AddUnread(child.error().message);
      }
    }
  }

  void CheckObject(const Node& node, uint64_t outer) {
    const ChunkSource& source = *node.chunks;
    const std::string key = source.ObjectKey(outer);
    for (int attempt = 1;; ++attempt) {
      Findings findings;
      uint64_t chunks = 0;
      bool stale = false;
      try {
        stale = !CheckChunks(source, outer, key, findings, chunks);
      } catch (const std::bad_alloc&) {
        findings.Add(Error{ErrorCode::kTooLarge, "not enough memory"}, key, "");
      }
      if (stale) {
        source.Forget(outer);
        if (attempt < kAttempts) continue;
        findings.Add(Error{ErrorCode::kStale, "changes all the time while it is read"}, key, "");
      }
      ++objects_;
      chunks_ += chunks;
      Tell(key, findings);
      return;
    }
  }

  // False if the object changed under the check.
  bool CheckChunks(const ChunkSource& source, uint64_t outer, const std::string& key,
                   Findings& findings, uint64_t& chunks) {
    const ArrayLayout& layout = source.layout();
    bool stale = false;
    OpenShardPtr checked;  // the shard whose own checksum was looked at last
    const auto check = [&](uint64_t chunk, const Result<ChunkPlace>& place) {
      Result<void> result;
      if (!place) {
        result = Fail(place);
      } else {
        if (layout.is_sharded() && place->shard != checked) {
          if (auto sums = CheckShardChecksums(layout, *place->shard, checked == nullptr); !sums) {
            findings.Add(sums.error(), key, "");
          }
          checked = place->shard;
        }
        ++chunks;
        result = CheckChunk(layout, *place);
      }
      if (!result) {
        stale = result.error().code == ErrorCode::kStale;
        if (!stale) findings.Add(result.error(), key, ChunkName(chunk, layout.inner_grid));
        if (findings.damage.size() + findings.unread.size() > kMaxReasons) Tell(key, findings);
      }
      return !stale && !StopRequested();
    };
    if (layout.is_sharded()) {
      const auto visited = source.VisitChunks(
          outer, {}, 0, kAnyAge, [&](uint64_t, uint64_t chunk, const Result<ChunkPlace>& place) {
            return check(chunk, place);
          });
      if (!visited) {
        if (visited.error().code == ErrorCode::kStale) return false;
        findings.Add(visited.error(), key, "");
      }
    } else {
      const auto place = source.Locate(outer, kAnyAge);
      if (!place) {
        check(outer, Fail(place));
      } else if (*place) {
        check(outer, **place);
      }
    }
    return !stale;
  }

  Result<void> CheckChunk(const ArrayLayout& layout, const ChunkPlace& place) {
    if (WhyNotDecoded(layout)) return {};
    const Pipeline& pipeline = *layout.inner_pipeline;
    const uint64_t size = pipeline.decoded_size();
    if (place.length > 2 * size + kMaxOverhead) {
      return Fail(ErrorCode::kDamaged, "the chunk has {} bytes, though only {} decoded ones",
                  place.length, size);
    }
    Bytes encoded(place.length);
    if (auto read = place.shard->object->Read(place.offset, encoded); !read) return read;
    progress_->AddBytes(place.length);
    bytes_ += place.length;
    if (auto decoded = pipeline.Decode(encoded); !decoded) return Fail(decoded);
    return {};
  }

  // The crc32c after the stored object (once an object) and after the innermost shard.
  static Result<void> CheckShardChecksums(const ArrayLayout& layout, const OpenShard& innermost,
                                          bool first_of_object) {
    const uint64_t tail = layout.levels.front().trailing_checksum;
    if (first_of_object && tail > 0) {
      auto whole = CheckChecksum(*innermost.object, 0, innermost.info.size() - tail, tail);
      if (!whole) return whole;
    }
    if (layout.levels.size() == 1) return {};
    return CheckChecksum(*innermost.object, innermost.offset, innermost.size,
                         layout.levels.back().trailing_checksum);
  }

  static Result<void> CheckChecksum(const Object& object, uint64_t offset, uint64_t size,
                                    uint64_t tail) {
    if (tail == 0) return {};
    if (size + tail > kMaxChecksummed) {
      return Fail(ErrorCode::kTooLarge, "{} bytes are too many to check the shard's own checksum",
                  size);
    }
    Bytes bytes(size + tail);
    if (auto read = object.Read(offset, bytes); !read) return read;
    for (uint64_t end = size; end < size + tail; end += kChecksumBytes) {
      const auto stored = LoadLittle<uint32_t>(bytes.data() + end);
      const uint32_t computed = Crc32c(BytesView(bytes).first(end));
      if (stored != computed) {
        return Fail(ErrorCode::kDamaged, "checksum of the shard {:#010x}, computed {:#010x}",
                    stored, computed);
      }
    }
    return {};
  }

  // Prints the findings and forgets them.
  void Tell(const std::string& key, Findings& findings) {
    for (const auto& [reason, where] : findings.damage) {
      AddDamage(key, where.chunk, where.others, reason);
    }
    for (const auto& [reason, where] : findings.unread) {
      AddUnread(fmt::format("{}: {}{}", key,
                            where.chunk.empty() ? "" : fmt::format("chunk {}: ", where.chunk),
                            reason));
    }
    findings.damage.clear();
    findings.unread.clear();
  }

  void AddDamage(const std::string& key, const std::string& chunk, uint64_t others,
                 const std::string& reason) {
    const std::lock_guard lock(mutex_);
    damaged_ += 1 + others;
    if (json_) {
      if (damage_.size() >= kMaxListed) {
        ++not_listed_;
        return;
      }
      Json json = {{"key", key}};
      if (!chunk.empty()) {
        json["chunk"] = chunk;
        json["others"] = others;
      }
      json["reason"] = reason;
      damage_.push_back(std::move(json));
      return;
    }
    std::string place;
    if (!chunk.empty()) {
      place = fmt::format("chunk {}{}: ", chunk,
                          others == 0 ? "" : fmt::format(" and {}", CountText(others, "other")));
    }
    if (progress_ != nullptr) progress_->Hide();
    Print("{}: {}{}\n", Paint(Visible(key), Style::kRed), place, Visible(reason));
    std::fflush(stdout);
  }

  void AddUnchecked(const std::string& path, std::string_view what, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    ++unchecked_count_;
    if (json_) {
      unchecked_.push_back({{"path", path}, {"what", what}, {"reason", reason}});
      return;
    }
    if (progress_ != nullptr) progress_->Hide();
    Print("{}: {}: {}\n", Paint(path.empty() ? "/" : Visible(path), Style::kYellow), what,
          Visible(reason));
  }

  void AddUnread(const std::string& message) {
    const std::lock_guard lock(mutex_);
    ++unread_;
    if (progress_ != nullptr) progress_->Hide();
    Complain(message);
  }

  void Summarise() const {
    const bool complete = !StopRequested();
    if (json_) {
      Json json;
      json["store"] = target_.FileOf(target_.node->path);
      json["complete"] = complete && unread_ == 0;
      json["arrays"] = arrays_;
      json["objects"] = objects_.load();
      json["chunks"] = chunks_.load();
      json["bytes_decoded_from"] = bytes_.load();
      json["damaged"] = damaged_;
      json["damage"] = damage_;
      if (not_listed_ > 0) json["damage_not_listed"] = not_listed_;
      json["unchecked"] = unchecked_;
      json["unread"] = unread_;
      Write(DumpJson(json));
      return;
    }
    std::string line =
        fmt::format("{}{}, {}, {}, {} decoded: {}",
                    complete ? "" : "stopped early: ", CountText(arrays_, "array"),
                    CountText(objects_.load(), "stored object"), CountText(chunks_.load(), "chunk"),
                    SizeText(bytes_.load()),
                    damaged_ == 0 ? Paint("no damage", complete ? Style::kGreen : Style::kBold)
                                  : Paint(fmt::format("{} damaged", damaged_), Style::kRed));
    if (unchecked_count_ > 0) {
      line += "; " + Paint(fmt::format("{} not or not fully checked",
                                       CountText(unchecked_count_, "array")),
                           Style::kYellow);
    }
    if (unread_ > 0) {
      line += "; " + Paint(fmt::format("{} could not be read or checked", unread_), Style::kRed);
    }
    if (complete && damaged_ == 0 && unread_ + unchecked_count_ > 0) {
      line += "; the lines above say why: what they name may be damaged all the same";
    }
    Print("{}\n", line);
  }

  const TargetNode& target_;
  const bool json_;
  unsigned jobs_ = 1;
  bool counting_ = false;
  Progress* progress_ = nullptr;  // while CheckAll runs

  std::atomic<uint64_t> objects_{0};
  std::atomic<uint64_t> chunks_{0};
  std::atomic<uint64_t> bytes_{0};  // encoded, of chunks that were decoded
  uint64_t arrays_ = 0;             // of the walking thread

  std::mutex mutex_;  // the lines, and:
  uint64_t damaged_ = 0;
  uint64_t unread_ = 0;
  uint64_t unchecked_count_ = 0;
  uint64_t not_listed_ = 0;
  Json damage_ = Json::array();
  Json unchecked_ = Json::array();
};

}  // namespace

int RunVerify(const VerifyOptions& options) {
  const auto target = FindNode(options.store, options.path);
  if (!target) return Complain(target.error());
  return Verification(*target, options).Run();
}

}  // namespace zarrfs::ctl
