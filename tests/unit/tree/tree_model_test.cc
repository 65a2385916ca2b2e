// Compares a Tree with the reference model, step by step, over random steps.
//
// Steps are values that mean the same whatever came before, so a failing sequence is shrunk to the
// shortest one that fails and printed such that it can be pasted below as a test of its own. Runs
// about kSteps steps, or as many as ZARRFS_MODEL_STEPS says, from the seed ZARRFS_MODEL_SEED.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <unordered_map>

#include "fs/tree/tree.h"
#include "tests/unit/support/fake_store.h"
#include "tests/unit/tree/reference_model.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::tree_model_test {
namespace {

using model::File;
using model::kPaths;
using model::kViews;
using model::Node;
using model::ReferenceModel;
using model::Shown;

constexpr size_t kAllViews = kViews.size();
constexpr uint64_t kSteps = 100'000;
constexpr size_t kStepsOfRun = 400;

enum class Op : uint8_t {
  kLookUp,      // a name, along its path
  kRead,        // the same, and a piece of the file
  kReadBefore,  // what the name stood for some time ago
  kAttributes,  // likewise
  kCheckOpen,   // likewise
  kOpenFolder,
  kList,  // on, in the folder that was opened last
  kPutNode,
  kRemoveNode,
  kSetAttributes,
  kResize,
  kPutObject,
  kRewriteObject,
  kDamageObject,
  kRemoveObject,
  kBreak,
  kFail,
  kHeal,
  kGone,
  kForget,  // what was seen of stored objects
};
constexpr std::array kNamesOfOps = {
    "kLookUp",     "kRead",      "kReadBefore",    "kAttributes",   "kCheckOpen",
    "kOpenFolder", "kList",      "kPutNode",       "kRemoveNode",   "kSetAttributes",
    "kResize",     "kPutObject", "kRewriteObject", "kDamageObject", "kRemoveObject",
    "kBreak",      "kFail",      "kHeal",          "kGone",         "kForget"};

struct Step {
  Op op;
  uint8_t path;   // of kPaths
  uint8_t view;   // of kViews
  uint32_t name;  // see NameOf()
  uint32_t x;     // whatever else the step needs
};

struct Setting {
  model::ModelOptions model;
  bool is_watched = false;    // the store reports its changes, and the kernel caches names
  bool is_forgetful = false;  // with tiny caches
  bool is_slow = false;       // the store does not answer fast
};

struct Failure {
  size_t step;
  std::string what;
};

// A folder or file of the mount, by the node of the store and the path below the node's folder.
struct Where {
  std::string path;
  size_t view = 0;
  std::string below;

  auto operator<=>(const Where&) const = default;
  [[nodiscard]] std::string ToText() const {
    return fmt::format("{}:{}/{}", kViews[view], path, below);
  }
};

// --- One run -------------------------------------------------------------------------------------

// Changes whose names were found, not just all of them invalidated.
uint64_t named_changes = 0;

struct OpenListing {
  Where folder;
  std::unique_ptr<Folder> listing;
  NodeId id = 0;
  uint64_t cookie = 0;
  std::multiset<std::string> listed;
  std::set<std::string> always, ever;  // that the model had since it was opened
  bool is_exact = true;
  uint64_t changes = 0;  // the model's, when it was opened
  uint64_t layout_version = 0;
};

class Run {
 public:
  explicit Run(const Setting& setting)
      : setting_(setting), model_(*store_, setting.model), open_(std::nullopt) {
    store_->SetCountsChanges(setting.is_watched);
    store_->SetAnswersFast(!setting.is_slow);
    model_.PutNode("", 0);
    TreeOptions options;
    if (setting.model.only_view < kViews.size()) options.view = kViews[setting.model.only_view];
    options.epochs = 0;  // Forget() forgets all it can
    options.separator = setting.model.separator;
    if (setting.model.keeps_fill) options.fill = FillPolicy::kKeep;
    if (!setting.model.consolidates) options.consolidated_max = 0;
    if (setting.model.is_cdf5) options.netcdf = NetcdfFormat::kCdf5;
    if (!setting.is_watched) options.ttl = 0;
    if (setting.is_forgetful) {
      options.index_cache = 1;
      options.cache = 1;
      options.node_cache = 1;
    }
    auto tree = Tree::Open(store_, options);
    if (!tree) {
      Problem("cannot be opened: {}", tree.error().message);
      return;
    }
    tree_ = std::move(*tree);
    if (setting.is_watched) {
      tree_->Watch(
          [this](const Changes& changes) {
            changes_.all = changes_.all || changes.all;
            changes_.keys.insert(changes_.keys.end(), changes.keys.begin(), changes.keys.end());
          },
          /*can_invalidate_all=*/true);
    }
  }

  std::optional<Failure> Do(std::span<const Step> steps) {
    for (size_t i = 0; i < steps.size() && problem_.empty(); ++i) {
      Do(steps[i]);
      if (!problem_.empty()) return Failure{i, problem_};
    }
    return std::nullopt;
  }

 private:
  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    if (problem_.empty()) problem_ = fmt::format(format, std::forward<Args>(args)...);
  }

  void Do(const Step& step);
  void Change(const Step& step);
  void ChangeStore(const Step& step);

  // Something fails, or may be missing: names and contents are not exact.
  [[nodiscard]] bool IsTroubled() const { return is_failing_ || is_gone_ || model_.IsBroken(); }

  std::string NameOf(const Step& step) const;

  // The folder's id, looked up name by name; nullopt if there is none, or a name is a problem.
  std::optional<NodeId> FolderOf(const Where& folder, bool may_reuse);
  std::optional<NodeId> Enter(const Where& folder, NodeId in, const std::string& name,
                              const Where& to);
  // Looks a name up and checks the answer. nullopt if there is nothing, or that is a problem.
  std::optional<Entry> LookUp(const Where& folder, NodeId id, const std::string& name);
  void CheckTroubled(const Where& folder, const std::string& name, const Result<Entry>& got);
  void CheckExact(const Where& folder, const std::string& name, const Result<Entry>& got);
  void CheckGhost(const Where& at, const Entry& got);
  std::optional<Entry> LookUpPath(const Step& step, Where& at);

  void CheckFile(const Where& at, const Entry& entry, const File& file);
  void CheckUnreadable(const Where& at, NodeId id);
  Result<std::string> ReadPiece(NodeId id, uint64_t offset, size_t size);
  Result<std::string> ReadAll(NodeId id) { return ReadPiece(id, 0, size_t{1} << 16); }
  static bool MeansAbsent(const Error& error) {
    return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kNotADirectory;
  }

