#include "zarrcore/icechunk/repository.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/icechunk/stored_names.h"
#include "zarrcore/icechunk/stored_values.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kRepo = "repo";
constexpr std::string_view kRefs = "refs";
constexpr std::string_view kBranch = "branch.";
constexpr std::string_view kTag = "tag.";
constexpr uint64_t kMaxRef = 4096;  // the maximum size of ref.json in bytes
constexpr size_t kNamesShown = 8;   // the maximum number of names in a message
constexpr uint8_t kOffline = 2;     // a value of icechunk::Status::availability

std::string RefKey(std::string_view name) { return fmt::format("{}/{}/ref.json", kRefs, name); }

bool IsNotFound(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory;
}

// True if the error concerns one object, so other objects of the repository may be readable.
bool IsOfOneObject(const Error& error) {
  return error.code == ErrorCode::kDamaged || error.code == ErrorCode::kTooLarge ||
         error.code == ErrorCode::kPermissionDenied;
}

// The file `repo`, read and verified.
class RepoFile {
 public:
  // Reads the file; nullopt if it does not exist or is not an Icechunk file.
  static Result<std::optional<RepoFile>> ReadIfAny(const Store& container) {
    auto stored = ReadStoredIcechunkFile(container, std::string(kRepo));
    if (!stored && IsNotFound(stored.error())) return std::nullopt;
    if (!stored) return Fail(stored);
    if (!IsIcechunkFile(stored->bytes)) return std::nullopt;
    auto file = DecodeIcechunkFile(kRepo, std::move(stored->bytes), IcechunkFileType::kRepo,
                                   std::move(stored->memory));
    if (!file) return Fail(file);
    file->info = std::move(stored->info);
    const auto table = IcechunkTable<icechunk::Repo>(*file);
    if (!table) return Fail(table);
    const icechunk::Status& status = *(*table)->status();
    if (status.availability() >= kOffline) {
      const auto reason =
          status.reason() == nullptr ? "no reason is given"sv : TextOf(*status.reason());
      return Fail(ErrorCode::kPermissionDenied, "{}: the Icechunk repository is offline: {}",
                  container.name(), OneLine(AsciiExcerpt(reason)));
    }
    return RepoFile(*std::move(file));
  }

  [[nodiscard]] const ObjectInfo& info() const { return file_.info; }

