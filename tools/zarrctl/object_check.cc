#include "tools/zarrctl/object_check.h"

#include <new>
#include <string>
#include <utility>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/interrupt.h"
#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs::ctl {
namespace {

constexpr int kAttempts = 3;          // at an object that changes while it is read
constexpr size_t kMaxReasons = 1000;  // kept before they are printed

// One attempt at one object.
class ObjectCheck {
 public:
  ObjectCheck(const ChunkCheck& check, OuterIndex outer, VerifyReport& report, Progress& progress)
      : check_(check),
        source_(*check.array().chunks),
        outer_(outer),
        key_(source_.ObjectKey(outer)),
        report_(report),
        progress_(progress) {}

  // False if the object changed meanwhile.
  bool Run() {
    try {
      CheckChunks();
    } catch (const std::bad_alloc&) {
      Add({ErrorCode::kTooLarge, "not enough memory"});
    }
    return !is_stale_;
  }

  // `error` concerns the object itself unless `chunk` names one.
  void Add(const Error& error, const std::string& chunk = "") {
    findings_.Add(error, key_, chunk);
    if (findings_.size() > kMaxReasons) report_.Report(key_, findings_);
  }

  ObjectCounts Report() {
    report_.Report(key_, findings_);
    return counts_;
  }

 private:
  void CheckChunks() {
    if (!source_.layout().is_sharded()) {
      const InnerIndex chunk{ToNumber(outer_)};  // each is an object of its own
      const auto located = source_.Locate(chunk, kAnyAge);
      if (!located) {
        Visit(chunk, Fail(located));
      } else if (located->location) {
        Visit(chunk, *located->location);
      }
      return;
    }
    ChunkCursor cursor(source_, outer_);
    const ListedChunk* next = nullptr;
    while ((next = cursor.Next()) != nullptr && Visit(next->chunk, next->location)) {
    }
    if (cursor.status()) return;
    is_stale_ = cursor.status().error().code == ErrorCode::kStale;
    if (!is_stale_) Add(cursor.status().error());
  }

  // False if the rest need not be looked at.
  bool Visit(InnerIndex chunk, const Result<ChunkLocation>& location) {
    const Result<void> checked = CheckChunk(location);
    if (!checked) {
      is_stale_ = checked.error().code == ErrorCode::kStale;
      if (!is_stale_) {
        Add(checked.error(), ChunkName(ToNumber(chunk), source_.layout().inner_grid));
      }
    }
    return !is_stale_ && !StopRequested();
  }

  Result<void> CheckChunk(const Result<ChunkLocation>& location) {
    if (!location) return Fail(location);
    if (source_.layout().is_sharded() && location->shard != shard_) {
      const auto sums = check_.CheckShardChecksums(*location->shard, shard_ == nullptr);
      if (!sums) Add(sums.error());
      shard_ = location->shard;
    }
    ++counts_.chunks;
    const auto bytes = check_.Check(*location);
    if (!bytes) return Fail(bytes);
    counts_.bytes += *bytes;
    progress_.AddBytes(*bytes);
    return {};
  }

  const ChunkCheck& check_;
  const ChunkSource& source_;
  const OuterIndex outer_;
  const std::string key_;
  VerifyReport& report_;
  Progress& progress_;
  ObjectCounts counts_;
  Findings findings_;
  OpenShardPtr shard_;  // whose own checksum was checked last
  bool is_stale_ = false;
};

}  // namespace

ObjectCounts CheckObject(const ChunkCheck& check, OuterIndex outer, VerifyReport& report,
                         Progress& progress) {
  for (int attempt = 1;; ++attempt) {
    ObjectCheck object(check, outer, report, progress);
    if (!object.Run()) {
      check.array().chunks->Forget(outer);
      if (attempt < kAttempts) continue;
      object.Add({ErrorCode::kStale,
                  "keeps changing while it is read; verify again when nothing writes to it"});
    }
    return object.Report();
  }
}

}  // namespace zarrfs::ctl
