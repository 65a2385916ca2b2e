#include "zarrcore/icechunk/repository.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/icechunk/stored_values.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kRepo = "repo";
constexpr std::string_view kRefs = "refs";
constexpr std::string_view kBranch = "branch.";
constexpr std::string_view kTag = "tag.";
constexpr uint64_t kMaxRef = 4096;  // bytes of ref.json
constexpr size_t kNamesShown = 8;   // in a message
constexpr uint8_t kOffline = 2;     // icechunk::Status::availability

std::string RefKey(std::string_view name) { return fmt::format("{}/{}/ref.json", kRefs, name); }

bool IsNotFound(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory;
}

// `repo`, read and verified.
class RepoFile {
 public:
  // nullopt if there is no file of Icechunk by this name.
  static Result<std::optional<RepoFile>> ReadIfAny(const Store& container) {
    auto stored = ReadStoredIcechunkFile(container, std::string(kRepo));
    if (!stored && IsNotFound(stored.error())) return std::nullopt;
    if (!stored) return Fail(stored);
    if (!IsIcechunkFile(stored->bytes)) return std::nullopt;
    auto file = DecodeIcechunkFile(kRepo, std::move(stored->bytes), IcechunkFileType::kRepo);
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

  // The snapshot of a branch or tag; nullopt if there is none.
  [[nodiscard]] Result<std::optional<IcechunkId>> Find(const IcechunkAt& at) const {
    const auto& refs = *(at.kind == IcechunkAt::Kind::kTag ? table().tags() : table().branches());
    for (const icechunk::Ref* ref : refs) {
      if (TextOf(*ref->name()) != at.name) continue;
      const auto& snapshots = *table().snapshots();
      if (ref->snapshot() >= snapshots.size()) {
        return Fail(ErrorCode::kDamaged, "{}: damaged: {} is snapshot {} of {}", kRepo, at.Text(),
                    ref->snapshot(), snapshots.size());
      }
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

  [[nodiscard]] const icechunk::Repo& table() const {
    return *flatbuffers::GetRoot<icechunk::Repo>(file_.content.data());
  }

  IcechunkFile file_;
};

Result<bool> IsDeleted(const Store& container, const IcechunkAt& at) {
  if (at.kind != IcechunkAt::Kind::kTag) return false;
  const std::string key = RefKey(at.Text()) + ".deleted";
  if (!IsValidKey(key)) return false;
  // (Of a web server, a Stat() would go on to ask whether it is a folder.)
  std::array<std::byte, 1> first;
  const auto mark = container.Read(key, ByteRange::At(0, first.size()), first);
  if (!mark && !IsNotFound(mark.error())) return Fail(mark);
  return mark.has_value();
}

// Version 1; nullopt if there is no such branch or tag. Does not look whether it is deleted.
Result<std::optional<IcechunkPointer>> FindRef(const Store& container, const IcechunkAt& at) {
  const std::string key = RefKey(at.Text());
  if (at.kind == IcechunkAt::Kind::kSnapshot || !IsValidKey(key)) return std::nullopt;
  auto whole = ReadWhole(container, key, kMaxRef);
  if (!whole && IsNotFound(whole.error())) return std::nullopt;
  if (!whole) return Fail(whole);
  const auto id = ParseIcechunkRef(key, whole->bytes);
  if (!id) return Fail(id);
  return IcechunkPointer{*id, key, whole->object->info()};
}

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
  Result<std::optional<IcechunkPointer>> ref;
  Result<std::optional<IcechunkPointer>> of_main;
  Result<bool> is_deleted = false;
  const std::array<std::function<void()>, 4> questions = {
      [&] { repo = RepoFile::ReadIfAny(container); },
      [&] { ref = FindRef(container, at); },
      [&] { is_deleted = IsDeleted(container, at); },
      [&] {
        if (at.Text() != main.Text()) of_main = FindRef(container, main);
      },
  };
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
  if (!ref) return Fail(ref);
  if (!is_deleted) return Fail(is_deleted);
  if (*ref && !*is_deleted) return *std::move(ref);
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

Result<std::vector<std::string>> ListIcechunkNames(const Store& container) {
  const auto repo = RepoFile::ReadIfAny(container);
  if (!repo) return Fail(repo);
  if (*repo) return (*repo)->Names();
  const auto entries = container.List(kRefs);
  if (!entries) return Fail(entries);
  std::vector<std::string> names;
  for (const ListEntry& entry : *entries) {
    const auto at = ParseIcechunkAt(entry.name);
    if (!at || at->kind == IcechunkAt::Kind::kSnapshot) continue;
    const auto deleted = IsDeleted(container, *at);
    if (!deleted) return Fail(deleted);
    if (!*deleted) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  return names;
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

// Version 1: each commit names the one before it.
Result<IcechunkHistory> ReadHistoryOfRefs(const Store& container) {
  IcechunkHistory history;
  const auto names = ListIcechunkNames(container);
  if (!names) return Fail(names);
  std::vector<IcechunkId> next;
  for (const std::string& name : *names) {
    const auto pointer = FindRef(container, *ParseIcechunkAt(name));
    if (!pointer) return Fail(pointer);
    if (!*pointer) continue;  // deleted meanwhile
    history.names.emplace_back(name, (*pointer)->snapshot);
    next.push_back((*pointer)->snapshot);
  }
  std::set<IcechunkId> seen;
  while (!next.empty()) {
    const IcechunkId id = next.back();
    next.pop_back();
    if (!seen.insert(id).second) continue;
    if (seen.size() > kMaxCommits) {
      return Fail(ErrorCode::kTooLarge, "{}: a history of more than {} commits", container.name(),
                  kMaxCommits);
    }
    auto file =
        ReadIcechunkFile(container, "snapshots/" + IcechunkIdText(id), IcechunkFileType::kSnapshot);
    if (!file && IsNotFound(file.error())) continue;  // expired
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
