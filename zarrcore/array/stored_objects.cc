#include "zarrcore/array/stored_objects.h"

#include <algorithm>
#include <utility>

namespace zarrfs {
namespace {

// Names that the store is asked for at a time, by a walk (which may end soon) and for a listing.
constexpr size_t kVisitedAtOnce = 256;
constexpr size_t kListedAtOnce = 1024;

}  // namespace

bool IsTemporary(ErrorCode code) {
  return code == ErrorCode::kWouldBlock || code == ErrorCode::kInterrupted ||
         code == ErrorCode::kTimedOut || code == ErrorCode::kTooManyOpenFiles;
}

struct StoredObjects::Walking {
  std::span<const uint64_t> fixed;
  const Visit& visit;
  const WalkOptions& options;
  ChunkCoordinates at{};

  [[nodiscard]] bool Enter(const std::string& folder) const {
    return !options.on_folder || options.on_folder(folder);
  }
};

std::string StoredObjects::Top() const {
  const std::string_view folder = naming_.Folder(grid_.rank());
  return folder.empty() ? folder_ : JoinKey(folder_, folder);
}

Result<void> StoredObjects::Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                 const WalkOptions& options) const {
  if (grid_.size() == 0) return {};
  Walking walking{fixed, visit, options};
  const auto walked = grid_.rank() == 0 ? VisitNamed(walking, folder_, naming_.Path({}))
                                        : WalkFolder(walking, Top(), 0);
  if (!walked) return Fail(walked);
  return {};
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
  const bool wants_objects = fixed.size() + 1 == grid_.rank();
  for (const ListEntry& entry : *entries) {
    const auto value = ParseCoordinate(entry.name, grid_.counts()[fixed.size()]);
    if (value && (entry.is_refused || entry.is_folder != wants_objects)) values.push_back(*value);
  }
  return values;
}

Result<bool> StoredObjects::VisitNamed(Walking& walking, const std::string& folder,
                                       const std::string& name) const {
  if (!walking.Enter(folder)) return false;
  const std::string key = JoinKey(folder, name);
  const auto info = store_.Stat(key);
  if (info ? info->is_folder : info.error().code == ErrorCode::kNotFound) return true;
  if (!info && walking.options.on_unreadable) {
    return walking.options.on_unreadable(key, info.error());
  }
  // One that cannot be read is visited too: opening it gives the reason.
  if (!info && IsTemporary(info.error().code)) return Fail(info);
  return walking.visit(OuterIndex{grid_.Linear({walking.at.data(), grid_.rank()})});
}

Result<bool> StoredObjects::WalkFolder(Walking& walking, const std::string& folder,
                                       size_t level) const {
  const auto& on_unreadable = walking.options.on_unreadable;
  const bool is_last = !naming_.nested() || level + 1 == grid_.rank();
  if (naming_.nested() && level < walking.fixed.size()) {
    walking.at[level] = walking.fixed[level];
    const std::string name = std::to_string(walking.fixed[level]);
    return is_last ? VisitNamed(walking, folder, name)
                   : WalkFolder(walking, JoinKey(folder, name), level + 1);
  }
  if (!walking.Enter(folder)) return false;
  const auto stream = store_.OpenFolder(folder);
  const auto failed = [&](const Error& error) -> Result<bool> {
    if (error.code == ErrorCode::kNotFound) return true;
    if (on_unreadable) return on_unreadable(folder, error);
    return tl::unexpected(error);
  };
  if (!stream) return failed(stream.error());
  for (;;) {
    const auto entries = (*stream)->Next(kVisitedAtOnce);
    if (!entries) return failed(entries.error());
    if (entries->empty()) return true;
    for (const ListEntry& entry : *entries) {
      const auto goes_on = VisitEntry(walking, folder, level, entry);
      if (!goes_on || !*goes_on) return goes_on;
    }
  }
}

Result<bool> StoredObjects::VisitEntry(Walking& walking, const std::string& folder, size_t level,
                                       const ListEntry& entry) const {
  const auto& on_unreadable = walking.options.on_unreadable;
  const bool is_last = !naming_.nested() || level + 1 == grid_.rank();
  const size_t fixed = naming_.nested() ? 0 : walking.fixed.size();
  if (!Parse(entry, level, walking.at) ||
      !std::ranges::equal(walking.fixed.first(fixed), std::span(walking.at).first(fixed))) {
    return true;
  }
  if (entry.is_refused && on_unreadable) {
    const std::string key = JoinKey(folder, entry.name);
    const auto info = store_.Stat(key);
    if (!info) return on_unreadable(key, info.error());
    // Replaced since it was listed.
  }
  return is_last ? walking.visit(OuterIndex{grid_.Linear({walking.at.data(), grid_.rank()})})
                 : WalkFolder(walking, JoinKey(folder, entry.name), level + 1);
}

bool StoredObjects::Parse(const ListEntry& entry, size_t level, ChunkCoordinates& at) const {
  const bool is_last = !naming_.nested() || level + 1 == grid_.rank();
  if (entry.is_folder == is_last && !entry.is_refused) return false;
  const bool in_array = level == 0 && naming_.Folder(grid_.rank()).empty();
  return naming_.Parse(grid_.counts(), entry.name, in_array, at, level);
}

