// The names of commits in an Icechunk repository: branches, tags and snapshot ids.
//
//   version 1   refs/branch.NAME/ref.json, refs/tag.NAME/ref.json; a ref.json.deleted in the same
//               folder deletes the tag
//   version 2   one object, `repo`
//
// All other objects of a repository never change.
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

/// A commit that a user names.
struct IcechunkAt {
  enum class Kind { kBranch, kTag, kSnapshot };
  Kind kind = Kind::kBranch;
  std::string name = "main";  // the name of the branch or tag
  IcechunkId snapshot{};

  /// True for a branch, because its commit may change.
  [[nodiscard]] bool moves() const { return kind == Kind::kBranch; }
  /// Returns the string for which ParseIcechunkAt() returns this commit.
  [[nodiscard]] std::string Text() const;
};

/// Parses "branch.NAME", "tag.NAME", or the 20 characters of a snapshot id. kInvalidArgument for
/// any other string; the message lists these forms.
[[nodiscard]] Result<IcechunkAt> ParseIcechunkAt(std::string_view text);

/// The snapshot that an IcechunkAt pointed to when it was looked up.
struct IcechunkPointer {
  IcechunkId snapshot{};
  std::string key;  // the key of the file with the pointer; "" for kSnapshot
  ObjectInfo info;  // the attributes of the file `key`
};

/// Looks up a branch or tag. kNotFound, with similar names, if it does not exist;
/// kPermissionDenied, with the reason, if the repository is offline. nullopt if `container`
/// contains no repository: neither a `repo` that is an Icechunk file, nor a pointer of the branch
/// main. In a slow store, all objects are requested concurrently.
[[nodiscard]] Result<std::optional<IcechunkPointer>> LookForIcechunk(const Store& container,
                                                                     const IcechunkAt& at);

/// Like LookForIcechunk(), but kNotFound if there is no repository.
[[nodiscard]] Result<IcechunkPointer> FindIcechunkPointer(const Store& container,
                                                          const IcechunkAt& at);

/// The names of all branches and tags, such as "branch.main" and "tag.v1.0". In version 1, sorted.
[[nodiscard]] Result<std::vector<std::string>> ListIcechunkNames(const Store& container);

/// A branch or tag, and the snapshot that it points to.
struct IcechunkRef {
  IcechunkAt at;
  IcechunkPointer pointer = {};
  /// The error if the branch or tag cannot be read. `pointer` then has its previous value, if
  /// known.
  std::optional<Error> error = {};

  [[nodiscard]] bool leads_somewhere() const { return !pointer.key.empty(); }
};

/// Maximum number of branches and tags that ReadIcechunkRefs() reads.
inline constexpr size_t kMaxIcechunkRefs = 20'000;

/// Looks up all branches and tags. `known` is the result of an earlier call: objects that have not
/// changed since are not read again. In version 1, the error of a damaged branch or tag is in its
/// IcechunkRef::error; all other errors fail the call. kTooLarge for more than kMaxIcechunkRefs;
/// kNotFound if `known` is of version 2 and `repo` no longer exists.
[[nodiscard]] Result<std::vector<IcechunkRef>> ReadIcechunkRefs(
    const Store& container, const std::vector<IcechunkRef>& known = {});

/// The configuration of a repository, in FlexBuffers; "" if it has none. kUnsupported for
/// version 1.
[[nodiscard]] Result<std::string> ReadIcechunkConfig(const Store& container);

/// A commit in the history of a repository.
struct IcechunkCommit {
  IcechunkId id{};
  std::optional<IcechunkId> parent = {};
  int64_t time_ns = 0;  // nanoseconds since 1970
  std::string message;
};
struct IcechunkHistory {
  std::vector<IcechunkCommit> commits;  // newest first
  // The branches and tags, sorted, with their snapshots.
  std::vector<std::pair<std::string, IcechunkId>> names;
};

/// Maximum number of commits that are read from a repository of version 1, which has one file per
/// commit.
inline constexpr size_t kMaxCommits = 100'000;

/// All commits of the repository. In version 1, returns only the commits that are reachable from
/// branches and tags; kTooLarge for more than kMaxCommits.
[[nodiscard]] Result<IcechunkHistory> ReadIcechunkHistory(const Store& container);

/// Parses the content of refs/…/ref.json. kDamaged if it names no snapshot.
[[nodiscard]] Result<IcechunkId> ParseIcechunkRef(std::string_view key, std::string_view text);

}  // namespace zarrfs
