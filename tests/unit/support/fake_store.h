// FakeStore: a Store in memory. Tests can count its calls, delay or block them, and make them fail
// or return other bytes.
//
// It behaves like a local folder. Folders exist once something is below them, and remain when that
// is removed. Put() replaces an object like a rename: the inode is new, and old Objects still read
// the old bytes. RewriteInPlace() keeps the inode and makes old Objects stale. Times start in 2020
// and advance by a second per change, so no version is racy unless SetVersion() makes it so.
//
//   FakeStore store;
//   store.Put("a/c/0", "shard bytes");
//   store.FailWith(FakeStore::Call::kRead, "a/c", {ErrorCode::kIo, "cable pulled"});
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "zarrcore/store/store.h"

namespace zarrfs {

class FakeStore final : public Store {
 public:
  enum class Call { kStat, kRead, kList, kObjectRead };
  static constexpr std::array kAllCalls = {Call::kStat, Call::kRead, Call::kList,
                                           Call::kObjectRead};

  FakeStore() { state_->Folder(""); }

  // --- Contents ----------------------------------------------------------------------------------

  /// Creates the object, or replaces it like a rename.
  void Put(std::string_view key, std::string_view bytes) {
    const Change change(*state_);
    Entry entry;
    entry.info.version = state_->NewVersion(bytes.size());
    entry.bytes = std::make_shared<const std::string>(bytes);
    state_->Add(std::string(key), std::move(entry));
  }

  void PutFolder(std::string_view key) {
    const Change change(*state_);
    state_->Folder(std::string(key));
  }

  /// Replaces the bytes under the same inode, like a program that opens the file for writing.
  void RewriteInPlace(std::string_view key, std::string_view bytes) {
    const Change change(*state_);
    state_->changes.keys.emplace_back(key);
    Entry& entry = state_->entries.at(std::string(key));
    const uint64_t inode = entry.info.version.inode;
    entry.info.version = state_->NewVersion(bytes.size());
    entry.info.version.inode = inode;
    entry.bytes = std::make_shared<const std::string>(bytes);
  }

  /// Adds an entry that is listed as refused. All calls for the entry, or for keys below it, fail
  /// with `error`.
  void PutRefused(std::string_view key, const Error& error, bool is_folder = false) {
    Put(key, "");
    const std::lock_guard lock(state_->mutex);
    Entry& entry = state_->entries.at(std::string(key));
    entry.is_refused = true;
    entry.info.is_folder = is_folder;
    for (const Call call : kAllCalls) state_->faults[{call, std::string(key)}].error = error;
  }

  /// Removes an object, or a folder with everything below it.
  void Remove(std::string_view key) {
    const Change change(*state_);
    // Reports the entries of a folder before the folder itself.
    const auto end = state_->entries.end();
    for (auto at = state_->entries.lower_bound(std::string(key)); at != end;) {
      if (!at->first.starts_with(key)) break;
      const bool goes = at->first == key || IsBelow(at->first, key);
      if (goes) state_->changes.keys.insert(state_->changes.keys.begin(), at->first);
      at = goes ? state_->entries.erase(at) : std::next(at);
    }
    state_->Touch(ParentOf(std::string(key)));
  }

  /// Moves the whole store away, or back unchanged.
  void SetGone(bool gone) {
    const Change change(*state_);
    if (gone != state_->away.empty()) return;
    state_->entries.swap(state_->away);
    ++state_->versions;
    state_->changes.all = true;
  }

  /// Gives an object or folder another version, but keeps its size.
  void SetVersion(std::string_view key, Version version) {
    const std::lock_guard lock(state_->mutex);
    Entry& entry = state_->entries.at(std::string(key));
    version.size = entry.info.version.size;
    entry.info.version = std::move(version);
  }

  /// Sets mode, uid and gid of an object or folder.
  void SetOwner(std::string_view key, uint32_t mode, uint32_t uid, uint32_t gid) {
    const std::lock_guard lock(state_->mutex);
    ObjectInfo& info = state_->entries.at(std::string(key)).info;
    info.mode = mode;
    info.uid = uid;
    info.gid = gid;
  }