// --- FolderWindow --------------------------------------------------------------------------------

Result<FolderWindow> FolderWindow::Open(const Store& store, std::string folder, Parse parse) {
  FolderWindow window(store, std::move(folder), std::move(parse));
  const auto begun = window.Begin();
  if (!begun) return Fail(begun);
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
  const auto read = ReadOn();
  if (!read) return read;
  is_sorted_ = stream_ == nullptr;
  // (A file system may give a name again that was replaced while it was listed.)
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
  while (values_.size() < kNames) {
    const auto names = stream_->Next(std::min(kListedAtOnce, kNames - values_.size()));
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
    const auto read = ReadOn();
    if (!read) return Fail(read);
  }
  return true;
}

Result<bool> FolderWindow::MoveTo(uint64_t value) {
  // Forward first: two programs that list a folder at the same time overtake each other, because
  // the kernel caches what either of them was told.
  for (bool is_new = false;; is_new = true) {
    while (!is_sorted_) {
      const auto found = std::ranges::find(values_, value);
      at_ = static_cast<size_t>(found - values_.begin());
      if (found != values_.end()) return true;
      if (stream_ == nullptr) break;
      const auto read = ReadOn();
      if (!read) return Fail(read);
    }
    if (is_sorted_) {
      const auto found = std::ranges::lower_bound(values_, value);
      at_ = static_cast<size_t>(found - values_.begin());
      return found != values_.end() && *found == value;
    }
    const auto begun = Begin();
    if (!begun) return Fail(begun);
    if (is_new && !is_sorted_) return false;
  }
}

// --- StoredObjectsCursor -------------------------------------------------------------------------

StoredObjectsCursor::StoredObjectsCursor(const StoredObjects& objects,
                                         std::span<const uint64_t> fixed)
    : objects_(objects),
      rank_(objects.grid_.rank()),
      first_(fixed.size()),
      is_flat_(!objects.naming_.nested() || first_ == rank_),
      validity_(Moment::Now(objects.store_).validity()) {
  std::ranges::copy(fixed, at_.begin());
  Restart();
}

void StoredObjectsCursor::Restart() {
  windows_.clear();
  is_at_end_ = objects_.grid_.size() == 0;
}

void StoredObjectsCursor::Watch(std::string_view folder) {
  if (validity_.is_known()) validity_ &= Validity::Watch(objects_.store_, folder);
}

Result<bool> StoredObjectsCursor::MayExist(const std::string& key) const {
  const auto info = objects_.store_.Stat(key);
  if (info) return !info->is_folder;
  if (info.error().code == ErrorCode::kNotFound) return false;
  if (IsTemporary(info.error().code)) return Fail(info);
  return true;
}

Result<void> StoredObjectsCursor::Descend() {
  const size_t level = windows_.size();
  const std::span<const uint64_t> fixed(at_.data(), first_);
  if (first_ == rank_) {
    const std::string key = JoinKey(objects_.folder_, objects_.naming_.Path(fixed));
    Watch(FolderOf(key));
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
  Watch(folder);
  // The last folder gives numbers of objects, those above give coordinates.
  auto parse = [this, dimension,
                is_leaf = IsLeaf(level)](const ListEntry& entry) -> std::optional<uint64_t> {
    ChunkCoordinates at = at_;
    if (!objects_.Parse(entry, dimension, at) ||
        !std::equal(at_.begin(), at_.begin() + static_cast<ptrdiff_t>(first_), at.begin())) {
      return std::nullopt;
    }
    return is_leaf ? objects_.grid_.Linear({at.data(), rank_}) : at[dimension];
  };
  auto window = FolderWindow::Open(objects_.store_, std::move(folder), std::move(parse));
  if (!window) return Fail(window);
  windows_.push_back(*std::move(window));
  return {};
}

Result<std::optional<OuterIndex>> StoredObjectsCursor::Find() {
  while (!is_at_end_) {
    if (windows_.empty()) {
      const auto opened = Descend();
      if (!opened) return Fail(opened);
    }
    const auto has_value = windows_.back().HasValue();
    if (!has_value) return Fail(has_value);
    if (*has_value && IsLeaf(windows_.size() - 1)) return OuterIndex{windows_.back().value()};
    if (*has_value) {
      const auto opened = Descend();
      if (!opened) return Fail(opened);
    } else {
      windows_.pop_back();
      if (windows_.empty()) {
        is_at_end_ = true;
      } else {
        windows_.back().Pass();
      }
    }
  }
  return std::nullopt;
}

Result<void> StoredObjectsCursor::Move(OuterIndex object) {
  ChunkCoordinates wanted{};
  objects_.grid_.Coordinates(ToNumber(object), wanted);
  for (size_t level = 0;; ++level) {
    if (windows_.size() == level) {
      const auto opened = Descend();
      if (!opened) return opened;
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
