// FetchDisk: the disk cache of a FetchServer, and the jobs that wait for the disk ("here" below). A
// job is a request of the client; see fetch_job.h.
//
//   waiting ──Ask()──▶ here ──Take()──▶ answered     the disk cache has the bytes
//                                   └─▶ waiting      the store must be asked
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/disk/disk_queue.h"
#include "zarrcore/net/fetch_job.h"

namespace zarrfs {

/// Used by one thread. Without a disk cache, Ask() and MayKeep() return false, and size() is 0.
class FetchDisk {
 public:
  /// Returns the part of the shared memory that receives the bytes of a request.
  using PieceOf = std::function<std::span<std::byte>(const FetchRequest&)>;

  /// `disk`: null to cache nothing. `on_answer`: called on another thread when the disk has
  /// answered; it must cause a call of Take().
  FetchDisk(std::unique_ptr<DiskCache> disk, std::function<void()> on_answer);

  /// Asks the disk for the bytes of a request, or for the cached version, and moves the job from
  /// `waiting` into this object. False if the disk is not asked. One-byte requests without a
  /// version bypass the disk cache, because their purpose is to learn the current version.
  bool Ask(FetchJobs& waiting, FetchJobs::iterator job);
  /// Processes the answers of the disk: copies the bytes to where `piece_of` says, and passes the
  /// answers for the client to `answer`. Jobs that the disk cannot answer, or has not answered in
  /// time, go back to `waiting`.
  void Take(FetchJobs& waiting, const PieceOf& piece_of,
            const std::function<void(FetchAnswer)>& answer);
  /// Continues a job after the store has reported the current version of the object.
  void OnVersion(FetchJobs& waiting, FetchJobs::iterator job, const HttpReply& reply);

  /// True if the bytes of the job's reply may be written to the disk cache. The bytes are then
  /// received into private memory of this process, because a compromised client could write to the
  /// shared memory at the same time, and other mounts read the disk cache. False if the private
  /// memory of this job and of `running` would exceed FetchChannel::kMemory. The requests of a
  /// correct client never exceed that limit.
  [[nodiscard]] bool MayKeep(const FetchJob& job, const FetchJobs& running) const;
  /// Writes the bytes of a reply to the disk cache in the background, unless LastingVersion() of
  /// the reply is nullopt.
  void Keep(const FetchJob& job, const HttpReply& reply, std::vector<std::byte> bytes);

  [[nodiscard]] size_t size() const { return asking_.size(); }
  void AbandonAll() { asking_.clear(); }

 private:
  using Clock = FetchJob::Clock;

  void OnAnswer(FetchJobs& waiting, FetchJobs::iterator job, DiskQueue::Answer answer,
                const PieceOf& piece_of, const std::function<void(FetchAnswer)>& send);

  std::unique_ptr<DiskQueue> queue_;  // null without a disk cache
  FetchJobs asking_;
  Clock::time_point not_used_until_;
};

}  // namespace zarrfs