  void ReadPieceOf(const Step& step);
  void ReadBefore(const Step& step);
  void OpenFolder(const Step& step);
  void List(const Step& step);
  void FinishListing();
  void FollowListing();

  // Names that are there for sure, and those that may be.
  std::set<std::string> NamesIn(const Where& folder) const;

  class NameCache;
  void CheckInvalidation();
  void CheckCachedNames();
  void Forget();

  const Setting setting_;
  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
  ReferenceModel model_;
  std::unique_ptr<Tree> tree_;
  std::string problem_;
  bool is_failing_ = false;
  bool is_gone_ = false;
  // A consolidated document leaves out what may not be read, and is then as old as any answer that
  // is not watched.
  bool may_lack_nodes_ = false;
  bool has_forgotten_ = false;  // so an inode may be another one, and the old one as good

  // What the kernel would know.
  struct KnownFolder {
    NodeId id;
    uint64_t layout_version;
  };
  std::map<Where, KnownFolder> folders_;
  std::map<Where, std::deque<NodeId>> before_;  // ids that a name had, the newest last
  struct Content {
    std::string bytes;
    uint64_t checked = 0;  // the model's changes() when it was right
  };
  std::unordered_map<NodeId, Content> contents_;
  std::unordered_map<NodeId, FileKind> kinds_;  // as look-ups found them
  std::map<std::string, uint64_t> seen_;        // nodes that the tree has seen as they are now
  struct Cached {
    NodeId id;
    Where folder;
  };
  std::map<std::pair<NodeId, std::string>, Cached> cached_names_;
  std::set<NodeId> known_folders_;  // names were looked up in them
  Changes changes_;                 // that were reported

  std::optional<OpenListing> open_;
};

constexpr std::array kDocumentNames = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"};
constexpr std::array kOddNames = {"x",  "c", "00", "0",      "1.",   "c.0", "0.0.0.0", "..z",
                                  "99", "g", "a",  "c.00.1", "0.00", "-1",  "c/c",     "zarr.jso"};

model::Extents CoordinatesOf(uint32_t name, size_t rank) {
  model::Extents at(rank);
  for (size_t d = 0; d < rank; ++d) at[d] = (name >> (3 + 3 * d) & 7) % 5;
  return at;
}

// The path of a file below the node's folder.
std::string Run::NameOf(const Step& step) const {
  const uint32_t rest = step.name >> 3;
  const Node* const node = model_.Find(kPaths[step.path]);
  switch (step.name % 8) {
    case 0:
      return kDocumentNames[rest % kDocumentNames.size()];
    case 1:
      return kOddNames[rest % kOddNames.size()];
    case 2: {
      const std::string_view path = kPaths[1 + rest % (kPaths.size() - 1)];
      return std::string(path.substr(path.rfind('/') + 1));
    }
    default:
      break;
  }
  if (model::HasFilesOfNodes(step.view)) {
    return ReferenceModel::FileNameOf(kPaths[rest % kPaths.size()], step.view);
  }
  if (node == nullptr || !node->array) return kDocumentNames[rest % kDocumentNames.size()];
  std::string path = model::ChunkPath(
      *node->array, step.view, CoordinatesOf(step.name, node->array->shape.size()), setting_.model);
  // A folder of chunks, sometimes.
  for (uint32_t less = step.name >> 12 & 3; less > 0; --less) {
    if (const size_t slash = path.rfind('/'); slash != std::string::npos) path.resize(slash);
  }
  return path;
}

std::set<std::string> Run::NamesIn(const Where& folder) const {
  const Shown* const shown = model_.Show(folder.path, folder.view);
  if (shown == nullptr) return {};
  const auto found = shown->names.find(folder.below);
  return found == shown->names.end() ? std::set<std::string>() : found->second;
}

Result<std::string> Run::ReadPiece(NodeId id, uint64_t offset, size_t size) {
  std::vector<std::byte> buffer(size);
  const auto piece = tree_->Read(id, offset, buffer);
  if (!piece) {
    if (MeansAbsent(piece.error())) Problem("a read fails as if absent: {}", piece.error().message);
    return Fail(piece);
  }
  if (const auto kind = kinds_.find(id);
      kind != kinds_.end() && kind->second != piece->target.file) {
    Problem("a look-up says that the file is of kind {}, a read {}", static_cast<int>(kind->second),
            static_cast<int>(piece->target.file));
  }
  return std::string(reinterpret_cast<const char*>(piece->bytes.data()), piece->bytes.size());
}

// --- Look-ups ------------------------------------------------------------------------------------

// The node that a name in the folder of a group stands for.
std::string NodeOf(const Where& folder, std::string_view name) {
  return ReferenceModel::NodeOf(folder.path, folder.view, name);
}

std::optional<NodeId> Run::Enter(const Where& folder, NodeId in, const std::string& name,
                                 const Where& to) {
  const auto entry = LookUp(folder, in, name);
  if (!entry || !S_ISDIR(entry->attributes.st_mode)) return std::nullopt;
  const Node* const node = model_.Find(to.path);
  // (What the view hides may look like a folder that cannot be read, and what cannot be read may be
  // seen as it was; that is not for ever.)
  if (model_.Show(to.path, to.view) != nullptr && !IsTroubled()) {
    folders_[to] = {entry->id, node == nullptr ? 0 : node->layout_version};
  }
  return entry->id;
}

std::optional<NodeId> Run::FolderOf(const Where& folder, bool may_reuse) {
  if (may_reuse) {
    const auto known = folders_.find(folder);
    const Node* const node = model_.Find(folder.path);
    if (known != folders_.end() &&
        (folder.below.empty() ||
         (node != nullptr && known->second.layout_version == node->layout_version))) {
      return known->second.id;
    }
  }
  if (!folder.below.empty()) {
    Where above = folder;
    above.below = zarrfs::FolderOf(folder.below);
    const auto in = FolderOf(above, may_reuse);
    if (!in) return std::nullopt;
    return Enter(above, *in, folder.below.substr(folder.below.rfind('/') + 1), folder);
  }
  if (!folder.path.empty()) {
    const Where above{std::string(zarrfs::FolderOf(folder.path)), folder.view, ""};
    const auto in = FolderOf(above, may_reuse);
    if (!in) return std::nullopt;
    return Enter(above, *in, folder.path.substr(folder.path.rfind('/') + 1), folder);
  }
  if (setting_.model.only_view < kViews.size()) return kRootId;
  const auto entry = tree_->LookUp(kRootId, std::string(kViews[folder.view]));
  if (!entry || entry->id == 0) {
    Problem("view {} cannot be looked up", kViews[folder.view]);
    return std::nullopt;
  }
  folders_[folder] = {entry->id, 0};
  return entry->id;
}

