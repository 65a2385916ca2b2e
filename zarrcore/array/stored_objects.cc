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
  const OnFolder& on_folder;
  ChunkCoordinates at{};

  void Enter(const std::string& folder) const {
    if (on_folder) on_folder(folder);
  }
};

std::string StoredObjects::Top() const {
  const std::string_view folder = naming_.Folder(grid_.rank());
  return folder.empty() ? folder_ : JoinKey(folder_, folder);
}

Result<void> StoredObjects::Walk(std::span<const uint64_t> fixed, const Visit& visit,
                                 const OnFolder& on_folder) const {
  Walking walking{fixed, visit, on_folder};
  if (grid_.size() == 0) return {};
  if (grid_.rank() == 0) {
    walking.Enter(folder_);
    const auto found = MayExist(JoinKey(folder_, naming_.Path({})));
    if (!found) return Fail(found);
    if (*found) visit(OuterIndex{0});
    return {};
  }
  if (!naming_.nested()) return WalkFlat(walking);
  const auto walked = WalkFolder(walking, Top(), 0);
  if (!walked) return Fail(walked);
  return {};
}

Result<std::vector<uint64_t>> StoredObjects::NextCoordinates(
    std::span<const uint64_t> fixed) const {
  std::string folder = Top();
  for (const uint64_t value : fixed) folder = JoinKey(folder, std::to_string(value));
  return List(folder, fixed.size());
}

// True also of an object that cannot be read: opening it gives the reason.
Result<bool> StoredObjects::MayExist(const std::string& key) const {
  const auto info = store_.Stat(key);
  if (info) return !info->is_folder;
  if (info.error().code == ErrorCode::kNotFound) return false;
  if (IsTemporary(info.error().code)) return Fail(info);
  return true;
}

Result<std::vector<uint64_t>> StoredObjects::List(const std::string& folder,
                                                  size_t dimension) const {
  const auto entries = store_.List(folder);
  std::vector<uint64_t> values;
  if (!entries) {
    if (entries.error().code == ErrorCode::kNotFound) return values;
    return Fail(entries);
  }
  const bool wants_objects = dimension + 1 == grid_.rank();
  for (const ListEntry& entry : *entries) {
    const auto value = ParseCoordinate(entry.name, grid_.counts()[dimension]);
    if (value && (entry.is_refused || entry.is_folder != wants_objects)) values.push_back(*value);
  }
  return values;
}

// False once `visit` has ended the walk.
Result<bool> StoredObjects::WalkFolder(Walking& walking, const std::string& folder,
                                       size_t dimension) const {
  const bool is_fixed = dimension < walking.fixed.size();
  const bool is_last = dimension + 1 == grid_.rank();
  std::vector<uint64_t> values;
  if (is_fixed) {
    values.push_back(walking.fixed[dimension]);
    if (is_last) walking.Enter(folder);
  } else {
    walking.Enter(folder);
    auto listed = List(folder, dimension);
    if (!listed) return Fail(listed);
    values = std::move(*listed);
  }
  for (const uint64_t value : values) {
    walking.at[dimension] = value;
    if (!is_last) {
      const auto below = WalkFolder(walking, JoinKey(folder, std::to_string(value)), dimension + 1);
      if (!below || !*below) return below;
      continue;
    }
    const Result<bool> exists = is_fixed ? MayExist(JoinKey(folder, std::to_string(value))) : true;
    if (!exists) return exists;
    const OuterIndex outer{grid_.Linear({walking.at.data(), grid_.rank()})};
    if (*exists && !walking.visit(outer)) return false;
  }
  return true;
}

Result<void> StoredObjects::WalkFlat(Walking& walking) const {
  walking.Enter(folder_);
  const auto entries = store_.List(folder_);
  if (!entries) {
    if (entries.error().code == ErrorCode::kNotFound) return {};
    return Fail(entries);
  }
  for (const ListEntry& entry : *entries) {
    if (entry.is_folder && !entry.is_refused) continue;
    size_t level = 0;
    if (!naming_.Parse(grid_.counts(), entry.name, /*in_array=*/true, walking.at, level)) continue;
    if (!std::ranges::equal(walking.fixed, std::span(walking.at).first(walking.fixed.size()))) {
      continue;
    }
    if (!walking.visit(OuterIndex{grid_.Linear({walking.at.data(), grid_.rank()})})) break;
  }
  return {};
}

}  // namespace zarrfs
