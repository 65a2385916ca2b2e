#include "zarrcore/icechunk/virtual_objects.h"

#include <utility>

#include "zarrcore/icechunk/parts.h"

namespace zarrfs {
namespace {

// The capacity in bytes of the cache of object versions, and the approximate size of a cached
// version without its strings.
constexpr size_t kBytesOfVersions = 1u << 20;
constexpr size_t kBytesOfVersion = 512;

// The version of a chunk includes the location of its object. Another commit may refer to another
// object with the same ETag, time and size.
ObjectInfo InfoOfVirtual(const IcechunkVirtualChunk& chunk, ObjectInfo object) {
  object.may_change_elsewhere = true;  // no watch covers the object
  const uint64_t size = chunk.size(object.size());
  return IcechunkInfoOfPart(std::move(object), size,
                            fmt::format("virtual {} {}", chunk.reference.offset, chunk.location));
}

Result<void> CheckObject(const IcechunkVirtualChunk& chunk, const Version& version) {
  if (chunk.reference.modified != 0 && version.mtime_ns == 0) {
    return Fail(ErrorCode::kIo,
                "{}: whether the file has changed is unknown: the reference has a time, and the "
                "server sends none",
                WhatIs(chunk));
  }
  return CheckVirtualChunk(chunk, version, version.etag);
}

}  // namespace

class IcechunkVirtualObjects::Loader final : public Cache::Loader {
 public:
  Loader(const Store& store, const std::string& key) : store_(store), key_(key) {}

  Result<Revalidation> Revalidate(const KnownPtr& known) override {
    known_ = known;
    return Revalidation::kUnknown;  // Load() compares the versions
  }
  Result<Cache::Loaded> Load() override {
    const auto answer = store_.Read(key_, ByteRange::At(0, 0), {});
    if (!answer) return Fail(answer);
    const Version& version = answer->object->info().version;
    const bool is_known = known_ != nullptr && known_->object->info().version == version;
    auto loaded = is_known ? known_ : std::make_shared<const Known>(answer->object);
    return Cache::Loaded{std::move(loaded),
                         kBytesOfVersion + 2 * key_.size() + version.etag.size()};
  }
  bool IsRacy(const Known& known) override { return zarrfs::IsRacy(store_, known.object->info()); }

 private:
  const Store& store_;
  const std::string& key_;
  KnownPtr known_;
};

// One version of an object. If a read finds that the object has changed, the version is removed
// from the cache.
class IcechunkVirtualObjects::OneVersion final : public Object {
 public:
  OneVersion(std::shared_ptr<Cache> cache, std::string key, KnownPtr known)
      : cache_(std::move(cache)), key_(std::move(key)), known_(std::move(known)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return known_->object->info(); }
  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const override {
    auto read = known_->object->Read(offset, out);
    if (!read && read.error().code == ErrorCode::kStale) cache_->Erase(key_, known_);
    return read;
  }

 private:
  const std::shared_ptr<Cache> cache_;
  const std::string key_;
  const KnownPtr known_;
};

IcechunkVirtualObjects::IcechunkVirtualObjects(std::shared_ptr<const Store> store, Age max_age)
    : store_(std::move(store)),
      max_age_(max_age),
      cache_(std::make_shared<Cache>(store_, kBytesOfVersions)) {}

Result<IcechunkVirtualObjects::KnownPtr> IcechunkVirtualObjects::Find(
    const IcechunkVirtualChunk& chunk, const std::string& key) const {
  // If the object has the ETag in the reference, its bytes are those that the reference means, so a
  // cached version of any age will do. A weak ETag does not prove this.
  const std::string_view etag = chunk.reference.etag;
  const bool says_bytes = !etag.empty() && !etag.starts_with("W/");
  Result<void> checked;
  for (const Age max_age : {says_bytes ? kAnyAge : max_age_, Age{0}}) {
    Loader loader(*store_, key);
    auto known = cache_->Get(key, max_age, loader).value;
    if (!known) return tl::unexpected(ErrorOfVirtualFile(chunk, known.error()));
    checked = CheckObject(chunk, (*known)->object->info().version);
    if (checked) return known;
    cache_->Erase(key, *known);  // the cached version may be outdated
  }
  return Fail(checked);
}

Result<ObjectInfo> IcechunkVirtualObjects::Stat(const IcechunkVirtualChunk& chunk,
                                                const std::string& key) const {
  const auto known = Find(chunk, key);
  return known ? InfoOfVirtual(chunk, (*known)->object->info()) : Result<ObjectInfo>(Fail(known));
}

Result<ReadAnswer> IcechunkVirtualObjects::Read(const IcechunkVirtualChunk& chunk,
                                                const std::string& key, const ByteRange& range,
                                                std::span<std::byte> out) const {
  auto known = Find(chunk, key);
  if (!known) return Fail(known);
  ObjectInfo info = InfoOfVirtual(chunk, (*known)->object->info());
  auto object = std::make_shared<OneVersion>(cache_, key, *std::move(known));
  auto answer = ReadFrom(MakePartOfObject(std::move(info), std::string(chunk.key),
                                          std::move(object), chunk.reference.offset),
                         range, out);
  // Return kStale unchanged, because the caller then tries again.
  const bool is_error = !answer && answer.error().code != ErrorCode::kStale;
  return is_error ? tl::unexpected(ErrorOfVirtualFile(chunk, answer.error())) : std::move(answer);
}

}  // namespace zarrfs