  // The snapshot of a branch or tag; nullopt if `repo` has no such branch or tag.
  [[nodiscard]] Result<std::optional<IcechunkId>> Find(const IcechunkAt& at) const {
    const auto& refs = *(at.kind == IcechunkAt::Kind::kTag ? table().tags() : table().branches());
    for (const icechunk::Ref* ref : refs) {
      if (TextOf(*ref->name()) != at.name) continue;
      const auto& snapshots = *table().snapshots();
      if (ref->snapshot() >= snapshots.size()) return WrongSnapshot(at, *ref);
      return IdOf(*snapshots.Get(ref->snapshot())->id());
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto add = [&](std::string_view kind, const auto& refs) {
      for (const icechunk::Ref* ref : refs) {
        names.push_back(std::string(kind).append(TextOf(*ref->name())));
      }
    };
    add(kBranch, *table().branches());
    add(kTag, *table().tags());
    return names;
  }

  [[nodiscard]] Result<std::vector<IcechunkRef>> Refs() const {
    std::vector<IcechunkRef> refs;
    const auto add = [&](IcechunkAt::Kind kind, const auto& stored) -> Result<void> {
      const auto& snapshots = *table().snapshots();
      for (const icechunk::Ref* ref : stored) {
        IcechunkAt at{.kind = kind, .name = std::string(TextOf(*ref->name()))};
        if (ref->snapshot() >= snapshots.size()) return WrongSnapshot(at, *ref);
        const IcechunkId id = IdOf(*snapshots.Get(ref->snapshot())->id());
        refs.push_back({std::move(at), {id, std::string(kRepo), file_.info}});
      }
      return {};
    };
    if (table().branches()->size() + size_t{table().tags()->size()} > kMaxIcechunkRefs) {
      return Fail(ErrorCode::kTooLarge, "{}: more than {} branches and tags", kRepo,
                  kMaxIcechunkRefs);
    }
    if (auto added = add(IcechunkAt::Kind::kBranch, *table().branches()); !added) {
      return Fail(added);
    }
    if (auto added = add(IcechunkAt::Kind::kTag, *table().tags()); !added) return Fail(added);
    return refs;
  }

  [[nodiscard]] std::string Config() const {
    const auto* const config = table().config();
    return config == nullptr ? std::string() : std::string(config->begin(), config->end());
  }

  [[nodiscard]] Result<IcechunkHistory> History() const {
    IcechunkHistory history;
    const auto& rows = *table().snapshots();
    for (const icechunk::SnapshotRow* row : rows) {
      IcechunkCommit commit{.id = IdOf(*row->id()),
                            .message = std::string(TextOf(*row->message()))};
      commit.time_ns = IcechunkTimeNs(row->time());
      const auto parent = row->parent();
      if (parent >= 0 && static_cast<uint32_t>(parent) < rows.size()) {
        commit.parent = IdOf(*rows.Get(static_cast<uint32_t>(parent))->id());
      }
      history.commits.push_back(std::move(commit));
    }
    for (const std::string& name : Names()) {
      const auto at = ParseIcechunkAt(name);
      if (!at) continue;
      const auto id = Find(*at);
      if (!id) return Fail(id);
      if (*id) history.names.emplace_back(name, **id);
    }
    return history;
  }

 private:
  explicit RepoFile(IcechunkFile file) : file_(std::move(file)) {}

  [[nodiscard]] tl::unexpected<Error> WrongSnapshot(const IcechunkAt& at,
                                                    const icechunk::Ref& ref) const {
    return Fail(ErrorCode::kDamaged,
                "{}: damaged: {} refers to snapshot number {}, but there are {}", kRepo,
                AsciiExcerpt(at.Text()), ref.snapshot(), table().snapshots()->size());
  }

  [[nodiscard]] const icechunk::Repo& table() const {
    return *flatbuffers::GetRoot<icechunk::Repo>(file_.content.data());
  }

  IcechunkFile file_;
};

// True if `at` is a tag that was deleted. `name` is the name under which it is stored.
Result<bool> IsDeleted(const Store& container, const IcechunkAt& at, std::string_view name) {
  if (at.kind != IcechunkAt::Kind::kTag) return false;
  const std::string key = RefKey(name) + ".deleted";
  if (!IsValidKey(key)) return false;
  // Uses Read(), because on a web server Stat() would also request documents below the key.
  std::array<std::byte, 1> first;
  const auto mark = container.Read(key, ByteRange::At(0, first.size()), first);
  if (!mark && !IsNotFound(mark.error())) return Fail(mark);
  return mark.has_value();
}

// Looks up a branch or tag, stored as `name`, in a repository of version 1. nullopt if it does not
// exist. Does not check whether it was deleted.
Result<std::optional<IcechunkPointer>> FindRef(const Store& container, const IcechunkAt& at,
                                               std::string_view name) {
  const std::string key = RefKey(name);
  if (at.kind == IcechunkAt::Kind::kSnapshot || !IsValidKey(key)) return std::nullopt;
  auto whole = ReadWhole(container, key, kMaxRef);
  if (!whole && IsNotFound(whole.error())) return std::nullopt;
  if (!whole) return Fail(whole);
  const auto id = ParseIcechunkRef(key, whole->bytes);
  if (!id) return Fail(id);
  return IcechunkPointer{*id, key, whole->object->info()};
}

// The result of looking up a branch or tag under one of its stored names.
struct StoredRef {
  explicit StoredRef(std::string stored) : name(std::move(stored)) {}

  // The pointer; nullopt if the branch or tag does not exist or is deleted.
  [[nodiscard]] Result<std::optional<IcechunkPointer>> Answer() const {
    if (!pointer) return Fail(pointer);
    if (!is_deleted) return Fail(is_deleted);
    return *is_deleted ? std::nullopt : *pointer;
  }

