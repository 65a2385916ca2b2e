// What an Icechunk repository calls its commits: branches, tags, snapshots.
//
//   version 1   refs/branch.NAME/ref.json, refs/tag.NAME/ref.json; a ref.json.deleted in the same
//               folder deletes the tag
//   version 2   one object, `repo`
//
// Everything else in a repository never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/icechunk_file.h"
#include "zarrcore/icechunk/object_id.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Which commit somebody asks for.
struct IcechunkAt {
  enum class Kind { kBranch, kTag, kSnapshot };
  Kind kind = Kind::kBranch;
  std::string name = "main";  // of a branch or tag
  IcechunkId snapshot{};

  /// Of a branch: another commit may follow.
  [[nodiscard]] bool moves() const { return kind == Kind::kBranch; }
  /// As ParseIcechunkAt() takes it.
  [[nodiscard]] std::string Text() const;
};

/// "branch.NAME", "tag.NAME", or the 20 characters of a snapshot. kInvalidArgument for anything
/// else, with what was expected.
[[nodiscard]] Result<IcechunkAt> ParseIcechunkAt(std::string_view text);

/// What `at` led to when it was asked.
struct IcechunkPointer {
  IcechunkId snapshot{};
  std::string key;  // of the object that says so; "" for IcechunkAt::Kind::kSnapshot
  ObjectInfo info;  // and its version
};

/// Looks up a branch or tag. kNotFound, with the nearest names, if there is none; kPermissionDenied
/// with the reason if the repository is offline. nullopt if `container` holds no repository:
/// neither a `repo` that is a file of Icechunk, nor a pointer of the branch main. On a slow store
/// all of this is asked for at once.
[[nodiscard]] Result<std::optional<IcechunkPointer>> LookForIcechunk(const Store& container,
                                                                     const IcechunkAt& at);

/// The same where there is a repository, or kNotFound.
[[nodiscard]] Result<IcechunkPointer> FindIcechunkPointer(const Store& container,
                                                          const IcechunkAt& at);

/// All branches and tags, sorted: "branch.main", "tag.v1.0".
[[nodiscard]] Result<std::vector<std::string>> ListIcechunkNames(const Store& container);

/// A commit, as the history of a repository has it.
struct IcechunkCommit {
  IcechunkId id{};
  std::optional<IcechunkId> parent = {};
  int64_t time_ns = 0;  // since 1970
  std::string message;
};
struct IcechunkHistory {
  std::vector<IcechunkCommit> commits;                    // the newest first
  std::vector<std::pair<std::string, IcechunkId>> names;  // branches and tags, sorted
};

/// Commits of a repository of version 1 that are read, one file each.
inline constexpr size_t kMaxCommits = 100'000;

/// All that branches and tags lead to, and in version 2 all commits. kTooLarge beyond kMaxCommits.
[[nodiscard]] Result<IcechunkHistory> ReadIcechunkHistory(const Store& container);

/// The content of refs/…/ref.json. kDamaged if it names no snapshot.
[[nodiscard]] Result<IcechunkId> ParseIcechunkRef(std::string_view key, std::string_view text);

}  // namespace zarrfs
