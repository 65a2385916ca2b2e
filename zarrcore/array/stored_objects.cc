#include "zarrcore/array/stored_objects.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

// Limits of the names held at a time. Walk() holds kVisitedAtOnce names per folder; the number is
// small, because a walk may end early. Each request to the store's listing asks for at most
// kListedAtOnce names.
constexpr size_t kVisitedAtOnce = 256;
constexpr size_t kListedAtOnce = 1024;

}  // namespace

bool IsTemporary(ErrorCode code) {
  return code == ErrorCode::kWouldBlock || code == ErrorCode::kInterrupted ||
         code == ErrorCode::kTimedOut || code == ErrorCode::kTooManyOpenFiles;
}

std::string StoredObjects::Top() const {
  const std::string_view folder = naming_.Folder(grid_.rank());
  return folder.empty() ? folder_ : JoinKey(folder_, folder);
}

Result<void> StoredObjects::Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                 const WalkOptions& options) const {
  StoredObjectsCursor cursor(*this, fixed, &options);
  for (;; cursor.Pass()) {
    const auto object = cursor.Get();
    if (!object) return Fail(object);
    if (!*object || !visit(**object)) return {};
  }
}

Result<std::vector<uint64_t>> StoredObjects::NextCoordinates(
    std::span<const uint64_t> fixed) const {
  std::string folder = Top();
  for (const uint64_t value : fixed) folder = JoinKey(folder, std::to_string(value));
  const auto entries = store_.List(folder);
  std::vector<uint64_t> values;
  if (!entries) {
    if (entries.error().code == ErrorCode::kNotFound) return values;
    return Fail(entries);
  }
  for (const ListEntry& entry : *entries) {
    ChunkCoordinates at{};
    std::ranges::copy(fixed, at.begin());
    if (Parse(entry, fixed.size(), at)) values.push_back(at[fixed.size()]);
  }
  return values;
}

bool StoredObjects::Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const {
  const bool is_last = !naming_.nested() || level + 1 == grid_.rank();
  if (entry.is_folder == is_last && !entry.is_refused) return false;
  const bool in_array = level == 0 && naming_.Folder(grid_.rank()).empty();
  return naming_.Parse(grid_.counts(), entry.name, in_array, at, level);
}

Result<void> DecideByListing(const Store& store, const std::string& folder, const ChunkGrid& grid,
                             const ObjectNaming& naming) {
  if (naming.is_decided()) return {};
  for (const ChunkNaming& form : naming.candidates()) {
    const auto decide = [&](OuterIndex) {
      naming.Decide(form);
      return false;
    };
    auto walked = StoredObjects(store, folder, form, grid).Walk({}, decide);
    if (!walked || naming.is_decided()) return walked;
  }
  return {};
}

// --- FolderWindow ---

Result<FolderWindow> FolderWindow::Open(const Store& store, std::string folder, Parse parse,
                                        size_t names) {
  FolderWindow window(store, std::move(folder), std::move(parse), names);
  if (const auto begun = window.Begin(); !begun) return Fail(begun);
  return window;
}

Result<void> FolderWindow::Begin() {
  stream_ = nullptr;
  values_.clear();
  at_ = 0;
  is_sorted_ = true;
  auto stream = store_->OpenFolder(folder_);
  if (!stream && stream.error().code == ErrorCode::kNotFound) return {};
  if (!stream) return Fail(stream);
  stream_ = *std::move(stream);
  if (auto read = ReadOn(); !read) return read;
  is_sorted_ = stream_ == nullptr;
  // A file system may return a name twice if the file was replaced during the listing.
  if (is_sorted_) {
    std::ranges::sort(values_);
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    values_.shrink_to_fit();
  }
  return {};
}

Result<void> FolderWindow::ReadOn() {
  values_.clear();
  at_ = 0;
  while (values_.size() < names_) {
    const auto names = stream_->Next(std::min(kListedAtOnce, names_ - values_.size()));
    if (!names) return Fail(names);
    if (names->empty()) {
      stream_ = nullptr;
      break;
    }
    for (const ListEntry& entry : *names) {
      if (const auto value = parse_(entry)) values_.push_back(*value);
    }
  }
  return {};
}

Result<bool> FolderWindow::HasValue() {
  while (at_ == values_.size()) {
    if (stream_ == nullptr) return false;
    if (const auto read = ReadOn(); !read) return Fail(read);
  }
  return true;
}

Result<bool> FolderWindow::MoveTo(uint64_t value) {
  // Search from the current position to the end of the folder, and then once more from its
  // beginning. If two programs list a folder concurrently, the kernel serves each of them entries
  // that it cached for the other, so both usually find the value without starting again.
  for (bool is_new = false;; is_new = true) {
    while (!is_sorted_) {
      const auto found = std::ranges::find(values_, value);
      at_ = static_cast<size_t>(found - values_.begin());
      if (found != values_.end()) return true;
      if (stream_ == nullptr) break;
      if (const auto read = ReadOn(); !read) return Fail(read);
    }
    if (is_sorted_) {
      const auto found = std::ranges::lower_bound(values_, value);
      at_ = static_cast<size_t>(found - values_.begin());
      return found != values_.end() && *found == value;
    }
    if (const auto begun = Begin(); !begun) return Fail(begun);
    if (is_new && !is_sorted_) return false;
  }
}

// --- StoredObjectsCursor ---

StoredObjectsCursor::StoredObjectsCursor(const StoredObjects& objects,
                                         std::span<const uint64_t> fixed, const WalkOptions* walk)
    : objects_(objects),
      walk_(walk),
      rank_(objects.grid_.rank()),
      first_(fixed.size()),
      is_flat_(!objects.naming_.nested() || first_ == rank_),
      validity_(walk != nullptr ? Validity() : Moment::Now(objects.store_).validity()) {
  std::ranges::copy(fixed, at_.begin());
  Restart();
}