std::optional<Entry> Run::LookUp(const Where& folder, NodeId id, const std::string& name) {
  const auto got = tree_->LookUp(id, name);
  if (got && got->id != 0) kinds_[got->id] = got->kind;
  Where at = folder;
  at.below = JoinKey(folder.below, name);
  if (IsTroubled()) {
    CheckTroubled(folder, name, got);
  } else {
    CheckExact(folder, name, got);
    // The tree has read the folder's node. It may know only the outlines of what is in the folder.
    if (const Node* const node = model_.Find(folder.path)) {
      seen_[folder.path] = node->document_version;
    }
  }
  if (!problem_.empty()) return std::nullopt;
  if (setting_.is_watched && got && got->name_timeout > 0) {
    cached_names_[{id, name}] = {got->id, folder};
    known_folders_.insert(id);
  }
  if (!got || got->id == 0) return std::nullopt;
  return *got;
}

void Run::CheckExact(const Where& folder, const std::string& name, const Result<Entry>& got) {
  Where at = folder;
  at.below = JoinKey(folder.below, name);
  const Shown* const shown = model_.Show(folder.path, folder.view);
  if (shown == nullptr) {  // a folder that the model does not have any more
    if (got && got->id != 0) CheckGhost(at, *got);
    return;
  }
  if (!got) return Problem("{}: look-up fails: {}", at.ToText(), got.error().message);
  const bool is_there = NamesIn(folder).contains(name);
  const std::string child = NodeOf(folder, name);
  if (!is_there) {
    if (got->id == 0) return;
    if (folder.below.empty() && model_.WasEver(child) && !model_.Find(child)) {
      return CheckGhost(at, *got);
    }
    return Problem("{}: not in the store, but found", at.ToText());
  }
  if (got->id == 0) return Problem("{}: absent", at.ToText());
  const auto file = shown->files.find(at.below);
  const bool is_folder = file == shown->files.end();
  if (is_folder != S_ISDIR(got->attributes.st_mode)) {
    return Problem("{}: expected a {}", at.ToText(), is_folder ? "folder" : "file");
  }
  if (!is_folder) CheckFile(at, *got, file->second);
}

// What was removed: a folder that cannot be listed, or a file that cannot be read.
void Run::CheckGhost(const Where& at, const Entry& got) {
  if (S_ISDIR(got.attributes.st_mode)) {
    const auto opened = tree_->OpenFolder(got.id);
    if (opened) Problem("{}: is not in the store any more, but can be opened", at.ToText());
  } else {
    CheckUnreadable(at, got.id);
  }
}

void Run::CheckUnreadable(const Where& at, NodeId id) {
  if (const auto read = ReadAll(id)) Problem("{}: can be read", at.ToText());
}

// While something fails: what is there does not look absent, and gives no other bytes.
void Run::CheckTroubled(const Where& folder, const std::string& name, const Result<Entry>& got) {
  Where at = folder;
  at.below = JoinKey(folder.below, name);
  const Shown* const shown = model_.Show(folder.path, folder.view);
  const auto file = shown == nullptr ? decltype(shown->files.end())() : shown->files.find(at.below);
  const bool is_file = shown != nullptr && file != shown->files.end();
  const bool is_there = NamesIn(folder).contains(name);
  if (got && got->id != 0) {
    // (Which of the two, the tree knows only of an array that it saw as it is now.)
    if (S_ISDIR(got->attributes.st_mode)) return;
    const auto read = ReadAll(got->id);
    if (!read) return;
    if (!is_file) return Problem("{}: not in the store, but can be read", at.ToText());
    if (file->second.kind == File::Kind::kUnreadable)
      return Problem("{}: can be read", at.ToText());
    if (file->second.kind == File::Kind::kBytes && *read != file->second.bytes) {
      return Problem("{}: other bytes", at.ToText());
    }
    if (file->second.kind == File::Kind::kNetcdf) {
      const auto wrong = model_.CheckNetcdf(NodeOf(folder, name), *read);
      if (!wrong.empty()) return Problem("{}: {}", at.ToText(), wrong);
    }
    if (read->size() != static_cast<uint64_t>(got->attributes.st_size)) {
      return Problem("{}: {} bytes, {} read", at.ToText(), got->attributes.st_size, read->size());
    }
    const auto known = contents_.try_emplace(got->id, Content{*read, 0}).first;
    if (known->second.bytes != *read) Problem("{}: an inode changed its bytes", at.ToText());
    before_[at].push_back(got->id);
    return;
  }
  if (!is_there) return;
  const Node* const node = model_.Find(folder.path);
  const bool has_files = model::HasFilesOfNodes(folder.view);
  const bool is_document = is_file && (has_files || file->second.kind == File::Kind::kDocument);
  if (is_gone_ && is_document) return;
  if (name == ".zmetadata" && is_document) return;
  // Of a node that it never saw the tree cannot know what is in it; but it fails, then.
  const bool is_own = (is_document && !has_files) || node->array;
  const std::string owner = is_own ? folder.path : NodeOf(folder, name);
  const auto seen = seen_.find(owner);
  // (No reader takes an error of a whole file for the fill value.)
  const bool is_known = !has_files && !setting_.is_forgetful && seen != seen_.end() &&
                        model_.Find(owner) && seen->second == model_.Find(owner)->document_version;
  if (is_known) {
    return Problem("{}: absent while something fails ({})", at.ToText(),
                   got ? "no id" : got.error().message);
  }
  // (The names of nodes may be absent; no reader takes them for a fill value.)
  if (is_gone_ && !node->array) return;
  if (got || MeansAbsent(got.error())) Problem("{}: absent while something fails", at.ToText());
}

