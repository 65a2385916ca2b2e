#include "zarrcore/icechunk/parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

class Part : public Object {
 public:
  Part(ObjectInfo info, std::string key) : info_(std::move(info)), key_(std::move(key)) {}

  [[nodiscard]] const ObjectInfo& info() const final { return info_; }
  [[nodiscard]] Result<void> Read(uint64_t offset, std::span<std::byte> out) const final {
    if (offset > info_.size() || out.size() > info_.size() - offset) {
      return Fail(ErrorCode::kDamaged, "{}: ends early: expected {} bytes at {}, found {} in all",
                  key_, out.size(), offset, info_.size());
    }
    return ReadInside(offset, out);
  }

 private:
  [[nodiscard]] virtual Result<void> ReadInside(uint64_t offset,
                                                std::span<std::byte> out) const = 0;

  const ObjectInfo info_;
  const std::string key_;
};

class PartInMemory final : public Part {
 public:
  PartInMemory(ObjectInfo info, std::string key, std::shared_ptr<const void> owner,
               std::string_view bytes)
      : Part(std::move(info), std::move(key)), owner_(std::move(owner)), bytes_(bytes) {}

 private:
  [[nodiscard]] Result<void> ReadInside(uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

  const std::shared_ptr<const void> owner_;
  const std::string_view bytes_;
};

class PartOfObject final : public Part {
 public:
  PartOfObject(ObjectInfo info, std::string key, std::shared_ptr<const Object> whole,
               uint64_t begin)
      : Part(std::move(info), std::move(key)), whole_(std::move(whole)), begin_(begin) {}

 private:
  [[nodiscard]] Result<void> ReadInside(uint64_t offset, std::span<std::byte> out) const override {
    return whole_->Read(begin_ + offset, out);
  }

  const std::shared_ptr<const Object> whole_;
  const uint64_t begin_;
};

class PartToRead final : public Part {
 public:
  PartToRead(ObjectInfo info, std::string key, std::shared_ptr<const Store> container,
             std::string whole, uint64_t begin)
      : Part(std::move(info), key),
        key_(std::move(key)),
        container_(std::move(container)),
        whole_(std::move(whole)),
        begin_(begin) {}

 private:
  [[nodiscard]] Result<void> ReadInside(uint64_t offset, std::span<std::byte> out) const override {
    MutexLock lock(mutex_);
    const auto object = object_;
    lock.unlock();
    if (object != nullptr) return object->Read(begin_ + offset, out);
    const auto answer = container_->Read(whole_, ByteRange::At(begin_ + offset, out.size()), out);
    if (!answer) return tl::unexpected(IcechunkErrorOfObject(key_, whole_, answer.error()));
    auto holds =
        CheckIcechunkPart(key_, whole_, answer->object->info().size(), begin_ + info().size());
    if (!holds) return holds;
    if (answer->length < out.size()) return answer->object->Read(begin_ + offset, out);
    lock.lock();
    object_ = answer->object;
    return {};
  }

  const std::string key_;
  const std::shared_ptr<const Store> container_;
  const std::string whole_;
  const uint64_t begin_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Object> object_ GUARDED_BY(mutex_);  // set by the first read
};

}  // namespace

ObjectInfo IcechunkInfoOfPart(ObjectInfo file, uint64_t size, std::string_view what) {
  file.version.size = size;
  file.version.etag.append(" ").append(what);
  file.mode &= 0666U;
  return file;
}

ObjectInfo IcechunkInfoOfFolder(ObjectInfo info) {
  info.version.size = 0;
  info.version.etag += " folder";
  info.is_folder = true;
  info.mode = (info.mode & 0666U) | (info.mode & 0444U) >> 2;
  return info;
}

std::shared_ptr<const Object> MakePartInMemory(ObjectInfo info, std::string key,
                                               std::shared_ptr<const void> owner,
                                               std::string_view bytes) {
  return std::make_shared<PartInMemory>(std::move(info), std::move(key), std::move(owner), bytes);
}

std::shared_ptr<const Object> MakePartOfObject(ObjectInfo info, std::string key,
                                               std::shared_ptr<const Object> whole,
                                               uint64_t begin) {
  return std::make_shared<PartOfObject>(std::move(info), std::move(key), std::move(whole), begin);
}

std::shared_ptr<const Object> MakePartToRead(ObjectInfo info, std::string key,
                                             std::shared_ptr<const Store> container,
                                             std::string whole, uint64_t begin) {
  return std::make_shared<PartToRead>(std::move(info), std::move(key), std::move(container),
                                      std::move(whole), begin);
}

Error IcechunkErrorOfObject(std::string_view key, std::string_view whole, const Error& error) {
  if (error.code == ErrorCode::kNotFound) {
    return {ErrorCode::kIo,
            fmt::format("{}: its object {} is missing in the repository (collected as garbage, or "
                        "not copied)",
                        key, whole)};
  }
  return {error.code, fmt::format("{}: {}", key, error.message)};
}

Result<void> CheckIcechunkPart(std::string_view key, std::string_view whole, uint64_t size,
                               uint64_t end) {
  if (size >= end) return {};
  return Fail(ErrorCode::kIo, "{}: {} ends early: expected {} bytes, found {}", key, whole, end,
              size);
}

ByteRange PartAskedFor(const ByteRange& range, uint64_t size, size_t room) {
  const uint64_t offset =
      range.from_end ? size - std::min(size, range.length) : std::min(size, range.offset);
  return ByteRange::At(offset, std::min({range.length, size - offset, uint64_t{room}}));
}

Result<ReadAnswer> ReadFrom(std::shared_ptr<const Object> object, const ByteRange& range,
                            std::span<std::byte> out) {
  const ByteRange part = PartAskedFor(range, object->info().size(), out.size());
  const auto length = static_cast<size_t>(part.length);
  if (auto read = object->Read(part.offset, out.first(length)); !read) return Fail(read);
  return ReadAnswer{std::move(object), part.offset, length};
}

}  // namespace zarrfs