  std::string name;
  Result<std::optional<IcechunkPointer>> pointer;
  Result<bool> is_deleted = false;
};

Error NoSuchName(const Store& container, const IcechunkAt& at) {
  const std::string asked = AsciiExcerpt(at.Text());
  std::string others;
  if (const auto names = ListIcechunkNames(container)) {
    const std::vector<std::string_view> known(names->begin(), names->end());
    others = DidYouMean(at.Text(), known);
    if (others.empty() && !names->empty()) {
      others = ": there are ";
      for (size_t i = 0; i < std::min(known.size(), kNamesShown); ++i) {
        others += (i > 0 ? ", " : "") + AsciiExcerpt(known[i]);
      }
      if (known.size() > kNamesShown) others += ", ...";
    }
  }
  return {ErrorCode::kNotFound,
          fmt::format("{}: the Icechunk repository has no {}{}", container.name(), asked, others)};
}

}  // namespace

std::string IcechunkAt::Text() const {
  if (kind == Kind::kSnapshot) return IcechunkIdText(snapshot);
  return std::string(kind == Kind::kTag ? kTag : kBranch).append(name);
}

Result<IcechunkAt> ParseIcechunkAt(std::string_view text) {
  IcechunkAt at;
  for (const auto& [prefix, kind] :
       {std::pair{kBranch, IcechunkAt::Kind::kBranch}, std::pair{kTag, IcechunkAt::Kind::kTag}}) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
    at.kind = kind;
    at.name = text.substr(prefix.size());
    return at;
  }
  const auto id = ParseIcechunkId(text);
  if (!id) {
    return Fail(ErrorCode::kInvalidArgument,
                "'{}': expected branch.NAME, tag.NAME or the {} characters of a snapshot",
                AsciiExcerpt(text), kIcechunkIdText);
  }
  at.kind = IcechunkAt::Kind::kSnapshot;
  at.name.clear();
  at.snapshot = *id;
  return at;
}

Result<std::optional<IcechunkPointer>> LookForIcechunk(const Store& container,
                                                       const IcechunkAt& at) {
  const bool is_snapshot = at.kind == IcechunkAt::Kind::kSnapshot;
  const IcechunkAt main;
  Result<std::optional<RepoFile>> repo;
  Result<std::optional<IcechunkPointer>> of_main;
  std::vector<StoredRef> refs;
  for (std::string& name : StoredIcechunkNames(at)) refs.emplace_back(std::move(name));
  std::vector<std::function<void()>> questions = {
      [&] { repo = RepoFile::ReadIfAny(container); },
      [&] {
        if (at.Text() != main.Text()) of_main = FindRef(container, main, main.Text());
      },
  };
  for (StoredRef& ref : refs) {
    questions.emplace_back([&] { ref.pointer = FindRef(container, at, ref.name); });
    questions.emplace_back([&] { ref.is_deleted = IsDeleted(container, at, ref.name); });
  }
  const bool is_fast = container.AnswersFast();
  AtOnce(questions.size(), is_fast ? 1 : questions.size(), [&](size_t question) {
    const bool is_known = is_fast && question > 0 && (!repo || repo->has_value());
    if (!is_known) questions[question]();
  });
  if (!repo) return Fail(repo);
  const IcechunkPointer of_snapshot{at.snapshot, "", {}};
  if (*repo) {
    if (is_snapshot) return of_snapshot;
    const auto id = (*repo)->Find(at);
    if (!id) return Fail(id);
    if (!*id) return tl::unexpected(NoSuchName(container, at));
    return IcechunkPointer{**id, std::string(kRepo), (*repo)->info()};
  }
  for (const StoredRef& ref : refs) {
    auto found = ref.Answer();
    if (!found || *found) return found;
  }
  if (!of_main) return Fail(of_main);
  if (!*of_main) return std::nullopt;
  if (is_snapshot) return of_snapshot;
  return tl::unexpected(NoSuchName(container, at));
}