void StoredObjectsCursor::Restart() {
  windows_.clear();
  is_at_end_ = objects_.grid_.size() == 0;
}

bool StoredObjectsCursor::Enter(const std::string& folder) {
  if (validity_.is_known()) validity_ &= WatchOf(objects_.store_, folder, objects_.naming_);
  if (walk_ != nullptr && walk_->on_folder) is_at_end_ = !walk_->on_folder(folder);
  return !is_at_end_;
}

bool StoredObjectsCursor::PassesOver(const std::string& key, const Error& error) {
  if (walk_ == nullptr) return false;
  if (error.code == ErrorCode::kNotFound) return true;
  if (walk_->on_unreadable) is_at_end_ = !walk_->on_unreadable(key, error);
  return walk_->on_unreadable != nullptr;
}

Result<bool> StoredObjectsCursor::MayExist(const std::string& key) {
  const auto info = objects_.store_.Stat(key);
  if (info) return !info->is_folder;
  if (info.error().code == ErrorCode::kNotFound || PassesOver(key, info.error())) return false;
  if (IsTemporary(info.error().code)) return Fail(info);
  return true;
}

Result<void> StoredObjectsCursor::Descend() {
  const size_t level = windows_.size();
  const std::span<const uint64_t> fixed(at_.data(), first_);
  if (first_ == rank_) {
    const std::string key = JoinKey(objects_.folder_, objects_.naming_.Path(fixed));
    if (!Enter(std::string(FolderOf(key)))) return {};
    const auto exists = MayExist(key);
    if (!exists) return Fail(exists);
    windows_.emplace_back(*exists ? std::vector{objects_.grid_.Linear(fixed)}
                                  : std::vector<uint64_t>{});
    return {};
  }
  const size_t dimension = is_flat_ ? 0 : first_ + level;
  std::string folder;
  if (level > 0) {
    at_[dimension - 1] = windows_.back().value();
    folder = JoinKey(windows_.back().folder(), std::to_string(at_[dimension - 1]));
  } else {
    folder = objects_.Top();
    for (size_t d = 0; d < dimension; ++d) folder = JoinKey(folder, std::to_string(at_[d]));
  }
  if (!Enter(folder)) return {};
  // The window of the innermost folder holds object numbers. The windows of the folders above it
  // hold coordinates.
  auto parse = [this, dimension, folder,
                is_leaf = IsLeaf(level)](const ListEntry& entry) -> std::optional<uint64_t> {
    ChunkCoordinates at = at_;
    if (is_at_end_ || !objects_.Parse(entry, dimension, at) ||
        !std::equal(at_.begin(), at_.begin() + static_cast<ptrdiff_t>(first_), at.begin())) {
      return std::nullopt;
    }
    if (entry.is_refused && walk_ != nullptr && walk_->on_unreadable) {
      const std::string key = JoinKey(folder, entry.name);
      const auto info = objects_.store_.Stat(key);
      // The listing says that the entry cannot be read. If Stat() succeeds anyway, the entry was
      // replaced after the listing.
      if (!info && PassesOver(key, info.error())) return std::nullopt;
    }
    return is_leaf ? objects_.grid_.Linear({at.data(), rank_}) : at[dimension];
  };
  auto window = FolderWindow::Open(objects_.store_, folder, std::move(parse),
                                   walk_ != nullptr ? kVisitedAtOnce : FolderWindow::kNames);
  if (!window && !PassesOver(folder, window.error())) return Fail(window);
  windows_.push_back(window ? *std::move(window) : FolderWindow({}));
  return {};
}

Result<std::optional<OuterIndex>> StoredObjectsCursor::Find() {
  while (!is_at_end_) {
    if (!windows_.empty()) {
      FolderWindow& window = windows_.back();
      const auto has_value = window.HasValue();
      if (!has_value && !PassesOver(window.folder(), has_value.error())) return Fail(has_value);
      if (is_at_end_) break;
      if (!has_value || !*has_value) {
        windows_.pop_back();
        is_at_end_ = windows_.empty();
        if (!is_at_end_) windows_.back().Pass();
        continue;
      }
      if (IsLeaf(windows_.size() - 1)) return OuterIndex{window.value()};
    }
    if (const auto opened = Descend(); !opened) return Fail(opened);
  }
  return std::nullopt;
}

Result<void> StoredObjectsCursor::Move(OuterIndex object) {
  ChunkCoordinates wanted{};
  objects_.grid_.Coordinates(ToNumber(object), wanted);
  for (size_t level = 0;; ++level) {
    if (windows_.size() == level) {
      if (auto opened = Descend(); !opened) return opened;
    }
    const uint64_t value = IsLeaf(level) ? ToNumber(object) : wanted[first_ + level];
    FolderWindow& window = windows_[level];
    const bool is_below = level + 1 < windows_.size() && window.value() == value;
    if (!is_below) {
      windows_.erase(windows_.begin() + static_cast<ptrdiff_t>(level) + 1, windows_.end());
      const auto found = windows_.back().MoveTo(value);
      if (!found) return Fail(found);
      if (!*found) return {};
    }
    if (IsLeaf(level)) return {};
  }
}

Result<std::optional<OuterIndex>> StoredObjectsCursor::Get() {
  auto found = Find();
  if (!found) Restart();
  return found;
}

Result<void> StoredObjectsCursor::MoveTo(OuterIndex object) {
  is_at_end_ = ToNumber(object) >= objects_.grid_.size();
  if (is_at_end_) return {};
  auto moved = Move(object);
  if (!moved) Restart();
  return moved;
}

}  // namespace zarrfs
