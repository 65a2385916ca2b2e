#include "fs/tree/status_files.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/clocks.h"

namespace zarrfs {

std::vector<std::string> StatusFiles::names() const {
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  return names;
}

bool StatusFiles::Has(NodeId id) {
  return PositionOf(id) >= kFolderId && PositionOf(id) < IdJournal::kFirstPosition;
}

StatusFiles::Kept* StatusFiles::Newest(uint64_t position) {
  const auto newest = std::find_if(snapshots_.rbegin(), snapshots_.rend(), [&](const Kept& kept) {
    return PositionOf(kept.snapshot.id) == position;
  });
  return newest == snapshots_.rend() ? nullptr : &*newest;
}

std::optional<StatusFiles::Snapshot> StatusFiles::Look(std::string_view name) {
  const auto file = std::ranges::find(files_, name, &File::name);
  if (file == files_.end()) return std::nullopt;
  const uint64_t position = kFirstFile + static_cast<uint64_t>(file - files_.begin());
  const auto now = std::chrono::steady_clock::now();
  if (file->lasts > std::chrono::milliseconds(0)) {
    const MutexLock lock(mutex_);
    if (Kept* const last = Newest(position); last != nullptr && now - last->written < file->lasts) {
      ++last->looks;
      return last->snapshot;
    }
  }
  auto text = std::make_shared<const std::string>(file->write());
  const MutexLock lock(mutex_);
  if (Kept* const last = Newest(position)) {
    if (*last->snapshot.text == *text) {
      last->written = now;
      ++last->looks;
      return last->snapshot;
    }
    if (last->looks == 0) snapshots_.erase(std::ranges::find(snapshots_, last->snapshot.id, IdOf));
  }
  NodeId id = 0;
  do {  // the numbers wrap around, so an id may be in use
    id = MakeId(position, journal_.NextStatus());
  } while (std::ranges::find(snapshots_, id, IdOf) != snapshots_.end());
  snapshots_.push_back({{id, std::move(text), RealNowNs()}, now, 1});
  if (snapshots_.size() > kMaxSnapshots) snapshots_.pop_front();
  return snapshots_.back().snapshot;
}

void StatusFiles::Forget(NodeId id, uint64_t looks) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(snapshots_, id, IdOf);
  if (found == snapshots_.end()) return;
  found->looks -= std::min(found->looks, looks);
  if (found->looks == 0 && &*found != Newest(PositionOf(id))) snapshots_.erase(found);
}

std::optional<StatusFiles::Snapshot> StatusFiles::Find(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(snapshots_, id, IdOf);
  return found == snapshots_.end() ? std::nullopt : std::optional(found->snapshot);
}

}  // namespace zarrfs
