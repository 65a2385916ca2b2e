#include "fs/status_files.h"

#include <algorithm>
#include <chrono>
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
  const auto last =
      std::find_if(snapshots_.rbegin(), snapshots_.rend(),
                   [&](const Snapshot& snapshot) { return PositionOf(snapshot.id) == position; });
  if (last != snapshots_.rend() && *last->text == *text) return *last;
  const int64_t now =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  snapshots_.push_back({MakeId(position, ++made_), std::move(text), now});
  if (snapshots_.size() > kMaxSnapshots) snapshots_.pop_front();
  return snapshots_.back();
}

std::optional<StatusFiles::Snapshot> StatusFiles::Find(NodeId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(snapshots_, id, &Snapshot::id);
  return found == snapshots_.end() ? std::nullopt : std::optional(*found);
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
