#include "zarrcore/net/fetch_disk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "zarrcore/net/fetcher.h"
#include "zarrcore/net/verdict.h"

namespace zarrfs {
namespace {

// Time limit of a disk read, and how long the disk is bypassed after a read exceeded the limit.
constexpr auto kDiskTimeout = std::chrono::milliseconds(1000);
constexpr auto kDiskPause = std::chrono::milliseconds(10'000);

}  // namespace

FetchDisk::FetchDisk(std::unique_ptr<DiskCache> disk, std::function<void()> on_answer) {
  if (disk != nullptr) {
    queue_ = std::make_unique<DiskQueue>(std::move(disk), std::move(on_answer));
  }
}

bool FetchDisk::Ask(FetchJobs& waiting, FetchJobs::iterator job) {
  const FetchRequest& request = job->request;
  const auto now = Clock::now();
  const bool knows_version = request.is_conditional || job->on_disk;
  if (queue_ == nullptr || now < not_used_until_ || request.kind != FetchRequest::Kind::kGet ||
      request.range.length > kMaxFetchBytes || (!knows_version && request.range.length == 1)) {
    return false;
  }
  DiskQueue::Request disk_request{.id = request.id,
                                  .object = job->origin.UrlOf(request),
                                  .range = request.range,
                                  .version = job->on_disk};
  if (request.is_conditional) {
    disk_request.version =
        Version{.size = request.size, .mtime_ns = request.modified_ns, .etag = request.condition};
  }
  queue_->Ask(std::move(disk_request));
  job->asked_disk = now;
  asking_.splice(asking_.end(), waiting, job);
  return true;
}

void FetchDisk::Take(FetchJobs& waiting, const PieceOf& piece_of,
                     const std::function<void(FetchAnswer)>& answer) {
  if (queue_ == nullptr) return;
  const auto id_of = [](const FetchJob& job) { return job.request.id; };
  for (DiskQueue::Answer& each : queue_->Take()) {
    const auto job = std::ranges::find(asking_, each.id, id_of);
    if (job != asking_.end()) OnAnswer(waiting, job, std::move(each), piece_of, answer);
  }
  const auto now = Clock::now();
  while (!asking_.empty() && now - asking_.front().asked_disk > kDiskTimeout) {
    not_used_until_ = now + kDiskPause;
    asking_.front().on_disk.reset();
    waiting.splice(waiting.end(), asking_, asking_.begin());
  }
}

void FetchDisk::OnAnswer(FetchJobs& waiting, FetchJobs::iterator job, DiskQueue::Answer answer,
                         const PieceOf& piece_of, const std::function<void(FetchAnswer)>& send) {
  const FetchRequest& request = job->request;
  const bool has_bytes = answer.version && !answer.bytes.empty();
  if (has_bytes && answer.bytes.size() <= request.length) {
    Origin& origin = job->origin;
    if (answer.offset == 0 && !origin.source.is_virtual) {
      origin.immutable.Learn(request.key, answer.bytes);
    }
    std::ranges::copy(answer.bytes, piece_of(request).begin());
    send({.id = request.id,
          .size = answer.version->size,
          .modified_ns = answer.version->mtime_ns,
          .offset = answer.offset,
          .length = answer.bytes.size(),
          .etag = answer.version->etag});
    asking_.erase(job);
    return;
  }
  // If the request names no version and the disk has one, the job next compares it with the
  // store's. Otherwise, the job requests the bytes from the store.
  job->on_disk.reset();
  if (answer.version && !request.is_conditional) job->on_disk = std::move(answer.version);
  waiting.splice(waiting.end(), asking_, job);
  const bool needs_no_version = job->on_disk && job->origin.immutable.Has(request.key);
  if (needs_no_version && !Ask(waiting, job)) job->on_disk.reset();
}

void FetchDisk::OnVersion(FetchJobs& waiting, FetchJobs::iterator job, const HttpReply& reply) {
  const Version& known = *job->on_disk;
  const bool is_same =
      reply.size == known.size && reply.modified_ns == known.mtime_ns && reply.etag == known.etag;
  job->next = Clock::now();
  if (!is_same || !Ask(waiting, job)) job->on_disk.reset();
}

bool FetchDisk::MayKeep(const FetchJob& job, const FetchJobs& running) const {
  const FetchRequest& request = job.request;
  const bool is_asked_for_version =
      job.no_range || job.on_disk || (!request.is_conditional && request.range.length == 1);
  if (queue_ == nullptr || request.kind != FetchRequest::Kind::kGet || is_asked_for_version ||
      request.range.length > DiskEntry::kMaxBytes) {
    return false;
  }
  uint64_t taken = request.range.length;
  for (const FetchJob& each : running) taken += each.own.size();
  return taken <= FetchChannel::kMemory;
}

void FetchDisk::Keep(const FetchJob& job, const HttpReply& reply, std::vector<std::byte> bytes) {
  if (auto version = LastingVersion(reply, job.origin.source)) {
    queue_->Keep(job.origin.UrlOf(job.request), *std::move(version), reply.offset,
                 std::move(bytes));
  }
}

}  // namespace zarrfs
