#include "zarrcore/array/stored_objects.h"

#include <algorithm>

namespace zarrfs {

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
  const auto entries = store_.List(folder);
  if (!entries) {
    if (entries.error().code == ErrorCode::kNotFound) return true;
    if (on_unreadable) return on_unreadable(folder, entries.error());
    return Fail(entries);
  }
  const bool in_array = level == 0 && naming_.Folder(grid_.rank()).empty();
  const size_t fixed = naming_.nested() ? 0 : walking.fixed.size();
  for (const ListEntry& entry : *entries) {
    size_t end = level;
    if ((entry.is_folder == is_last && !entry.is_refused) ||
        !naming_.Parse(grid_.counts(), entry.name, in_array, walking.at, end) ||
        !std::ranges::equal(walking.fixed.first(fixed), std::span(walking.at).first(fixed))) {
      continue;
    }
    if (entry.is_refused && on_unreadable) {
      const std::string key = JoinKey(folder, entry.name);
      if (const auto info = store_.Stat(key); !info) {
        if (!on_unreadable(key, info.error())) return false;
        continue;
      }  // else: replaced since it was listed
    }
    const Result<bool> goes_on =
        is_last ? walking.visit(OuterIndex{grid_.Linear({walking.at.data(), grid_.rank()})})
                : WalkFolder(walking, JoinKey(folder, entry.name), level + 1);
    if (!goes_on || !*goes_on) return goes_on;
  }
  return true;
}

}  // namespace zarrfs