void Run::CheckFile(const Where& at, const Entry& entry, const File& file) {
  if (file.kind == File::Kind::kUnreadable) return CheckUnreadable(at, entry.id);
  const auto known = contents_.find(entry.id);
  if (known != contents_.end() && known->second.checked == model_.changes()) return;
  const auto read = known == contents_.end() || file.kind != File::Kind::kBytes
                        ? ReadAll(entry.id)
                        : Result<std::string>(known->second.bytes);
  if (!read) return Problem("{}: cannot be read: {}", at.ToText(), read.error().message);
  if (known != contents_.end() && *read != known->second.bytes) {
    return Problem("{}: an inode changed its bytes", at.ToText());
  }
  if (read->size() != static_cast<uint64_t>(entry.attributes.st_size)) {
    return Problem("{}: {} bytes, {} read", at.ToText(), entry.attributes.st_size, read->size());
  }
  std::string wrong;
  if (file.kind == File::Kind::kDocument) {
    const std::string name = at.below;
    if (may_lack_nodes_ && model_.IsConsolidated(at.path, at.view, name)) return;
    wrong = model_.CheckDocument(at.path, at.view, name, *read);
  } else if (file.kind == File::Kind::kNetcdf) {
    wrong = model_.CheckNetcdf(NodeOf({at.path, at.view, ""}, at.below), *read);
  } else if (file.kind == File::Kind::kZstd) {
    const auto decoded = model::Zstd().Decode(model::ToBytes(*read), file.bytes.size());
    if (!decoded || *decoded != model::ToBytes(file.bytes)) wrong = "no frame of the fill value";
  } else if (*read != file.bytes) {
    wrong = "other bytes";
  }
  if (!wrong.empty())
    return Problem("{}: {}: {}", at.ToText(), wrong, OneLine(*read).substr(0, 300));
  contents_[entry.id] = {*read, model_.changes()};
  std::deque<NodeId>& before = before_[at];
  if (before.empty() || before.back() != entry.id) before.push_back(entry.id);
  if (before.size() > 8) before.pop_front();
}

std::optional<Entry> Run::LookUpPath(const Step& step, Where& at) {
  const std::string below = NameOf(step);
  Where folder{std::string(kPaths[step.path]), step.view, std::string(zarrfs::FolderOf(below))};
  at = folder;
  at.below = below;
  const auto in = FolderOf(folder, (step.x & 1) != 0);
  if (!in) return std::nullopt;
  return LookUp(folder, *in, below.substr(below.rfind('/') + 1));
}

void Run::ReadPieceOf(const Step& step) {
  Where at;
  const auto entry = LookUpPath(step, at);
  if (!entry || S_ISDIR(entry->attributes.st_mode)) return;
  const auto known = contents_.find(entry->id);
  if (known == contents_.end()) return;
  const std::string& bytes = known->second.bytes;
  const uint64_t offset = (step.x >> 1) % (bytes.size() + 3);
  const size_t size = 1 + (step.x >> 9) % (bytes.size() + 3);
  const auto read = ReadPiece(entry->id, offset, size);
  if (!read) {
    if (!IsTroubled()) Problem("{}: cannot be read: {}", at.ToText(), read.error().message);
  } else if (*read != (offset < bytes.size() ? bytes.substr(offset, size) : "")) {
    Problem("{}: other bytes at {}", at.ToText(), offset);
  }
}

// What was opened before keeps its bytes, or fails; what is still current can be read and opened.
void Run::ReadBefore(const Step& step) {
  const Where at{std::string(kPaths[step.path]), step.view, NameOf(step)};
  const auto known = before_.find(at);
  if (known == before_.end()) return;
  const NodeId id = known->second[step.x % known->second.size()];
  const std::string& bytes = contents_.at(id).bytes;
  std::optional<Error> error;
  if (step.op == Op::kReadBefore) {
    const auto read = ReadAll(id);
    if (!read) error = read.error();
    // (Where changes are not reported, a chunk of a whole file is that of the store when it is
    // read.)
    const bool may_differ = model::HasFilesOfNodes(at.view) && !setting_.is_watched;
    if (read && *read != bytes && !may_differ)
      return Problem("{}: an old inode has other bytes", at.ToText());
  } else if (step.op == Op::kAttributes) {
    const auto entry = tree_->Attributes(id);
    if (!entry) error = entry.error();
    if (entry &&
        (entry->id != id || entry->attributes.st_size != static_cast<off_t>(bytes.size()))) {
      return Problem("{}: attributes of another file: {} bytes, {} expected", at.ToText(),
                     entry->attributes.st_size, bytes.size());
    }
  } else {
    const auto opened = tree_->CheckOpen(id);
    if (!opened) error = opened.error();
  }
  if (IsTroubled()) return;
  const Node* const node = model_.Find(
      model::HasFilesOfNodes(at.view) ? NodeOf({at.path, at.view, ""}, at.below) : at.path);
  // (That the newest version is damaged is as good an answer, if it is not known which one the
  // inode is.)
  const bool may_be_newest =
      setting_.is_forgetful || (model::HasFilesOfNodes(at.view) && !setting_.is_watched);
  const bool is_told = error && (error->code == ErrorCode::kStale ||
                                 (may_be_newest && error->code == ErrorCode::kDamaged));
  if (error && node != nullptr && !is_told && step.op != Op::kAttributes && !has_forgotten_) {
    return Problem("{}: an old inode fails with {}", at.ToText(), error->message);
  }
  Where folder = at;
  folder.below = zarrfs::FolderOf(at.below);
  if (model_.Show(at.path, at.view) == nullptr) return;
  const auto in = FolderOf(folder, false);
  if (!in) return;
  const auto now = LookUp(folder, *in, at.below.substr(at.below.rfind('/') + 1));
  const bool is_current = now && now->id == id;
  if (error && is_current) {
    Problem("{}: the current inode fails: {}", at.ToText(), error->message);
  } else if (!error && !is_current && step.op == Op::kCheckOpen && !has_forgotten_) {
    Problem("{}: an old inode can be opened", at.ToText());
  }
}

// --- Listings ------------------------------------------------------------------------------------

void Run::OpenFolder(const Step& step) {
  open_.reset();
  const std::string below = NameOf(step);
  Where folder{std::string(kPaths[step.path]), step.view, ""};
  if (step.name % 2 != 0) folder.below = zarrfs::FolderOf(below);
  const auto id = FolderOf(folder, (step.x & 1) != 0);
  if (!id) return;
  auto opened = tree_->OpenFolder(*id);
  const bool is_there = model_.Show(folder.path, folder.view) != nullptr &&
                        (folder.below.empty() || !NamesIn(folder).empty());
  if (!opened) {
    if (is_there && !IsTroubled()) {
      Problem("{}: cannot be opened: {}", folder.ToText(), opened.error().message);
    }
    return;
  }
  if (is_gone_ && is_there) return Problem("{}: gone, but can be opened", folder.ToText());
  open_.emplace();
  open_->folder = folder;
  open_->listing = std::move(opened->folder);
  open_->id = *id;
  open_->always = open_->ever = NamesIn(folder);
  open_->is_exact = !IsTroubled();
  open_->changes = model_.changes();
  if (const Node* const node = model_.Find(folder.path)) {
    open_->layout_version = node->layout_version;
  }
  List(step);
}

