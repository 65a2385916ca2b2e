// The answers that RecentAnswers remembers: documents, versions of other objects, keys that do not
// exist, and listings.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/open/first_bytes.h"
#include "zarrcore/store/store.h"

namespace zarrfs::recent {

inline constexpr size_t kAllBytes = 16u << 20;  // maximum memory of all remembered documents
inline constexpr size_t kListedBytes = 4u << 20;
// Documents above this size are not remembered.
inline constexpr uint64_t kMaxBytes = 8u << 20;
// A read of fewer bytes than this that does not reach the end of the object counts as reading a
// header only, which a program does to learn the size of a file.
inline constexpr size_t kLeastRead = 4096;
// After this many listed objects turned out to have another version, versions in listings are no
// longer used.
inline constexpr int kMaxStale = 8;

struct Text {
  std::string bytes;
  MemoryBudget::Share memory;
};

struct Remembered {
  int64_t asked_ns = 0;            // SteadyNowNs() before the request
  std::optional<ObjectInfo> info;  // nullopt if the object does not exist
  bool is_racy = false;
  std::shared_ptr<const Text> text;      // a document's text; null if only `info` is known
  std::shared_ptr<const Object> object;  // null for a document or a missing object
  bool was_listed = false;               // true if the version of `object` is from a listing

  [[nodiscard]] bool is_too_large() const { return info && info->size() > kMaxBytes; }
  [[nodiscard]] std::optional<int64_t> changed_ns() const {
    return info && !is_racy ? std::optional(info->version.ctime_ns) : std::nullopt;
  }
};

class RememberedObject final : public Object {
 public:
  RememberedObject(std::string_view key, ObjectInfo info, std::shared_ptr<const Text> text)
      : key_(key), info_(std::move(info)), text_(std::move(text)) {}

  const ObjectInfo& info() const override { return info_; }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    const auto bytes = std::as_bytes(std::span(text_->bytes));
    if (offset > bytes.size() || out.size() > bytes.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: expected {} bytes from {}, found {} in all", key_,
                  out.size(), offset, bytes.size());
    }
    std::ranges::copy(bytes.subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  const std::string key_;
  const ObjectInfo info_;
  const std::shared_ptr<const Text> text_;
};

struct Listing {
  int64_t asked_ns = 0;
  bool is_whole = true;  // false if `names` is empty because the folder has too many
  std::vector<ListEntry> names;
};
using Listings = LruCache<std::string, Listing>;

using Documents = LruCache<std::string, Remembered>;

inline size_t ChargeOf(const std::string& key) {
  constexpr size_t kOfObject = 512;  // estimated bytes for an Object with its version
  return sizeof(Remembered) + 128 + 2 * key.capacity() + kOfObject;
}

// The state shared by a RecentAnswers store, its objects and its streams.
struct Memory {
  Documents documents{kAllBytes};  // also other objects, and keys that do not exist
  FirstBytes first_bytes;
  Listings listings{kListedBytes};
  // kYes if listings are known to report the same versions as requests for the objects. Otherwise,
  // listed versions must not be used, because each listed object would look replaced.
  enum class Trust { kUnknown, kYes, kNo };
  std::atomic<Trust> listed_versions = Trust::kUnknown;
  std::atomic<int> stale = 0;  // the number of listed objects that turned out to be replaced

  // Forgets an object that was replaced. Listings may report some versions in a different form than
  // requests for the objects do, so after kMaxStale replaced objects that were listed, listed
  // versions are not used.
  void OnStale(const std::string& key, bool was_listed) {
    documents.Erase(key);
    if (!was_listed || ++stale < kMaxStale) return;
    listed_versions = Trust::kNo;
    documents.Clear();
  }
};

// How the caller got a KnownObject: by a read or from memory (kNotOpened), or by opening the object
// with its first bytes (kRequested) or without them (kNotRequested).
enum class Begin { kNotOpened, kRequested, kNotRequested };

// An object whose first bytes may be cached. The object is forgotten when a read finds it replaced.
class KnownObject final : public Object {
 public:
  KnownObject(std::shared_ptr<const Object> object, std::shared_ptr<Memory> memory, std::string key,
              bool was_listed, Begin begin = Begin::kNotOpened)
      : object_(std::move(object)),
        memory_(std::move(memory)),
        key_(std::move(key)),
        was_listed_(was_listed),
        came_with_first_bytes_(begin != Begin::kNotOpened),
        is_without_bytes_(begin == Begin::kNotRequested) {}

  const ObjectInfo& info() const override { return object_->info(); }
  bool was_listed() const override { return was_listed_; }
  bool came_with_first_bytes() const override { return came_with_first_bytes_; }
  Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    const uint64_t size = info().size();
    const bool is_header = out.size() < kLeastRead && offset + out.size() < size;
    if (!is_header && is_without_bytes_.exchange(false)) memory_->first_bytes.OnReadWithout(size);
    if (offset <= size && out.size() <= size - offset) {
      const size_t known = memory_->first_bytes.Read(key_, info().version, offset, out);
      offset += known;
      out = out.subspan(known);
      if (known > 0 && out.empty()) return {};
    }
    auto read = object_->Read(offset, out);
    if (!read && read.error().code == ErrorCode::kStale) memory_->OnStale(key_, was_listed_);
    return read;
  }

 private:
  const std::shared_ptr<const Object> object_;
  const std::shared_ptr<Memory> memory_;
  const std::string key_;
  const bool was_listed_;
  const bool came_with_first_bytes_;
  mutable std::atomic<bool> is_without_bytes_;
};

}  // namespace zarrfs::recent
