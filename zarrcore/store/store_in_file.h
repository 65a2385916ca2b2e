// StoreInFile<File>: base class of stores that are made from one object of another store, the
// container. The object is called "the file" here. Derived classes implement the format of the
// file, such as zip or a reference set.
//
// The parsed file is cached. The file is parsed again after it was replaced. If it no longer
// exists, every call fails with kNotFound; if it is damaged, with kIo.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/store/forwarding_store.h"
#include "zarrcore/store/object_watch.h"
#include "zarrcore/store/revalidating_cache.h"

namespace zarrfs {

/// `File` is one version of the file, parsed. It has the members
///   std::shared_ptr<const Object> object;                     // the file
///   mutable Freshness freshness;                              // set by RevalidatingCache
///   static Result<std::shared_ptr<const File>> Read(const Store& container, std::string_view key);
/// Thread-safe, like every store.
template <typename File>
class StoreInFile : public ForwardingStore {
 public:
  std::optional<ObjectInfo> FolderOfKeys() const final { return std::nullopt; }

  [[nodiscard]] Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                                        std::span<std::byte> out) const final {
    for (int tries = 1;; ++tries) {
      // After kStale, the file must be checked again, even if it was checked recently.
      auto answer = ReadOnce(key, range, out, tries == 1 ? max_age_ : Age{0});
      const bool is_stale = !answer && answer.error().code == ErrorCode::kStale;
      if (!is_stale || tries == kMaxReads) return answer;
    }
  }

  // Only changes of the file are reported. Other changes in the file's folder do not concern this
  // store.
  [[nodiscard]] Result<void> StartWatching(
      ChangeListener listener, std::function<void(std::string_view)> report) const final {
    return watch_.Start(*container_, key_, std::move(listener), std::move(report));
  }
  [[nodiscard]] uint64_t Watch(std::string_view /*folder*/) const final {
    const uint64_t count = change_count();
    return container_->Watch(FolderOf(key_)) == 0 ? 0 : count;
  }
  [[nodiscard]] uint64_t change_count() const final { return watch_.count(*container_); }

  [[nodiscard]] std::string name() const override { return Place(); }

 protected:
  using FilePtr = std::shared_ptr<const File>;

  /// `max_age`: if the file cannot be watched, how long after a check the file is assumed to be
  /// unchanged.
  StoreInFile(std::shared_ptr<const Store> container, std::string key, Age max_age)
      : ForwardingStore(container),
        container_(std::move(container)),
        key_(std::move(key)),
        max_age_(max_age),
        files_(container_, /*capacity_bytes=*/1, /*splits=*/1) {}

  /// Like Store::Read(), from a version of the file that was current at most `max_age` ago.
  [[nodiscard]] virtual Result<ReadAnswer> ReadOnce(std::string_view key, ByteRange range,
                                                    std::span<std::byte> out,
                                                    Age max_age) const = 0;

  /// Returns a version of the file that was current at most `max_age` ago.
  [[nodiscard]] Result<FilePtr> Current(Age max_age) const {
    Loader loader(*container_, key_);
    auto file = files_.Get(0, max_age, loader).value;
    if (file) return file;
    // kDamaged is reserved for damaged Zarr objects. Damage of the file is an I/O error of the
    // store.
    const ErrorCode code = file.error().code;
    return Fail(code == ErrorCode::kDamaged ? ErrorCode::kIo : code, "{}: {}", Place(),
                file.error().message);
  }

  /// The path or address of the file.
  [[nodiscard]] std::string Place() const {
    const std::string folder = container_->name();
    return folder.ends_with('/') ? folder + key_ : JoinKey(folder, key_);
  }

  [[nodiscard]] const Store& container() const { return *container_; }
  [[nodiscard]] Age max_age() const { return max_age_; }

 private:
  // Maximum attempts to read from the file while it is being replaced.
  static constexpr int kMaxReads = 4;

  using Files = RevalidatingCache<int, File>;

  class Loader final : public Files::Loader {
   public:
    Loader(const Store& container, const std::string& key) : container_(container), key_(key) {}

    Validity Watch() override { return Validity::Watch(container_, FolderOf(key_)); }

    Result<Revalidation> Revalidate(const typename Files::ValuePtr& known) override {
      const auto info = container_.Stat(key_);
      if (!info) return Fail(info);
      return info->version == known->object->info().version ? Revalidation::kCurrent
                                                            : Revalidation::kReplaced;
    }

    Result<typename Files::Loaded> Load() override {
      auto file = File::Read(container_, key_);
      if (!file) return Fail(file);
      return typename Files::Loaded{*std::move(file), 1};
    }

    Validity ValidityOf(const File& file, Validity watched) override {
      return file.object->info().may_change_elsewhere ? Validity() : watched;
    }
    bool IsRacy(const File& file) override {
      return zarrfs::IsRacy(container_, file.object->info());
    }

   private:
    const Store& container_;
    const std::string& key_;
  };

  const std::shared_ptr<const Store> container_;
  const std::string key_;
  const Age max_age_;
  const ObjectWatch watch_;
  mutable Files files_;
};

}  // namespace zarrfs
