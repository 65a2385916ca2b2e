// IcechunkCommitStore: a store whose keys belong to commits of one Icechunk repository. ReadAsOf()
// reads from commits that were served earlier, while the repository still has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "zarrcore/icechunk/commit_cache.h"
#include "zarrcore/icechunk/commit_reader.h"
#include "zarrcore/icechunk/steps.h"
#include "zarrcore/icechunk/virtual_folders.h"
#include "zarrcore/store/forwarding_store.h"

namespace zarrfs {

class IcechunkCommitStore : public ForwardingStore {
 public:
  IcechunkCommitStore(const std::shared_ptr<const Store>& container,
                      std::shared_ptr<const IcechunkVirtualChunks> virtual_chunks)
      : ForwardingStore(container),
        container_(container),
        reader_(container, std::move(virtual_chunks)),
        commits_(container) {}

  [[nodiscard]] const std::shared_ptr<const Store>& container() const { return container_; }

  Result<ObjectInfo> Stat(std::string_view key) const override {
    const auto found = Find(key);
    return found ? reader_.Stat(*found) : Fail(found);
  }
  Result<ReadAnswer> Read(std::string_view key, ByteRange range,
                          std::span<std::byte> out) const override {
    const auto found = Find(key);
    return found ? ReadAt(*found, range, out) : Fail(found);
  }
  Result<ReadAnswer> ReadAsOf(uint32_t step, std::string_view key, ByteRange range,
                              std::span<std::byte> out) const override {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a key", key);
    const auto commit = steps_.CommitOf(step);
    if (!commit)
      return Fail(ErrorCode::kStale, "{}: changed since it was opened, too many commits ago", key);
    auto head = commits_.Get(*commit);
    if (!head && head.error().code == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kStale,
                  "{}: changed since it was opened, and its commit no longer exists: {}", key,
                  head.error().message);
    }
    if (!head) return tl::unexpected(IcechunkErrorOfCall(head.error()));
    return ReadAt({*std::move(head), key, InCommit(key), step}, range, out);
  }
  Result<std::unique_ptr<FolderStream>> OpenFolder(std::string_view folder) const override {
    const auto found = Find(folder);
    return found ? reader_.OpenFolder(*found) : Fail(found);
  }
  /// See IcechunkPlaceOf().
  [[nodiscard]] Result<IcechunkPlace> PlaceOf(std::string_view key) const {
    const auto found = Find(key);
    return found ? reader_.PlaceOf(*found) : Fail(found);
  }

  /// See IcechunkVirtualFoldersOf().
  [[nodiscard]] Result<VirtualFolders> FoldersOfVirtualChunks() const {
    const auto found = Find("");
    return found
               ? FindVirtualFolders(reader_.finder(), reader_.containers(), *found->head->snapshot)
               : Fail(found);
  }

  std::optional<ObjectInfo> FolderOfKeys() const override { return std::nullopt; }
  Result<uint64_t> OffsetInFile(std::string_view key) const override {
    return Fail(ErrorCode::kUnsupported, "{}: has no file of this name in an Icechunk repository",
                key);
  }
  bool AnswersFast() const override {
    return container_->AnswersFast() && reader_.virtual_chunks().AnswersFast();
  }
  bool ChangesInSteps() const override { return true; }
  uint64_t Watch(std::string_view /*folder*/) const override { return change_count(); }
  uint64_t WatchAllNames(std::string_view /*folder*/) const override { return change_count(); }

  void CloseIdle() const override {
    reader_.finder().Sweep();
    commits_.Sweep();
    reader_.virtual_chunks().CloseIdle();
    container_->CloseIdle();
  }
  int64_t TimestampGranularityNs() const override {
    return std::max(container_->TimestampGranularityNs(),
                    reader_.virtual_chunks().TimestampGranularityNs());
  }

 protected:
  [[nodiscard]] IcechunkCommitReader& reader() const { return reader_; }
  [[nodiscard]] IcechunkCommitCache& commits() const { return commits_; }
  /// Makes an IcechunkKey for `inside`, a key in the commit `head`, which is currently served.
  [[nodiscard]] IcechunkKey KeyIn(std::shared_ptr<const IcechunkHead> head, std::string_view shown,
                                  std::string_view inside) const {
    const uint32_t step = steps_.StepOf(head->snapshot->id());
    return {std::move(head), shown, inside, step};
  }

  /// Finds the commit to which `key` belongs. kInvalidArgument if `key` is invalid.
  [[nodiscard]] Result<IcechunkKey> Find(std::string_view key) const {
    if (!IsValidKey(key)) return Fail(ErrorCode::kInvalidArgument, "{}: not a key", key);
    return Resolve(key);
  }

 private:
  /// Finds the commit to which a key belongs. `key` must be valid.
  [[nodiscard]] virtual Result<IcechunkKey> Resolve(std::string_view key) const = 0;
  /// The part of `key` that is a key in the commit. The part before it names the commit.
  [[nodiscard]] virtual std::string_view InCommit(std::string_view key) const { return key; }

  [[nodiscard]] Result<ReadAnswer> ReadAt(const IcechunkKey& key, const ByteRange& range,
                                          std::span<std::byte> out) const {
    auto answer = reader_.Read(key, range, out);
    if (answer) answer->step = key.step;
    return answer;
  }

  const std::shared_ptr<const Store> container_;
  mutable IcechunkCommitReader reader_;
  mutable IcechunkCommitCache commits_;
  mutable IcechunkSteps steps_;
};

}  // namespace zarrfs