void Run::List(const Step& step) {
  if (!open_) return;
  size_t room = (step.x >> 2) % 8 == 0 ? 1000 : (step.x >> 5) % 4;
  bool is_full = false;
  std::vector<std::pair<std::string, NodeId>> with_ids;
  const auto listed = open_->listing->List(
      open_->cookie,
      [&](const std::string& name, const Entry& entry, uint64_t next) {
        if (room == 0) {
          is_full = true;
          return false;
        }
        --room;
        if (next <= open_->cookie) Problem("{}: cookies go back", open_->folder.ToText());
        open_->cookie = next;
        if (name != "." && name != "..") {
          open_->listed.insert(name);
          if (entry.id != 0) with_ids.emplace_back(name, entry.id);
        }
        return true;
      },
      (step.x >> 7) % 2 == 0 ? ListingOf::kAttributes : ListingOf::kNames);
  if (!listed) {
    if (open_->is_exact && !IsTroubled() && open_->changes == model_.changes()) {
      Problem("{}: cannot be listed: {}", open_->folder.ToText(), listed.error().message);
    }
    open_.reset();
    return;
  }
  if (open_->is_exact && open_->changes == model_.changes() && !IsTroubled()) {
    for (const auto& [name, id] : with_ids) {
      const auto entry = LookUp(open_->folder, open_->id, name);
      if (!problem_.empty()) return;
      if (!entry || entry->id != id) {
        return Problem("{}: {} is listed with another inode", open_->folder.ToText(), name);
      }
    }
  }
  if (!is_full) FinishListing();
}

void Run::FinishListing() {
  const OpenListing& listing = *open_;
  const auto duplicate = std::ranges::adjacent_find(listing.listed);
  if (duplicate != listing.listed.end()) {
    return Problem("{}: {} is listed twice", listing.folder.ToText(), *duplicate);
  }
  for (const std::string& name : listing.always) {
    if (name == ".zmetadata" && !listing.is_exact) continue;
    // (A slow store was asked for the nodes when the folder was opened. One that could not be read
    // is listed as it was seen, so as an array or as a group.)
    const std::string node = NodeOf({"", listing.folder.view, ""}, name);
    const bool is_other =
        setting_.is_slow && model::HasFilesOfNodes(listing.folder.view) && !listing.is_exact &&
        (listing.listed.contains(node) ||
         listing.listed.contains(ReferenceModel::FileNameOf(node, listing.folder.view)));
    if (!listing.listed.contains(name) && !is_other) {
      return Problem("{}: {} is not listed, only {}", listing.folder.ToText(), name,
                     fmt::join(listing.listed, " "));
    }
  }
  if (listing.is_exact) {
    for (const std::string& name : listing.listed) {
      if (!listing.ever.contains(name)) {
        return Problem("{}: {} is listed", listing.folder.ToText(), name);
      }
    }
  }
  open_.reset();
}

// After a change.
void Run::FollowListing() {
  if (!open_) return;
  const std::set<std::string> names = NamesIn(open_->folder);
  std::erase_if(open_->always, [&](const auto& name) { return !names.contains(name); });
  open_->ever.insert(names.begin(), names.end());
  open_->is_exact = open_->is_exact && !IsTroubled();
  const Node* const node = model_.Find(open_->folder.path);
  const bool is_same = node != nullptr && node->layout_version == open_->layout_version;
  if (!is_same || model_.Show(open_->folder.path, open_->folder.view) == nullptr) open_.reset();
}

// --- Changes -------------------------------------------------------------------------------------

void Run::ChangeStore(const Step& step) {
  const std::string path(kPaths[step.path]);
  const model::Extents at = CoordinatesOf(step.name, 3);
  switch (step.op) {
    case Op::kPutNode:
      return model_.PutNode(path, step.x);
    case Op::kRemoveNode:
      return model_.RemoveNode(path);
    case Op::kSetAttributes:
      return model_.SetAttributes(path, static_cast<int>(step.x % 5) - 1);
    case Op::kResize:
      return model_.Resize(path, step.name, step.x % 12);
    case Op::kPutObject:
    case Op::kRewriteObject:
      return model_.PutObject(path, at, step.x >> 8, step.x, step.op == Op::kRewriteObject);
    case Op::kDamageObject:
      return model_.DamageObject(path, at, step.x, (step.x & 4) != 0);
    case Op::kRemoveObject:
      return model_.RemoveObject(path, at);
    case Op::kBreak:
      return model_.Break(path);
    case Op::kFail: {
      constexpr std::array kErrors = {ErrorCode::kIo, ErrorCode::kPermissionDenied,
                                      ErrorCode::kTimedOut, ErrorCode::kTooManyOpenFiles};
      const Error error{kErrors[step.x % kErrors.size()], "made to fail"};
      may_lack_nodes_ |= setting_.is_watched && error.code == ErrorCode::kPermissionDenied;
      const auto call = static_cast<FakeStore::Call>((step.x >> 2) % 5);
      std::string prefix = path;
      if ((step.x >> 5) % 2 != 0) prefix = JoinKey(path, NameOf(step));
      if ((step.x >> 2) % 5 == 4) {
        store_->FailAllWith(prefix, error);
      } else {
        store_->FailWith(call, prefix, error);
      }
      is_failing_ = true;
      return;
    }
    case Op::kHeal:
      store_->ClearFaults();
      is_failing_ = false;
      store_->SetGone(false);
      is_gone_ = false;
      return model_.MendAll();
    case Op::kGone:
      store_->SetGone(true);
      is_gone_ = true;
      return;
    default:
      return;
  }
}

void Run::Change(const Step& step) {
  // (Nothing can be written to what is not there.)
  if (is_gone_ && step.op != Op::kHeal && step.op != Op::kFail) return;
  // The kernel is not told of what fails and heals.
  const bool was_troubled = IsTroubled();
  changes_ = {};
  ChangeStore(step);
  FollowListing();
  if (!setting_.is_watched) return;
  if (was_troubled || IsTroubled()) {
    cached_names_.clear();
  } else {
    CheckInvalidation();
  }
}

// The worst kernel: what lies below a folder stays when the folder's name is dropped, as names in
// use do.
class Run::NameCache final : public EntryInvalidator {
 public:
  explicit NameCache(Run& run) : run_(run) {}
  bool InvalidateFolder(NodeId folder) override { return run_.known_folders_.contains(folder); }
  void DropEntry(NodeId folder, const std::string& name) override {
    run_.cached_names_.erase({folder, name});
  }
  void CheckEntry(NodeId folder, const std::string& name) override { DropEntry(folder, name); }