  /// If true, old Objects of replaced or removed keys fail with kStale, as in a store without
  /// descriptors.
  void SetReplacedIsStale(bool stale) {
    const std::lock_guard lock(state_->mutex);
    state_->replaced_is_stale = stale;
  }

  void SetAnswersFast(bool fast) {
    const std::lock_guard lock(state_->mutex);
    state_->answers_fast = fast;
  }

  void SetTimestampGranularityNs(int64_t granularity) {
    const std::lock_guard lock(state_->mutex);
    state_->granularity_ns = granularity;
  }

  /// If true, the store counts changes (Store::change_count()), can watch every folder, and reports
  /// changes to the listener of StartWatching(), on the thread that makes them.
  void SetCountsChanges(bool counts) {
    const std::lock_guard lock(state_->mutex);
    state_->counts_changes = counts;
  }

  // --- Faults, for keys that start with `prefix` -------------------------------------------------
  // If several apply, a call first waits, then fails, then returns other or fewer bytes.

  void FailWith(Call call, std::string_view prefix, Error error) {
    Add(call, prefix, [&](Fault& fault) { fault.error = std::move(error); });
  }
  void FailAllWith(std::string_view prefix, const Error& error) {
    for (const Call call : kAllCalls) FailWith(call, prefix, error);
  }

  void Delay(Call call, std::string_view prefix, std::chrono::milliseconds delay) {
    Add(call, prefix, [&](Fault& fault) { fault.delay = delay; });
  }

  /// These calls do not return before Release().
  void Block(Call call, std::string_view prefix) {
    Add(call, prefix, [](Fault& fault) { fault.blocks = true; });
  }
  void Release() {
    const std::lock_guard lock(state_->mutex);
    for (auto& [where, fault] : state_->faults) fault.blocks = false;
    state_->changed.notify_all();
  }

  /// Objects end after `bytes` bytes, although their sizes do not change. Reads of bytes beyond
  /// fail with kDamaged.
  void Shorten(std::string_view prefix, size_t bytes) {
    for (const Call call : {Call::kRead, Call::kObjectRead}) {
      Add(call, prefix, [&](Fault& fault) { fault.ends_at = bytes; });
    }
  }

  /// Reads return `bytes`, repeated to the object's size. Version and size do not change.
  void AnswerWith(std::string_view prefix, std::string_view bytes) {
    for (const Call call : {Call::kRead, Call::kObjectRead}) {
      Add(call, prefix, [&](Fault& fault) { fault.other_bytes = std::string(bytes); });
    }
  }

  /// Listings return `names` names, then fail with kIo.
  void EndListings(std::string_view prefix, size_t names) {
    Add(Call::kList, prefix, [&](Fault& fault) { fault.listing_ends_at = names; });
  }

  /// Removes all faults. Blocked calls continue.
  void ClearFaults() {
    const std::lock_guard lock(state_->mutex);
    state_->faults.clear();
    state_->changed.notify_all();
  }

  // --- Counters ----------------------------------------------------------------------------------

  /// The number of calls, including failed ones.
  [[nodiscard]] uint64_t count(Call call) const {
    const std::lock_guard lock(state_->mutex);
    return state_->counts[Index(call)];
  }
  /// The number of calls for keys that start with `prefix`.
  [[nodiscard]] uint64_t count(Call call, std::string_view prefix) const {
    const std::lock_guard lock(state_->mutex);
    uint64_t sum = 0;
    for (const auto& [where, number] : state_->counts_by_key) {
      if (where.first == call && where.second.starts_with(prefix)) sum += number;
    }
    return sum;
  }
  [[nodiscard]] uint64_t total_count() const {
    uint64_t sum = 0;
    for (const Call call : kAllCalls) sum += count(call);
    return sum;
  }
  [[nodiscard]] uint64_t bytes_read() const {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes_read;
  }
  [[nodiscard]] uint64_t names_listed() const {
    const std::lock_guard lock(state_->mutex);
    return state_->names_listed;
  }
  void ResetCounts() {
    const std::lock_guard lock(state_->mutex);
    state_->names_listed = 0;
    state_->counts = {};
    state_->counts_by_key.clear();
    state_->bytes_read = 0;
  }