Result<IcechunkPointer> FindIcechunkPointer(const Store& container, const IcechunkAt& at) {
  auto found = LookForIcechunk(container, at);
  if (!found) return Fail(found);
  if (!*found) return tl::unexpected(NoSuchName(container, at));
  return **std::move(found);
}

namespace {

// Lists all branches and tags of a repository of version 1, including deleted ones, with their
// stored names.
Result<std::vector<std::pair<IcechunkAt, std::string>>> ListStoredRefs(const Store& container) {
  const auto entries = container.List(kRefs);
  if (!entries) return Fail(entries);
  if (entries->size() > kMaxIcechunkRefs) {
    return Fail(ErrorCode::kTooLarge, "{}: more than {} branches and tags", kRefs,
                kMaxIcechunkRefs);
  }
  std::vector<std::pair<IcechunkAt, std::string>> refs;
  for (const ListEntry& entry : *entries) {
    auto at = ParseIcechunkAt(entry.name);
    if (!at || at->kind == IcechunkAt::Kind::kSnapshot) continue;
    at->name = NameOfStoredIcechunkRef(at->name);
    refs.emplace_back(*std::move(at), entry.name);
  }
  return refs;
}

}  // namespace

Result<std::vector<std::string>> ListIcechunkNames(const Store& container) {
  const auto repo = RepoFile::ReadIfAny(container);
  if (!repo) return Fail(repo);
  if (*repo) return (*repo)->Names();
  const auto refs = ListStoredRefs(container);
  if (!refs) return Fail(refs);
  std::vector<std::string> names;
  for (const auto& [at, stored] : *refs) {
    const auto deleted = IsDeleted(container, at, stored);
    if (!deleted) return Fail(deleted);
    if (!*deleted) names.push_back(at.Text());
  }
  std::ranges::sort(names);
  return names;
}

namespace {

bool IsSame(const Store& container, const IcechunkPointer& known) {
  if (IsRacy(container, known.info)) return false;
  const auto info = container.Stat(known.key);
  return info && info->version == known.info.version;
}

// Returns the current pointer of a branch or tag in a repository of version 1. `known` is its
// previous pointer, or null. nullopt if the branch or tag was deleted.
Result<std::optional<IcechunkPointer>> FollowRef(const Store& container, const IcechunkAt& at,
                                                 std::string_view name,
                                                 const IcechunkPointer* known) {
  const auto deleted = IsDeleted(container, at, name);
  if (!deleted) return Fail(deleted);
  if (*deleted) return std::nullopt;
  // A tag never changes, so its previous pointer is still valid.
  const bool is_tag = at.kind == IcechunkAt::Kind::kTag;
  if (known != nullptr && (is_tag || IsSame(container, *known))) return *known;
  return FindRef(container, at, name);
}

Result<std::vector<IcechunkRef>> ReadRefsOfVersion1(const Store& container,
                                                    const std::vector<IcechunkRef>& known) {
  std::map<std::string_view, const IcechunkPointer*> pointers;
  for (const IcechunkRef& ref : known) {
    if (ref.leads_somewhere()) pointers.emplace(FolderOf(ref.pointer.key), &ref.pointer);
  }
  const auto stored = ListStoredRefs(container);
  if (!stored) return Fail(stored);
  const auto before = [&](std::string_view name) {
    const auto pointer = pointers.find(FolderOf(RefKey(name)));
    return pointer == pointers.end() ? nullptr : pointer->second;
  };
  std::vector<Result<std::optional<IcechunkPointer>>> found(stored->size());
  constexpr size_t kAtOnce = 32;
  AtOnce(found.size(), container.AnswersFast() ? 1 : kAtOnce, [&](size_t i) {
    const auto& [at, name] = (*stored)[i];
    found[i] = FollowRef(container, at, name, before(name));
  });
  std::vector<IcechunkRef> refs;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [at, name] = (*stored)[i];
    if (!found[i] && !IsOfOneObject(found[i].error())) return Fail(found[i]);
    if (found[i] && !*found[i]) continue;
    IcechunkRef& ref = refs.emplace_back(IcechunkRef{.at = at});
    if (found[i]) {
      ref.pointer = **std::move(found[i]);
    } else {
      ref.error = found[i].error();
      if (const IcechunkPointer* const last = before(name)) ref.pointer = *last;
    }
  }
  return refs;
}

}  // namespace