 private:
  Run& run_;
};

void Run::CheckInvalidation() {
  NameCache kernel(*this);
  if (!tree_->FindInvalidEntries(changes_, kernel)) {
    cached_names_.clear();
    return;
  }
  ++named_changes;
  CheckCachedNames();
}

void Run::CheckCachedNames() {
  for (const auto& [name, cached] : cached_names_) {
    const auto now = tree_->LookUp(name.first, name.second);
    const NodeId id = now ? now->id : 0;
    // (A folder of what was removed may come and go; there is nothing in it.)
    const bool is_ghost = cached.id == 0 && !NamesIn(cached.folder).contains(name.second);
    if (id != cached.id && !is_ghost) {
      return Problem("{}: {} means another inode ({:x}, {:x} before) and was not invalidated",
                     cached.folder.ToText(), name.second, id, cached.id);
    }
  }
}

void Run::Forget() {
  NameCache kernel(*this);
  Changes forgotten = tree_->Sweep().second;
  if (!tree_->FindInvalidEntries(forgotten, kernel)) return Problem("too much to forget");
  // What is not seen in between is dropped, and what is named anew. (That is not kept.)
  (void)tree_->FindInvalidEntries(tree_->Sweep().second, kernel);
  has_forgotten_ = true;
  if (IsTroubled()) {
    cached_names_.clear();
  } else if (setting_.is_watched) {
    CheckCachedNames();
  }
}

void Run::Do(const Step& step) {
  Step shown = step;
  if (setting_.model.only_view < kViews.size()) {
    shown.view = static_cast<uint8_t>(setting_.model.only_view);
  }
  Where at;
  switch (step.op) {
    case Op::kLookUp:
      (void)LookUpPath(shown, at);
      return;
    case Op::kRead:
      return ReadPieceOf(shown);
    case Op::kReadBefore:
    case Op::kAttributes:
    case Op::kCheckOpen:
      return ReadBefore(shown);
    case Op::kOpenFolder:
      return OpenFolder(shown);
    case Op::kList:
      return List(shown);
    case Op::kForget:
      return Forget();
    default:
      return Change(shown);
  }
}

// --- Many runs -----------------------------------------------------------------------------------

std::vector<Step> RandomSteps(std::mt19937_64& random) {
  // How often, in proportion.
  constexpr std::array<unsigned, kNamesOfOps.size()> kWeights = {24, 24, 10, 5, 5, 14, 20, 4, 1, 2,
                                                                 2,  12, 4,  1, 2, 1,  2,  5, 1, 2};
  std::discrete_distribution<size_t> ops(kWeights.begin(), kWeights.end());
  std::vector<Step> steps;
  // A few nodes at first, and most of what follows concerns a few of them.
  for (int i = 0; i < 5; ++i) {
    steps.push_back({Op::kPutNode, static_cast<uint8_t>(random() % kPaths.size()), 0, 0,
                     static_cast<uint32_t>(random() % 64)});
  }
  const std::array<uint8_t, 2> often = {static_cast<uint8_t>(random() % kPaths.size()),
                                        static_cast<uint8_t>(random() % kPaths.size())};
  while (steps.size() < kStepsOfRun) {
    const uint64_t path = random();
    steps.push_back(
        {static_cast<Op>(ops(random)),
         path % 2 == 0 ? often[path / 2 % 2] : static_cast<uint8_t>(path / 2 % kPaths.size()),
         static_cast<uint8_t>(random() % kViews.size()), static_cast<uint32_t>(random() & 0x3fff),
         static_cast<uint32_t>(random() & 0xffffff)});
  }
  return steps;
}

Setting RandomSetting(std::mt19937_64& random) {
  Setting setting;
  const uint64_t bits = random();
  if (bits % 4 == 0) setting.model.only_view = bits / 4 % kViews.size();
  if (bits / 16 % 4 == 0) setting.model.separator = bits / 64 % 2 == 0 ? '.' : '/';
  setting.model.keeps_fill = bits / 128 % 4 == 0;
  setting.model.consolidates = bits / 512 % 8 != 0;
  setting.is_watched = bits / 4096 % 2 == 0;
  setting.is_forgetful = bits / 8192 % 8 == 0;
  setting.is_slow = bits / 65536 % 4 == 0;
  setting.model.is_cdf5 = bits / (1 << 20) % 4 == 0;
  return setting;
}

std::optional<Failure> Try(const Setting& setting, std::span<const Step> steps) {
  return Run(setting).Do(steps);
}

// Leaves out as many steps as the sequence still fails without (in whatever way).
std::vector<Step> Shrunk(const Setting& setting, std::vector<Step> steps) {
  for (size_t length = steps.size() / 2; length > 0;) {
    bool is_shorter = false;
    for (size_t begin = 0; begin < steps.size();) {
      std::vector<Step> fewer(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(begin));
      const size_t end = std::min(begin + length, steps.size());
      fewer.insert(fewer.end(), steps.begin() + static_cast<ptrdiff_t>(end), steps.end());
      const auto failure = Try(setting, fewer);
      if (!failure) {
        begin += length;
        continue;
      }
      fewer.resize(failure->step + 1);
      steps = std::move(fewer);
      is_shorter = true;
    }
    length =
        is_shorter && length == 1 ? 1 : std::min(length, std::max<size_t>(steps.size(), 1)) / 2;
  }
  return steps;
}

std::string ToText(const Setting& setting, const std::vector<Step>& steps) {
  const model::ModelOptions& shown = setting.model;
  std::string text =
      fmt::format("  ExpectNoFailure({{{{{}, '\\{:o}', {}, {}, {}}}, {}, {}, {}}}, {{\n",
                  shown.only_view, shown.separator, shown.keeps_fill, shown.consolidates,
                  shown.is_cdf5, setting.is_watched, setting.is_forgetful, setting.is_slow);
  for (const Step& step : steps) {
    text += fmt::format("      {{Op::{}, {}, {}, {}, {}}},  // {}:{}\n",
                        kNamesOfOps[static_cast<size_t>(step.op)], step.path, step.view, step.name,
                        step.x, kViews[step.view], kPaths[step.path]);
  }
  return text + "  });\n";
}