  /// Waits until `number` calls are blocked. False after 10 s.
  [[nodiscard]] bool WaitUntilBlocked(size_t number = 1) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, std::chrono::seconds(10),
                                    [&] { return state_->blocked >= number; });
  }

  // --- Store -------------------------------------------------------------------------------------

  [[nodiscard]] Result<ObjectInfo> Stat(std::string_view key) const override {
    std::unique_lock lock(state_->mutex);
    const Result<Fault> fault = state_->Begin(Call::kStat, key, lock);
    if (!fault) return Fail(fault);
    const auto found = state_->entries.find(std::string(key));
    if (found == state_->entries.end()) return Missing(key);
    return found->second.info;
  }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const override {
    std::unique_lock lock(state_->mutex);
    const Result<Fault> fault = state_->Begin(Call::kRead, key, lock);
    if (!fault) return Fail(fault);
    const auto found = state_->entries.find(std::string(key));
    if (found == state_->entries.end() || found->second.info.is_folder) return Missing(key);
    const Entry& entry = found->second;
    const uint64_t size = entry.bytes->size();
    const uint64_t offset =
        range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
    const uint64_t length = std::min({range.length, size - offset, uint64_t{out.size()}});
    const std::span<std::byte> wanted = out.first(static_cast<size_t>(length));
    if (const Result<void> copied = state_->Copy(key, *fault, *entry.bytes, offset, wanted);
        !copied) {
      return Fail(copied);
    }
    return ReadAnswer{std::make_shared<FakeObject>(state_, std::string(key), entry), offset,
                      static_cast<size_t>(length)};
  }

  [[nodiscard]] Result<std::unique_ptr<FolderStream>> OpenFolder(
      std::string_view folder) const override {
    std::unique_lock lock(state_->mutex);
    const Result<Fault> fault = state_->Begin(Call::kList, folder, lock);
    if (!fault) return Fail(fault);
    const auto found = state_->entries.find(std::string(folder));
    if (found == state_->entries.end() || !found->second.info.is_folder) return Missing(folder);
    return std::make_unique<FakeFolderStream>(state_, std::string(folder));
  }

  [[nodiscard]] bool AnswersFast() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->answers_fast;
  }

  [[nodiscard]] int64_t TimestampGranularityNs() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->granularity_ns;
  }

  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const override {
    const std::lock_guard lock(state_->mutex);
    if (!state_->counts_changes) return Store::StartWatching(listener, report);
    state_->listener = std::move(listener);
    return {};
  }
  [[nodiscard]] uint64_t Watch(std::string_view /*folder*/) const override {
    return change_count();
  }
  [[nodiscard]] uint64_t change_count() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->counts_changes ? state_->versions : 0;
  }

  [[nodiscard]] std::string name() const override { return "fake"; }

 private:
  struct Fault {
    std::optional<Error> error;
    std::optional<size_t> ends_at;
    std::optional<size_t> listing_ends_at;
    std::optional<std::string> other_bytes;
    std::chrono::milliseconds delay{0};
    bool blocks = false;
  };

  struct Entry {
    ObjectInfo info;
    std::shared_ptr<const std::string> bytes;  // null for a folder
    bool is_refused = false;
  };

  static constexpr size_t Index(Call call) { return static_cast<size_t>(call); }

  static std::string ParentOf(const std::string& key) {
    const size_t slash = key.rfind('/');
    return slash == std::string::npos ? "" : key.substr(0, slash);
  }

  static bool IsBelow(std::string_view key, std::string_view folder) {
    if (folder.empty()) return !key.empty();
    return key.size() > folder.size() && key.starts_with(folder) && key[folder.size()] == '/';
  }

  static tl::unexpected<Error> Missing(std::string_view key) {
    return Fail(ErrorCode::kNotFound, "{}: no such object", key);
  }

  // Shared with the Objects, which may outlive the store. `mutex` guards all members except
  // `changed`.
  struct State {
    mutable std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, Entry> entries;
    std::map<std::string, Entry> away;  // the entries while the store is gone
    Changes changes;                    // not reported yet
    ChangeListener listener;
    std::map<std::pair<Call, std::string>, Fault> faults;
    std::array<uint64_t, kAllCalls.size()> counts{};
    std::map<std::pair<Call, std::string>, uint64_t> counts_by_key;
    uint64_t bytes_read = 0;
    uint64_t names_listed = 0;
    uint64_t versions = 0;
    size_t blocked = 0;
    int64_t granularity_ns = 20'000'000;
    bool answers_fast = true;
    bool replaced_is_stale = false;
    bool counts_changes = false;

    Version NewVersion(uint64_t size) {
      constexpr int64_t kSecond = 1'000'000'000, kNewYear2020 = 1'577'836'800 * kSecond;
      const uint64_t number = ++versions;
      Version version;
      version.device = 1;
      version.inode = 100 + number;
      version.size = size;
      version.mtime_ns = kNewYear2020 + static_cast<int64_t>(number) * kSecond;
      version.ctime_ns = version.mtime_ns;
      return version;
    }

    void Touch(const std::string& folder) {
      const auto found = entries.find(folder);
      if (found == entries.end()) return;
      const uint64_t inode = found->second.info.version.inode;
      found->second.info.version = NewVersion(0);
      found->second.info.version.inode = inode;
    }

    void Add(std::string key, Entry entry) {
      if (!key.empty()) Folder(ParentOf(key));
      changes.keys.push_back(key);
      const bool is_new = entries.insert_or_assign(key, std::move(entry)).second;
      if (is_new && !key.empty()) Touch(ParentOf(key));
    }

    void Folder(const std::string& key) {
      if (const auto found = entries.find(key);
          found != entries.end() && found->second.info.is_folder) {
        return;
      }
      Entry folder;
      folder.info.version = NewVersion(0);
      folder.info.is_folder = true;
      folder.info.mode = 0555;
      Add(key, std::move(folder));
    }

    // Counts a call, and applies its delay and block. Releases the lock while it waits. Returns the
    // faults of the call, or fails with the error among them.
    Result<Fault> Begin(Call call, std::string_view key, std::unique_lock<std::mutex>& lock) {
      ++counts[Index(call)];
      ++counts_by_key[{call, std::string(key)}];
      if (!IsValidKey(key))
        return Fail(ErrorCode::kInvalidArgument, "\"{}\": not a valid key", key);
      if (const auto delay = Sum(call, key).delay; delay.count() > 0) {
        lock.unlock();
        std::this_thread::sleep_for(delay);
        lock.lock();
      }
      if (Sum(call, key).blocks) {
        ++blocked;
        changed.notify_all();
        changed.wait(lock, [&] { return !Sum(call, key).blocks; });
        --blocked;
      }
      Fault fault = Sum(call, key);
      if (fault.error) return tl::unexpected<Error>(*fault.error);
      return fault;
    }

    // Merges all faults whose prefix matches the key. If two conflict, the longer prefix wins.
    Fault Sum(Call call, std::string_view key) const {
      Fault sum;
      for (const auto& [where, fault] : faults) {
        if (where.first != call || !key.starts_with(where.second)) continue;
        if (fault.error) sum.error = fault.error;
        if (fault.ends_at) sum.ends_at = fault.ends_at;
        if (fault.listing_ends_at) sum.listing_ends_at = fault.listing_ends_at;
        if (fault.other_bytes) sum.other_bytes = fault.other_bytes;
        sum.delay = std::max(sum.delay, fault.delay);
        sum.blocks = sum.blocks || fault.blocks;
      }
      return sum;
    }

    Result<void> Copy(std::string_view key, const Fault& fault, const std::string& bytes,
                      uint64_t offset, std::span<std::byte> out) {
      const uint64_t end = std::min<uint64_t>(bytes.size(), fault.ends_at.value_or(bytes.size()));
      if (!out.empty() && (offset > end || out.size() > end - offset)) {
        return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {} in all",
                    key, out.size(), offset, end);
      }
      if (fault.other_bytes && !fault.other_bytes->empty()) {
        const std::string& other = *fault.other_bytes;
        for (size_t i = 0; i < out.size(); ++i) {
          out[i] = static_cast<std::byte>(other[(offset + i) % other.size()]);
        }
      } else if (!out.empty()) {
        std::memcpy(out.data(), bytes.data() + offset, out.size());
      }
      bytes_read += out.size();
      return {};
    }
  };

  // Holds the lock during a change to the store. Reports the change after releasing the lock.
  class Change {
   public:
    explicit Change(State& state) : state_(state) { state_.mutex.lock(); }
    ~Change() {
      const Changes changes = std::exchange(state_.changes, {});
      const ChangeListener listener = state_.counts_changes ? state_.listener : nullptr;
      state_.mutex.unlock();
      if (listener) listener(changes);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    State& state_;
  };

  class FakeObject final : public Object {
   public:
    FakeObject(std::shared_ptr<State> state, std::string key, Entry entry)
        : state_(std::move(state)), key_(std::move(key)), entry_(std::move(entry)) {}

    [[nodiscard]] const ObjectInfo& info() const override { return entry_.info; }

    [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
      std::unique_lock lock(state_->mutex);
      const Result<Fault> fault = state_->Begin(Call::kObjectRead, key_, lock);
      if (!fault) return Fail(fault);
      const auto found = state_->entries.find(key_);
      const Version* now = found == state_->entries.end() ? nullptr : &found->second.info.version;
      const bool same = now != nullptr && *now == entry_.info.version;
      const bool rewritten = now != nullptr && now->device == entry_.info.version.device &&
                             now->inode == entry_.info.version.inode && !same;
      if (rewritten || (!same && state_->replaced_is_stale)) {
        return Fail(ErrorCode::kStale, "{}: changed since it was opened", key_);
      }
      return state_->Copy(key_, *fault, *entry_.bytes, offset, out);
    }

   private:
    const std::shared_ptr<State> state_;
    const std::string key_;
    const Entry entry_;
  };

  // Lists names in order. Continues after the last name returned, regardless of changes.
  class FakeFolderStream final : public FolderStream {
   public:
    FakeFolderStream(std::shared_ptr<State> state, std::string folder)
        : state_(std::move(state)), folder_(std::move(folder)), last_(folder_) {}

    [[nodiscard]] Result<std::vector<ListEntry>> Next(size_t count) override {
      const std::lock_guard lock(state_->mutex);
      const Fault fault = state_->Sum(Call::kList, folder_);
      if (fault.error) return tl::unexpected<Error>(*fault.error);
      std::vector<ListEntry> names;
      for (auto at = state_->entries.upper_bound(last_);
           at != state_->entries.end() && at->first.starts_with(folder_) && names.size() < count;
           ++at) {
        const auto& [key, entry] = *at;
        if (key.empty() || ParentOf(key) != folder_) continue;
        if (fault.listing_ends_at && given_ >= *fault.listing_ends_at) {
          if (!names.empty()) break;
          return Fail(ErrorCode::kIo, "{}: made to fail after {} names", folder_, given_);
        }
        names.push_back({key.substr(folder_.empty() ? 0 : folder_.size() + 1), entry.info.is_folder,
                         entry.is_refused});
        last_ = key;
        ++given_;
      }
      state_->names_listed += names.size();
      return names;
    }

   private:
    const std::shared_ptr<State> state_;
    const std::string folder_;
    std::string last_;  // the key of the last name returned
    size_t given_ = 0;
  };

  template <typename Change>
  void Add(Call call, std::string_view prefix, Change&& change) {
    const std::lock_guard lock(state_->mutex);
    change(state_->faults[{call, std::string(prefix)}]);
  }

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace zarrfs