Result<std::vector<IcechunkRef>> ReadIcechunkRefs(const Store& container,
                                                  const std::vector<IcechunkRef>& known) {
  const bool is_version_2 = !known.empty() && known.front().pointer.key == kRepo;
  if (is_version_2 && IsSame(container, known.front().pointer)) return known;
  const auto repo = RepoFile::ReadIfAny(container);
  if (!repo) return Fail(repo);
  if (*repo) return (*repo)->Refs();
  if (is_version_2) {
    return Fail(ErrorCode::kNotFound, "{}: its file {} is gone", container.name(), kRepo);
  }
  return ReadRefsOfVersion1(container, known);
}

Result<std::string> ReadIcechunkConfig(const Store& container) {
  const auto repo = RepoFile::ReadIfAny(container);
  if (!repo) return Fail(repo);
  if (*repo) return (*repo)->Config();
  return Fail(
      ErrorCode::kUnsupported,
      "the configuration of a repository of version 1 is not read: make it one of version 2 "
      "with icechunk.upgrade_icechunk_repository()");
}

Result<IcechunkId> ParseIcechunkRef(std::string_view key, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto damaged = [&] {
    return Fail(ErrorCode::kDamaged, "{}: damaged: expected {{\"snapshot\": ID}}, found {}", key,
                AsciiExcerpt(text));
  };
  if (!json.is_object()) return damaged();
  const auto member = json.find("snapshot");
  if (member == json.end() || !member->is_string()) return damaged();
  const auto id = ParseIcechunkId(member->get_ref<const std::string&>());
  if (!id) return damaged();
  return *id;
}

namespace {

// Reads the history in version 1, where each commit names its parent.
Result<IcechunkHistory> ReadHistoryOfRefs(const Store& container) {
  IcechunkHistory history;
  const auto refs = ListStoredRefs(container);
  if (!refs) return Fail(refs);
  std::vector<IcechunkId> next;
  for (const auto& [at, stored] : *refs) {
    const auto pointer = FollowRef(container, at, stored, nullptr);
    if (!pointer) return Fail(pointer);
    if (!*pointer) continue;  // the branch or tag was deleted
    history.names.emplace_back(at.Text(), (*pointer)->snapshot);
    next.push_back((*pointer)->snapshot);
  }
  std::set<IcechunkId> seen;
  while (!next.empty()) {
    const IcechunkId id = next.back();
    next.pop_back();
    if (!seen.insert(id).second) continue;
    if (seen.size() > kMaxCommits) {
      return Fail(ErrorCode::kTooLarge, "{}: the history has more than {} commits",
                  container.name(), kMaxCommits);
    }
    auto file =
        ReadIcechunkFile(container, "snapshots/" + IcechunkIdText(id), IcechunkFileType::kSnapshot);
    if (!file && IsNotFound(file.error())) continue;  // the commit has expired
    if (!file) return Fail(file);
    const auto snapshot = IcechunkSnapshot::Parse(*std::move(file), id);
    if (!snapshot) return Fail(snapshot);
    history.commits.push_back({.id = id,
                               .parent = (*snapshot)->parent(),
                               .time_ns = (*snapshot)->time_ns(),
                               .message = std::string((*snapshot)->message())});
    if ((*snapshot)->parent()) next.push_back(*(*snapshot)->parent());
  }
  return history;
}

}  // namespace

Result<IcechunkHistory> ReadIcechunkHistory(const Store& container) {
  const auto repo = RepoFile::ReadIfAny(container);
  if (!repo) return Fail(repo);
  auto history = *repo ? (*repo)->History() : ReadHistoryOfRefs(container);
  if (!history) return history;
  std::ranges::stable_sort(history->commits, std::ranges::greater{}, &IcechunkCommit::time_ns);
  std::ranges::sort(history->names);
  return history;
}

}  // namespace zarrfs
