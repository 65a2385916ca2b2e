#include "zarrcore/open/recent_failures.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/clocks.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {
namespace {

constexpr size_t kBytesOfFailures = 256u << 10;

struct Failure {
  Error error;
  int64_t until_ns;
};

// The failures that a RecentFailures store has seen, shared with its objects and streams.
// Thread-safe.
class Failures {
 public:
  explicit Failures(RecentFailuresTimes times) : times_(times) {}

  /// Runs `call`, a request for `key`, and returns its result. If the request would probably fail
  /// after a long wait, fails immediately instead.
  template <typename Call>
  auto Try(std::string_view key, const Call& call) -> decltype(call()) {
    const int64_t begun_ns = SteadyNowNs();
    if (auto known = Find(key, begun_ns)) return tl::unexpected(*std::move(known));
    auto result = call();
    if (result) {
      answered_ns_ = SteadyNowNs();
    } else {
      OnFailure(key, result.error(), begun_ns);
    }
    return result;
  }

 private:
  std::optional<Error> Find(std::string_view key, int64_t now_ns) {
    if (now_ns >= until_ns_) return std::nullopt;
    const auto known = of_keys_.Get(std::string(key));
    if (known != nullptr && now_ns < known->until_ns) return known->error;
    const MutexLock lock(mutex_);
    if (now_ns >= all_until_ns_ || answered_ns_ > all_begun_ns_) return std::nullopt;
    return Error{latest_.code, fmt::format("{}: not requested after {}", key, latest_.message)};
  }
  void OnFailure(std::string_view key, const Error& error, int64_t begun_ns) {
    if (error.code != ErrorCode::kTimedOut && error.code != ErrorCode::kIo) {
      // kNotFound and kPermissionDenied are answers of the server. Other codes do not show that the
      // server has answered.
      const bool is_answer =
          error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermissionDenied;
      if (is_answer) answered_ns_ = SteadyNowNs();
      return;
    }
    const int64_t now_ns = SteadyNowNs();
    const int64_t took_ns = now_ns - begun_ns;
    if (took_ns < times_.costly_ns) return;
    const int64_t until_ns = now_ns + std::min(took_ns, times_.max_hold_ns);
    const std::string name(key);
    of_keys_.Put(name, std::make_shared<const Failure>(Failure{error, until_ns}),
                 256 + 2 * name.capacity() + error.message.capacity());
    const MutexLock lock(mutex_);
    latest_ = error;
    all_begun_ns_ = begun_ns;
    all_until_ns_ = now_ns + times_.hold_all_ns;
    until_ns_ = std::max({until_ns_.load(), until_ns, all_until_ns_});
  }

  const RecentFailuresTimes times_;
  LruCache<std::string, Failure> of_keys_{kBytesOfFailures, 1};
  std::atomic<int64_t> answered_ns_ = 0;  // when the latest request was answered
  std::atomic<int64_t> until_ns_ = 0;     // when the last remembered failure expires
  Mutex mutex_;
  Error latest_ GUARDED_BY(mutex_){};
  int64_t all_begun_ns_ GUARDED_BY(mutex_) = 0;
  int64_t all_until_ns_ GUARDED_BY(mutex_) = 0;
};

class TriedObject final : public Object {
 public:
  TriedObject(std::shared_ptr<const Object> object, std::shared_ptr<Failures> failures,
              std::string_view key)
      : object_(std::move(object)), failures_(std::move(failures)), key_(key) {}

  const ObjectInfo& info() const override { return object_->info(); }
  bool was_listed() const override { return object_->was_listed(); }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    return failures_->Try(key_, [&] { return object_->Read(offset, out); });
  }

 private:
  const std::shared_ptr<const Object> object_;
  const std::shared_ptr<Failures> failures_;
  const std::string key_;
};

class TriedStream final : public FolderStream {
 public:
  TriedStream(std::unique_ptr<FolderStream> stream, std::shared_ptr<Failures> failures,
              std::string_view folder)
      : stream_(std::move(stream)), failures_(std::move(failures)), folder_(folder) {}

  Result<std::vector<ListEntry>> Next(size_t count) override {
    auto names = failures_->Try(folder_, [&] { return stream_->Next(count); });
    if (!names) return names;
    for (ListEntry& entry : *names) {
      if (entry.listed == nullptr) continue;
      auto object = std::make_shared<TriedObject>(entry.listed->object, failures_,
                                                  JoinKey(folder_, entry.name));
      entry.listed = std::make_shared<const ListedObject>(
          ListedObject{std::move(object), entry.listed->asked_ns});
    }
    return names;
  }

 private:
  const std::unique_ptr<FolderStream> stream_;
  const std::shared_ptr<Failures> failures_;
  const std::string folder_;
};

class RecentFailures final : public ForwardingStore {
 public:
  RecentFailures(std::shared_ptr<const Store> store, RecentFailuresTimes times)
      : ForwardingStore(std::move(store)), failures_(std::make_shared<Failures>(times)) {}

  Result<ObjectInfo> Stat(std::string_view key) const override {
    return failures_->Try(key, [&] { return ForwardingStore::Stat(key); });
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    auto answer = failures_->Try(key, [&] { return ForwardingStore::Read(key, range, out); });
    if (answer) {
      answer->object = std::make_shared<TriedObject>(std::move(answer->object), failures_, key);
    }
    return answer;
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    auto stream = failures_->Try(folder, [&] { return ForwardingStore::OpenFolder(folder); });
    if (!stream) return stream;
    return std::make_unique<TriedStream>(*std::move(stream), failures_, folder);
  }

 private:
  const std::shared_ptr<Failures> failures_;
};

}  // namespace

std::shared_ptr<Store> RememberFailures(std::shared_ptr<const Store> store,
                                        RecentFailuresTimes times) {
  return std::make_shared<RecentFailures>(std::move(store), times);
}

}  // namespace zarrfs
