#include "fs/fuse/caretaker.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "fs/fuse/connection.h"
#include "fs/tree/status_files.h"
#include "zarrcore/store/store.h"

namespace zarrfs {
namespace {

constexpr double kTimeout = 1;  // how long the kernel caches entries and attributes, in seconds
constexpr size_t kMaxMade = size_t{1} << 20;
constexpr std::array<std::string_view, 5> kDocuments = {".zarray", ".zattrs", ".zgroup",
                                                        ".zmetadata", "zarr.json"};

bool IsNumber(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
}

// True if `name` is the name of a chunk in the array's own folder: "0.1", "c.0.1", "c".
bool IsFlat(std::string_view name, bool prefix_c) {
  if (prefix_c && name == "c") return true;  // the only chunk of an array of rank 0
  if (prefix_c && !name.starts_with("c.")) return false;
  if (prefix_c) name.remove_prefix(2);
  return !name.empty() && name.find_first_not_of("0123456789.") == name.npos;
}

}  // namespace

Caretaker::Caretaker(std::unique_ptr<IdJournal> journal, std::optional<size_t> only_view,
                     std::string options)
    : journal_(std::move(journal)),
      kept_(journal_->kept()),
      only_view_(only_view),
      options_(std::move(options)) {
  unreadable_ = journal_->Allocate(1).value_or(IdJournal::kPositions - 1);
  options_file_ = journal_->Allocate(1).value_or(IdJournal::kPositions - 2);
  for (uint32_t n = 0; n < kept_.nodes.size(); ++n) {
    if (kept_.nodes[n].count != NodeRecord::kBlock) continue;
    by_path_.emplace(kept_.nodes[n].path, n);
    by_block_.emplace(kept_.nodes[n].block, n);
  }
  for (const IdJournal::Range& range : kept_.ranges) naming_[range.node] = range.naming;
}

std::optional<Caretaker::Place> Caretaker::PlaceOf(NodeId id) const {
  const auto root = by_path_.find("");
  const auto root_node = root == by_path_.end() ? std::nullopt : std::optional(root->second);
  if (id == kRootId && only_view_) return Place{.node = root_node, .view = *only_view_};
  if (id == kRootId) return Place{.kind = Place::Kind::kRootOfViews, .node = root_node};
  if (id == StatusFiles::kFolderId) return Place{.kind = Place::Kind::kStatus, .node = {}};
  if (const auto made = places_.find(id); made != places_.end()) return made->second;
  const auto next = by_block_.upper_bound(PositionOf(id));
  if (next == by_block_.begin()) return std::nullopt;
  const auto& [block, node] = *std::prev(next);
  const uint64_t slot = PositionOf(id) - block;
  if (slot >= NodeRecord::kBlock || slot % NodeRecord::kSlots != 0) return std::nullopt;
  return Place{.node = node, .view = slot / NodeRecord::kSlots};
}

std::optional<Caretaker::Found> Caretaker::FindChunk(const Place& folder,
                                                     const std::string& name) const {
  const auto word = folder.node ? naming_.find(*folder.node) : naming_.end();
  const bool in_array = folder.kind == Place::Kind::kNode;
  if (word == naming_.end()) {
    // The journal does not contain the folder. If it is an array's, its chunk names most likely
    // have dots between the numbers.
    const bool may_be = !folder.node && (IsFlat(name, false) || IsFlat(name, true));
    return may_be ? std::optional(Found{}) : std::nullopt;
  }
  const auto [rank, shown, naming] = NamingIn(word->second, folder.view);
  if (!shown) {
    // The array may be an array of strings that this view shows as text. Such an array has one
    // chunk, and the journal has no chunk names of it for this view.
    const bool may_be = in_array && IsFlat(name, false);
    return may_be ? std::optional(Found{}) : std::nullopt;
  }
  if (!naming.nested() || rank == 0) {
    const bool may_be = in_array && IsFlat(name, naming.prefix_c);
    return may_be ? std::optional(Found{}) : std::nullopt;
  }
  Found found{.is_folder = true, .place = folder};
  found.place.kind = Place::Kind::kChunkFolder;
  if (in_array && naming.prefix_c) {
    return name == "c" ? std::optional(found) : std::nullopt;
  }
  if (!IsNumber(name)) return std::nullopt;
  ++found.place.level;
  found.is_folder = found.place.level < rank;
  return found;
}

std::optional<Caretaker::Found> Caretaker::Find(const Place& folder,
                                                const std::string& name) const {
  if (folder.kind == Place::Kind::kRootOfViews) {
    const auto view = ViewNumber(name);
    if (!view) return std::nullopt;
    Found found{.is_folder = true, .place = {.node = folder.node, .view = *view}};
    if (folder.node) {
      found.id = MakeId(kept_.nodes[*folder.node].block + *view * NodeRecord::kSlots, 0);
    }
    return found;
  }
  if (folder.kind == Place::Kind::kNode) {
    if (std::ranges::find(kDocuments, name) != kDocuments.end()) return Found{};
    const auto child =
        folder.node ? by_path_.find(JoinKey(kept_.nodes[*folder.node].path, name)) : by_path_.end();
    if (child != by_path_.end()) {
      const uint64_t block = kept_.nodes[child->second].block;
      return Found{.is_folder = true,
                   .place = {.node = child->second, .view = folder.view},
                   .id = MakeId(block + folder.view * NodeRecord::kSlots, 0)};
    }
  }
  if (auto chunk = FindChunk(folder, name)) return chunk;
  // An unknown folder may be the folder of a group or of an array.
  if (folder.node) return std::nullopt;
  return Found{.is_folder = true, .place = folder};
}

fuse_entry_param Caretaker::EntryOf(NodeId id, const struct stat& attributes) const {
  return {.ino = id,
          .generation = journal_->generation(),
          .attr = attributes,
          .attr_timeout = kTimeout,
          .entry_timeout = kTimeout};
}

std::optional<struct stat> Caretaker::Attributes(NodeId id) const {
  struct stat attributes = {};
  attributes.st_ino = id;
  attributes.st_nlink = 1;
  attributes.st_blksize = 4096;
  if (id == unreadable_ || id == options_file_) {
    attributes.st_mode = S_IFREG | 0444;
    attributes.st_size = id == options_file_ ? static_cast<off_t>(options_.size()) : 1;
  } else if (PlaceOf(id)) {
    attributes.st_mode = S_IFDIR | 0555;
  } else {
    return std::nullopt;
  }
  return attributes;
}

std::optional<fuse_entry_param> Caretaker::LookUp(NodeId folder, const std::string& name) {
  const auto place = PlaceOf(folder);
  if (!place) return std::nullopt;
  NodeId id = unreadable_;
  if (folder == kRootId && name == StatusFiles::kFolderName) {
    id = StatusFiles::kFolderId;
  } else if (place->kind == Place::Kind::kStatus) {
    if (name != "options") return std::nullopt;
    id = options_file_;
  } else {
    const auto found = Find(*place, name);
    if (!found) return std::nullopt;
    if (found->id != 0) {
      id = found->id;
    } else if (found->is_folder) {
      const auto known = made_.find({folder, name});
      if (known != made_.end()) {
        id = known->second;
      } else {
        const auto position = made_.size() < kMaxMade ? journal_->Allocate(1) : std::nullopt;
        if (!position) return std::nullopt;
        id = MakeId(*position, 0);
        made_.emplace(std::pair(folder, name), id);
        places_.emplace(id, found->place);
      }
    }
  }
  const auto attributes = Attributes(id);
  if (!attributes) return std::nullopt;
  return EntryOf(id, *attributes);
}

struct Caretaker::Handlers {
  static Caretaker& Self(fuse_req_t request) {
    return *static_cast<Caretaker*>(fuse_req_userdata(request));
  }
  static void Lookup(fuse_req_t request, fuse_ino_t folder, const char* name) {
    const auto entry = Self(request).LookUp(folder, name);
    if (!entry) {
      fuse_reply_err(request, EIO);
    } else {
      fuse_reply_entry(request, &*entry);
    }
  }
  static void GetAttributes(fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
    const auto attributes = Self(request).Attributes(id);
    if (!attributes) {
      fuse_reply_err(request, ESTALE);  // makes the kernel look up the name again
    } else {
      fuse_reply_attr(request, &*attributes, kTimeout);
    }
  }
  static void Read(fuse_req_t request, fuse_ino_t id, size_t size, off_t offset, fuse_file_info*) {
    const Caretaker& self = Self(request);
    if (id != self.options_file_) {
      fuse_reply_err(request, EIO);
      return;
    }
    const size_t from = std::min(static_cast<size_t>(offset), self.options_.size());
    fuse_reply_buf(request, self.options_.data() + from,
                   std::min(size, self.options_.size() - from));
  }
  static void Refuse(fuse_req_t request) { fuse_reply_err(request, EIO); }
};

const fuse_lowlevel_ops& Caretaker::Operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops{};
    ops.init = [](void*, fuse_conn_info* connection) { Negotiate(*connection); };
    ops.lookup = Handlers::Lookup;
    ops.forget = [](fuse_req_t request, fuse_ino_t, uint64_t) { fuse_reply_none(request); };
    ops.getattr = Handlers::GetAttributes;
    ops.read = Handlers::Read;
    ops.ioctl = [](fuse_req_t request, fuse_ino_t, unsigned, void*, fuse_file_info*, unsigned,
                   const void*, size_t, size_t) { fuse_reply_err(request, ENOTTY); };
    ops.opendir = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) {
      Handlers::Refuse(request);
    };
    ops.readdir = [](fuse_req_t request, fuse_ino_t, size_t, off_t, fuse_file_info*) {
      Handlers::Refuse(request);
    };
    ops.readdirplus = ops.readdir;
    ops.releasedir = [](fuse_req_t request, fuse_ino_t, fuse_file_info*) {
      fuse_reply_err(request, 0);
    };
    ops.statfs = [](fuse_req_t request, fuse_ino_t) {
      struct statvfs st = {};
      st.f_namemax = 255;
      st.f_bsize = st.f_frsize = 4096;
      fuse_reply_statfs(request, &st);
    };
    return ops;
  }();
  return operations;
}

}  // namespace zarrfs