void ExpectNoFailure(const Setting& setting, const std::vector<Step>& steps) {
  spdlog::set_level(spdlog::level::off);
  const auto failure = Try(setting, steps);
  EXPECT_FALSE(failure) << "step " << failure->step << ": " << failure->what;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(TreeModelTest, TheModelKnowsEveryView) {
  std::set<std::string_view> known(kViews.begin(), kViews.end());
  for (const View* const view : AllViews()) {
    EXPECT_EQ(known.erase(view->name()), 1U) << view->name();
  }
  EXPECT_TRUE(known.empty()) << *known.begin();
  EXPECT_EQ(FakeStore().name(), model::kNameOfStore);
}

TEST(TreeModelTest, TreeShowsWhatTheModelSays) {
  spdlog::set_level(spdlog::level::off);
  const uint64_t steps_in_all = FromEnvironment("ZARRFS_MODEL_STEPS", kSteps);
  const uint64_t first_seed = FromEnvironment("ZARRFS_MODEL_SEED", 1);
  const uint64_t max_failures = FromEnvironment("ZARRFS_MODEL_FAILURES", 1);
  uint64_t failures = 0;
  for (uint64_t seed = first_seed; (seed - first_seed) * kStepsOfRun < steps_in_all; ++seed) {
    std::mt19937_64 random(seed);
    const Setting setting = RandomSetting(random);
    std::vector<Step> steps = RandomSteps(random);
    const auto failure = Try(setting, steps);
    if (!failure) continue;
    steps.resize(failure->step + 1);
    steps = Shrunk(setting, std::move(steps));
    const auto shrunk = Try(setting, steps);
    ADD_FAILURE() << "seed " << seed << ", step " << failure->step << ": " << failure->what << "\n"
                  << "shrunk to " << steps.size()
                  << " steps: " << (shrunk ? shrunk->what : "passes") << "\n"
                  << ToText(setting, steps);
    if (++failures == max_failures) break;
  }
  EXPECT_GT(named_changes * 50, steps_in_all);
}

// --- Sequences that failed once ------------------------------------------------------------------

TEST(TreeModelTest, ListingThatIsGoingOnFailsWhenTheStoreIsGone) {
  ExpectNoFailure({{model::kGdal, '\0', false, true}, true, false},
                  {
                      {Op::kPutNode, 4, 0, 0, 0},
                      {Op::kPutNode, 5, 3, 15653, 13447997},
                      {Op::kPutObject, 5, 2, 2351, 12921505},
                      {Op::kOpenFolder, 5, 0, 9810, 13145273},
                      {Op::kList, 4, 1, 8916, 2436083},
                      {Op::kGone, 2, 0, 15962, 15662265},
                      {Op::kList, 5, 2, 1333, 15059351},
                  });
  ExpectNoFailure({{model::kGdal, '\0', true, true}, true, true},
                  {
                      {Op::kPutNode, 2, 0, 0, 57},
                      {Op::kPutNode, 3, 0, 0, 34},
                      {Op::kOpenFolder, 0, 2, 15619, 6741622},
                      {Op::kGone, 8, 3, 14523, 16031433},
                      {Op::kList, 7, 0, 13695, 13745648},
                  });
}

TEST(TreeModelTest, FileOfAnArrayThatIsAddedIsSeen) {
  ExpectNoFailure({{model::kNpy, '\0', true, true}, true, false},
                  {
                      {Op::kRead, 0, 4, 11661, 4706498},
                      {Op::kPutNode, 2, 4, 4036, 7316752},
                  });
}

TEST(TreeModelTest, FileOfAnArrayThatCannotBeReadKeepsItsName) {
  ExpectNoFailure({{model::kNpy, '\0', false, true}, false, false},
                  {
                      {Op::kPutNode, 1, 1, 8397, 3068254},
                      {Op::kFail, 1, 1, 6223, 9625480},
                      {Op::kOpenFolder, 0, 4, 12370, 9063317},
                      {Op::kList, 8, 2, 9693, 3766465},
                  });
}

TEST(TreeModelTest, NestedChunksOfOneAxisAreInvalidated) {
  ExpectNoFailure({{kAllViews, '/', true, true}, true, false},
                  {
                      {Op::kPutNode, 1, 1, 13284, 6316250},
                      {Op::kRead, 1, 3, 14996, 16349503},
                      {Op::kPutObject, 1, 0, 5810, 11066866},
                  });
}

TEST(TreeModelTest, ChunksThatAnArrayGrowsByAreInvalidated) {
  ExpectNoFailure({{model::kV2, '/', false, true}, true, false},
                  {
                      {Op::kPutNode, 1, 0, 12621, 10873955},
                      {Op::kLookUp, 1, 1, 14775, 11420010},
                      {Op::kBreak, 0, 3, 13241, 13636658},
                      {Op::kHeal, 1, 3, 11615, 12646685},
                      {Op::kLookUp, 1, 2, 11133, 2008081},
                      {Op::kResize, 1, 1, 9295, 6992519},
                  });
}

TEST(TreeModelTest, FileOfTheFillValueIsNotOpenedOnceItsArrayIsAnotherOne) {
  ExpectNoFailure({{model::kV2, '\0', false, true}, false, true},
                  {
                      {Op::kPutNode, 3, 1, 7824, 3967283},
                      {Op::kRead, 3, 0, 119, 12132776},
                      {Op::kPutNode, 3, 0, 8359, 929002},
                      {Op::kCheckOpen, 3, 0, 2550, 11994197},
                  });
}

TEST(TreeModelTest, WhatWasPutIntoAnUnreadableArrayIsNotAbsent) {
  ExpectNoFailure({{kAllViews, '\0', false, true}, false, false},
                  {
                      {Op::kPutNode, 3, 3, 9444, 7723499},
                      {Op::kLookUp, 3, 3, 13456, 9861130},
                      {Op::kFail, 0, 2, 372, 6981019},
                      {Op::kPutNode, 3, 2, 6049, 3163314},
                      {Op::kPutObject, 3, 1, 6419, 8528771},
                      {Op::kRead, 3, 2, 2287, 6235628},
                  });
}

TEST(TreeModelTest, NodeBelowABrokenGroupThatWasAnArrayOnceIsThere) {
  ExpectNoFailure({{kAllViews, '\0', false, true}, true, false},
                  {
                      {Op::kPutNode, 4, 0, 0, 25},
                      {Op::kRead, 6, 2, 6546, 9914521},
                      {Op::kPutNode, 4, 3, 2664, 10060687},
                      {Op::kPutNode, 6, 2, 14363, 2764119},
                      {Op::kLookUp, 6, 0, 11884, 16687140},
                      {Op::kBreak, 4, 2, 9313, 5759358},
                      {Op::kRead, 6, 3, 2838, 2435370},
                  });
}

TEST(TreeModelTest, FileOfAGroupIsAnotherOnceAChunkChanges) {
  // Nothing but the file was looked up.
  for (const bool is_slow : {false, true}) {
    ExpectNoFailure({{model::kNc, '\0', false, true}, true, false, is_slow},
                    {
                        {Op::kPutNode, 1, 0, 0, 4},
                        {Op::kPutObject, 1, 0, 0, 0xffff01},
                        {Op::kRead, 0, model::kNc, 3, 0},
                        {Op::kPutObject, 1, 0, 0, 0xffff02},
                        {Op::kRead, 0, model::kNc, 3, 0},
                    });
  }
}

TEST(TreeModelTest, FileOfTheRootIsListedWhileItsDocumentsCannotBeRead) {
  ExpectNoFailure({{model::kNc, '\0', true, true}, true, false},
                  {
                      {Op::kOpenFolder, 0, 5, 14627, 10989750},
                      {Op::kBreak, 0, 1, 7041, 15196874},
                      {Op::kList, 1, 4, 5367, 1811905},
                  });
}

TEST(TreeModelTest, FileOfTheRootIsListedOrTheListingFailsWhenTheStoreIsGone) {
  for (const bool is_watched : {false, true}) {
    ExpectNoFailure({{model::kNc, '\0', false, true}, is_watched, true, true},
                    {
                        {Op::kPutNode, 4, 0, 0, 0},
                        {Op::kOpenFolder, 0, 0, 0, 0},
                        {Op::kOpenFolder, 0, 0, 0, 4},
                        {Op::kGone, 0, 0, 0, 0},
                        {Op::kList, 0, 0, 0, 0},
                    });
  }
}

TEST(TreeModelTest, UnreadableGroupIsListedAsAFolderAndAsAFile) {
  ExpectNoFailure({{model::kNc, '\0', false, true}, true, false}, {
                                                                      {Op::kPutNode, 4, 0, 0, 0},
                                                                      {Op::kBreak, 4, 0, 0, 0},
                                                                      {Op::kOpenFolder, 0, 0, 0, 0},
                                                                  });
}

TEST(TreeModelTest, JavaHasNoZmetadataIfNothingIsConsolidated) {
  for (const size_t view : {model::kJava, model::kV2}) {
    ExpectNoFailure({{view, '\0', false, false}, true, false}, {
                                                                   {Op::kPutNode, 0, 0, 0, 3},
                                                                   {Op::kLookUp, 0, 0, 4 << 3, 0},
                                                                   {Op::kOpenFolder, 0, 0, 0, 0},
                                                               });
  }
}

TEST(TreeModelTest, FolderOfAllChunksThatAnArrayGrowsByIsInvalidated) {
  ExpectNoFailure({{model::kV3, '\0', false, true}, true, false},
                  {
                      {Op::kPutNode, 1, 0, 0, 4},
                      {Op::kPutObject, 1, 0, 2 << 3, 0xffff01},
                      {Op::kResize, 1, 0, 0, 4},
                      {Op::kLookUp, 1, 0, 9, 0},
                      {Op::kResize, 1, 0, 0, 10},
                  });
}

TEST(TreeModelTest, ChunksOfAnArrayThatWasOnlyListedAreNotAbsentWhenTheStoreIsGone) {
  ExpectNoFailure({{kAllViews, '\0', false, true}, true, false},
                  {
                      {Op::kPutNode, 3, 0, 0, 16},
                      {Op::kOpenFolder, 0, 0, 5624, 10346499},
                      {Op::kGone, 5, 0, 13003, 11731228},
                      {Op::kRead, 3, 0, 14855, 14512216},
                  });
}

TEST(TreeModelTest, ChunksOfAnArrayThatReplacedAnotherUnseenAreNotAbsentWhenTheStoreIsGone) {
  ExpectNoFailure({{kAllViews, '\0', true, true}, true, false, true},
                  {
                      {Op::kPutNode, 1, 0, 0, 20},
                      {Op::kRead, 1, 2, 10828, 9672411},
                      {Op::kFail, 1, 1, 14639, 12426380},
                      {Op::kPutNode, 1, 6, 1538, 2306172},
                      {Op::kDamageObject, 1, 1, 522, 14263881},
                      {Op::kGone, 0, 1, 15572, 13568115},
                      {Op::kLookUp, 1, 2, 12356, 3065568},
                  });
  ExpectNoFailure({{kAllViews, '\0', true, true}, false, false},
                  {
                      {Op::kPutNode, 3, 1, 7942, 1445982},
                      {Op::kBreak, 3, 5, 1275, 14425732},
                      {Op::kPutObject, 3, 1, 12688, 13238161},
                      {Op::kLookUp, 3, 6, 2972, 11336248},
                      {Op::kGone, 2, 1, 9258, 15253612},
                      {Op::kOpenFolder, 3, 1, 9255, 4220984},
                  });
}

TEST(TreeModelTest, ListingOfChunksOfASlowStoreFailsWhenTheStoreIsGone) {
  ExpectNoFailure({{kAllViews, '/', true, true}, true, false, true},
                  {
                      {Op::kPutNode, 3, 0, 0, 56},
                      {Op::kPutNode, 2, 0, 0, 52},
                      {Op::kOpenFolder, 3, 0, 405, 11218200},
                      {Op::kFail, 3, 6, 13994, 10523681},
                      {Op::kPutObject, 2, 4, 8353, 15448284},
                      {Op::kList, 8, 6, 12038, 14855785},
                      {Op::kList, 5, 1, 6142, 15393252},
                      {Op::kPutObject, 3, 1, 4745, 15473361},
                      {Op::kOpenFolder, 3, 0, 10739, 10632350},
                      {Op::kList, 7, 3, 16375, 11801213},
                      {Op::kGone, 0, 2, 2272, 4539924},
                      {Op::kList, 6, 5, 13386, 5056601},
                  });
}

TEST(TreeModelTest, NameThatWasLookedUpWhileNothingCouldBeReadDoesNotOwnAChunk) {
  ExpectNoFailure({{kAllViews, '\0', false, true}, true, false},
                  {
                      {Op::kPutNode, 1, 2, 9259, 13454324},
                      {Op::kLookUp, 1, 2, 10508, 16500900},
                      {Op::kFail, 0, 5, 13713, 2571356},
                      {Op::kLookUp, 1, 0, 14857, 7340272},
                      {Op::kHeal, 7, 4, 4843, 3621378},
                      {Op::kPutNode, 1, 1, 4471, 481957},
                      {Op::kLookUp, 1, 0, 8043, 8640040},
                      {Op::kRewriteObject, 1, 3, 8533, 10929569},
                  });
}

}  // namespace
}  // namespace zarrfs::tree_model_test
