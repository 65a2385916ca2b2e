#include "fs/status_files.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace zarrfs {

void StatusFiles::Add(std::string name, std::function<std::string()> write) {
  if (files_.size() < kMaxFiles) files_.push_back({std::move(name), std::move(write)});
}

std::vector<std::string> StatusFiles::names() const {
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  return names;
}

bool StatusFiles::Has(NodeId id) {
  return PositionOf(id) >= kFolderId && PositionOf(id) < kFirstFile + kMaxFiles;
}

std::optional<StatusFiles::Snapshot> StatusFiles::Look(std::string_view name) {
  const auto file = std::ranges::find(files_, name, &File::name);
  if (file == files_.end()) return std::nullopt;
  auto text = std::make_shared<const std::string>(file->write());
  const std::lock_guard lock(mutex_);
  const uint64_t position = kFirstFile + static_cast<uint64_t>(file - files_.begin());
  const auto last = std::find_if(snapshots_.rbegin(), snapshots_.rend(), [&](const Kept& kept) {
    return PositionOf(kept.snapshot.id) == position;
  });
  if (last != snapshots_.rend() && *last->snapshot.text == *text) {
    ++last->looks;
    return last->snapshot;
  }
  if (last != snapshots_.rend() && last->looks == 0) snapshots_.erase(std::next(last).base());
  const auto is_known = [&](NodeId id) {
    return std::ranges::any_of(snapshots_,
                               [&](const Kept& kept) { return kept.snapshot.id == id; });
  };
  NodeId id = 0;
  do {  // numbers come round
    id = MakeId(position, ++made_);
  } while (is_known(id));
  const int64_t now =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  snapshots_.push_back({{id, std::move(text), now}, 1});
  if (snapshots_.size() > kMaxSnapshots) snapshots_.pop_front();
  return snapshots_.back().snapshot;
}

bool StatusFiles::IsNewest(const Kept& kept) const {
  const auto newest = std::find_if(snapshots_.rbegin(), snapshots_.rend(), [&](const Kept& other) {
    return PositionOf(other.snapshot.id) == PositionOf(kept.snapshot.id);
  });
  return &*newest == &kept;
}

void StatusFiles::Forget(NodeId id, uint64_t looks) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(snapshots_, [&](const Kept& kept) { return kept.snapshot.id == id; });
  if (found == snapshots_.end()) return;
  found->looks -= std::min(found->looks, looks);
  if (found->looks == 0 && !IsNewest(*found)) snapshots_.erase(found);
}

std::optional<StatusFiles::Snapshot> StatusFiles::Find(NodeId id) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(snapshots_, [&](const Kept& kept) { return kept.snapshot.id == id; });
  return found == snapshots_.end() ? std::nullopt : std::optional(found->snapshot);
}

void MessageRing::Add(std::string_view message) {
  const std::lock_guard lock(mutex_);
  messages_.emplace_back(message);
  if (messages_.size() > kMaxMessages) messages_.pop_front();
}

std::string MessageRing::Text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& message : messages_) text += message + "\n";
  return text;
}

}  // namespace zarrfs
