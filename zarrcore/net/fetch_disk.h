// FetchDisk: the disk cache of a FetchServer, and the jobs that wait for it.
//
//   waiting ──Ask()──▶ here ──Take()──▶ answered     the disk has the bytes
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

/// Used by one thread. Without a disk cache, Ask() and MayKeep() return false and no job is here.
class FetchDisk {
 public:
  /// The piece of the client's memory for a request.
  using PieceOf = std::function<std::span<std::byte>(const FetchRequest&)>;

  /// `disk`: null to cache nothing. `on_answer` is called on another thread when Take() has
  /// something to take.
  FetchDisk(std::unique_ptr<DiskCache> disk, std::function<void()> on_answer);

  /// Asks for the bytes of a request, or for the version that the disk has, and moves the job here
  /// from `waiting`. False if the disk cannot answer. One-byte requests without a version bypass
  /// the disk cache, because their purpose is to learn the current version.
  bool Ask(FetchJobs& waiting, FetchJobs::iterator job);
  /// Moves the jobs that the disk cannot answer, or has not answered in time, back to `waiting`.
  /// Copies the bytes of all others into their pieces, and passes their answers to `answer`.
  void Take(FetchJobs& waiting, const PieceOf& piece_of,
            const std::function<void(FetchAnswer)>& answer);
  /// Continues with a job whose store has reported its current version.
  void OnVersion(FetchJobs& waiting, FetchJobs::iterator job, const HttpReply& reply);

  /// True if the bytes of a reply may be written to the disk cache. They are then received into
  /// private memory of this process, because a compromised client could write to its piece at the
  /// same time, and other mounts read the disk cache. Pieces do not overlap, so this memory cannot
  /// exceed that of the channel. `running`: all jobs with such memory.
  [[nodiscard]] bool MayKeep(const FetchJob& job, const FetchJobs& running) const;
  /// Writes the bytes of a reply to the disk cache in the background, unless its version does not
  /// last.
  void Keep(const FetchJob& job, const HttpReply& reply, std::vector<std::byte> bytes);

  [[nodiscard]] size_t size() const { return asking_.size(); }
  void GiveUpAll() { asking_.clear(); }

 private:
  using Clock = FetchJob::Clock;

  void OnAnswer(FetchJobs& waiting, FetchJobs::iterator job, DiskQueue::Answer answer,
                const PieceOf& piece_of, const std::function<void(FetchAnswer)>& send);

  std::unique_ptr<DiskQueue> queue_;  // null without a disk cache
  FetchJobs asking_;
  Clock::time_point not_used_until_;
};

}  // namespace zarrfs
