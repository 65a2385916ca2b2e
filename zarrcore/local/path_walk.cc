#include "zarrcore/local/path_walk.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <optional>
#include <utility>

#include "zarrcore/local/pending_path.h"

namespace zarrfs {
namespace {

using DescriptorPtr = std::shared_ptr<const Descriptor>;

DescriptorPtr Share(Descriptor fd) { return std::make_shared<const Descriptor>(std::move(fd)); }

// A folder or file on the path.
struct Step {
  DescriptorPtr fd;
  Glance glance;
  std::string name;  // the name in the parent folder
  bool is_automount = false;

  [[nodiscard]] bool is_folder() const { return S_ISDIR(glance.mode); }
};

// Where the resolved path begins: at the store's root, at "/", or at the highest folder that this
// process can access.
enum class Base { kRoot, kTop, kCut };

constexpr std::string_view kIntoZarrfs = "which leads into a zarrfs mount; that is never followed";

// Marks the end of a link's target in the pending components.
constexpr const char* kEndOfLink = "/";

class Walker {
 public:
  Walker(const WalkRules& rules, MountedDevices& devices, DescriptorPtr root, std::string_view key)
      : rules_(rules), devices_(devices), root_fd_(std::move(root)), key_(key) {}

  Result<Walked> Walk() {
    const auto glance = GlanceAt(root_fd_->get());
    if (!glance) return FailToOpen(key_, errno);
    root_ = Step{root_fd_, *glance, "", false};
    steps_ = {root_};
    for (size_t start = 0; start < key_.size(); start = key_end_ + 1) {
      key_end_ = std::min(key_.find('/', start), key_.size());
      pending_.Push(key_.substr(start, key_end_ - start));
      folders_of_key_.push_back(steps_.back().glance.id);
      while (!pending_.empty()) {
        const std::string name = pending_.Pop();
        if (auto done = name == kEndOfLink ? EndLink() : Enter(name); !done) return Fail(done);
      }
    }
    return End();
  }

 private:
  Result<void> Enter(const std::string& name) {
    if (!steps_.back().is_folder()) return FailHere(ENOTDIR);
    if (name.empty() || name == ".") return {};
    return name == ".." ? Up() : Down(name);
  }

  Result<void> Down(const std::string& name) {
    const Step& parent = steps_.back();
    Step step;
    step.name = name;
    if (auto opened = Look(parent, step); !opened) return opened;
    if (step.is_automount) {
      // A request for attributes without AT_NO_AUTOMOUNT triggers the automount.
      struct statx ignored;
      static_cast<void>(statx(parent.fd->get(), name.c_str(),
                              AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &ignored));
      if (auto opened = Look(parent, step); !opened) return opened;
    }
    if (S_ISLNK(step.glance.mode)) return Follow(step.fd->get());
    steps_.push_back(std::move(step));
    return {};
  }

  // Opens the next component with O_PATH, if it may be entered.
  Result<void> Look(const Step& parent, Step& step) {
    step.fd = Share(OpenAt2(parent.fd->get(), step.name.c_str(), O_PATH | O_NOFOLLOW, kBeneath));
    if (!*step.fd) return FailHere(errno);
    return Judge(parent, step);
  }

  // Refuses a component that is in a forbidden mount.
  Result<void> Judge(const Step& from, Step& step) {
    const auto glance = GlanceAt(step.fd->get());
    if (!glance) return FailHere(errno);
    step.glance = *glance;
    step.is_automount = from.is_automount;
    if (glance->id.device == from.glance.id.device) return {};
    const auto kind = devices_.KindOf(step.fd->get(), glance->id.device);
    if (!kind) return Fail(kind);
    step.is_automount = *kind == MountKind::kAutomount;
    if (*kind == MountKind::kZarrfs) {
      if (depth_ > 0) return Refuse(kIntoZarrfs);
      return Fail(ErrorCode::kZarrfsMount, "{}: a zarrfs mount, which is never entered", here());
    }
    if (*kind == MountKind::kKernel && links_ > 0) {
      return Refuse(
          "which leads into a file system of the kernel (/proc, /sys); that is never followed");
    }
    return {};
  }

  Result<void> Up() {
    if (steps_.size() > 1) {
      steps_.pop_back();
      return {};
    }
    if (base_ == Base::kTop) return {};  // as in the kernel, the parent of "/" is "/"
    if (rules_.policy.kind == LinkPolicy::Kind::kInside) return RefuseToLeave();
    if (auto climbed = Climb(); !climbed) return climbed;
    if (base_ == Base::kCut || above_root_.empty()) {
      return why_cut_ == 0 ? Refuse(kIntoZarrfs) : FailHere(why_cut_);
    }
    steps_ = above_root_;
    base_ = is_cut_ ? Base::kCut : Base::kTop;
    return {};
  }

  // Resolves the folders above the store's root, starting at "/" or at the highest folder that this
  // process may read.
  Result<void> Climb() {
    if (std::exchange(has_climbed_, true)) return {};
    std::vector<Step> climbed = {root_};
    for (;;) {
      const Step& at = climbed.back();
      Step step;
      step.fd =
          Share(OpenAt2(at.fd->get(), "..", O_PATH | O_DIRECTORY, uint64_t{RESOLVE_NO_MAGICLINKS}));
      const auto glance = *step.fd ? GlanceAt(step.fd->get()) : std::nullopt;
      if (!glance) {
        why_cut_ = errno;
        break;
      }
      if (glance->id == at.glance.id) {
        is_cut_ = false;
        break;
      }
      step.glance = *glance;
      if (glance->id.device != at.glance.id.device) {
        const auto kind = devices_.KindOf(step.fd->get(), glance->id.device);
        if (!kind) return Fail(kind);
        if (*kind == MountKind::kZarrfs) break;
      }
      climbed.push_back(std::move(step));
    }
    above_root_.assign(std::make_move_iterator(climbed.rbegin()),
                       std::make_move_iterator(std::prev(climbed.rend())));
    return {};
  }

  Result<void> Follow(int link) {
    const auto found = ReadLinkAt(link);
    if (!found) return FailHere(errno);
    std::string_view target = *found;
    if (depth_++ == 0) {  // the link is on the path of the key, not of another link's target
      link_key_ = here();
      link_target_ = target;
      link_folder_ = steps_.back().fd;
      link_way_.clear();
      for (const Step& step : steps_) link_way_.push_back(step.glance.id);
    }
    if (++links_ > kMaxSymbolicLinks) return Refuse("which is part of a loop of symbolic links");
    pending_.PushMark(kEndOfLink);
    if (target.starts_with('/')) {
      const auto below_root = BelowRoot(target);
      if (auto jumped = below_root ? JumpToRoot() : JumpToTop(); !jumped) return jumped;
      target = below_root.value_or(target);
    }
    pending_.Push(target);
    return {};
  }

  // The rest of an absolute link target that begins with the store's own path; nullopt for other
  // targets.
  [[nodiscard]] std::optional<std::string_view> BelowRoot(std::string_view target) const {
    for (const std::string& path : rules_.store_paths) {
      if (!target.starts_with(path)) continue;
      const std::string_view below = target.substr(path.size());
      if ((below.empty() || below.front() == '/') && (!rules_.store_moves || IsRoot(path))) {
        return below;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] bool IsRoot(const std::string& path) const {
    const Descriptor fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto glance = fd ? GlanceAt(fd.get()) : std::nullopt;
    return glance && glance->id == root_.glance.id;
  }

  Result<void> JumpToRoot() {
    steps_ = {root_};
    base_ = Base::kRoot;
    return {};
  }

  Result<void> JumpToTop() {
    if (rules_.policy.kind == LinkPolicy::Kind::kInside) return RefuseToLeave();
    if (auto climbed = Climb(); !climbed) return climbed;
    Step top;
    top.fd = Share(Descriptor(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)));
    const auto glance = *top.fd ? GlanceAt(top.fd->get()) : std::nullopt;
    if (!glance) return FailHere(errno);
    top.glance = *glance;
    steps_ = {std::move(top)};
    base_ = Base::kTop;
    return {};
  }

  // Called when the target of a link has been resolved. Refuses the link if the target is not
  // allowed.
  Result<void> EndLink() {
    --depth_;
    const Step& end = steps_.back();
    if (end.is_folder() && ++folder_links_ > kMaxFolderLinks) {
      ++depth_;  // the walk fails inside the link
      return Refuse(
          fmt::format("one of more than {} links to folders on this path, which is the limit",
                      kMaxFolderLinks));
    }
    if (depth_ > 0) return {};
    if (!MayEndHere()) return RefuseToLeave();
    const FileId id = end.glance.id;
    const auto is_id = [&id](const Step& step) { return step.glance.id == id; };
    if (end.is_folder() && (std::ranges::find(folders_of_key_, id) != folders_of_key_.end() ||
                            std::ranges::find(link_way_, id) != link_way_.end() ||
                            std::ranges::any_of(above_root_, is_id))) {
      return Refuse("a folder above itself, which would be a loop");
    }
    return {};
  }

  [[nodiscard]] bool MayEndHere() const {
    if (rules_.policy.kind == LinkPolicy::Kind::kFollow) return true;
    return std::ranges::any_of(steps_, [this](const Step& step) {
      return step.glance.id == root_.glance.id ||
             std::ranges::find(rules_.folders, step.glance.id) != rules_.folders.end();
    });
  }

  Result<Walked> End() {
    const Step& end = steps_.back();
    Walked walked;
    walked.fd = end.fd;
    walked.type = end.glance.mode & S_IFMT;
    if (rules_.restrict_modes) walked.mode_mask = MaskOfPath();
    return walked;
  }

  [[nodiscard]] uint32_t MaskOfPath() const {
    std::vector<FolderMode> folders;
    for (size_t i = 0; i + 1 < steps_.size(); ++i) {
      const Glance& folder = steps_[i].glance;
      struct stat status = {};
      status.st_mode = folder.mode;
      status.st_dev = folder.id.device;
      const int fd = steps_[i].fd->get();
      const uint32_t mask = rules_.access_lists->MaskOf(fd, "", status, here());
      folders.push_back({folder.mode & mask, folder.uid, folder.gid});
    }
    return ModeMask(folders, steps_.back().glance.uid, steps_.back().glance.gid, rules_.reader);
  }

  // The key up to the current component.
  [[nodiscard]] std::string_view here() const { return key_.substr(0, key_end_); }

  // The error for a component that cannot be opened.
  tl::unexpected<Error> FailHere(int error_number) {
    if (depth_ == 0) return FailToOpen(key_, error_number);
    switch (error_number) {
      case ENOENT:
      case ENOTDIR:
        // The message must not reveal which files exist outside the folders of the policy.
        return MayEndHere() ? Refuse("which does not exist") : RefuseToLeave();
      case EACCES:
      case EPERM:
        if (!MayEndHere()) return RefuseToLeave();
        break;
      case ENAMETOOLONG:
        return Refuse("which cannot exist: a name in it is too long");
      default:
        break;
    }
    return Fail(FromErrno(error_number), "{}: a symbolic link to {}, which cannot be read: {}",
                link_key_, TargetOfLink(), ErrnoText(error_number));
  }

  tl::unexpected<Error> Refuse(std::string_view why) {
    return Fail(ErrorCode::kLinkRefused, "{}: a symbolic link to {}, {}", link_key_, TargetOfLink(),
                why);
  }

  tl::unexpected<Error> RefuseToLeave() {
    const std::string follows = PolicyThatFollows(rules_.policy, TargetOfLink());
    const std::string leaves = rules_.policy.kind == LinkPolicy::Kind::kBelow
                                   ? fmt::format("which leads neither into the store nor below {}",
                                                 fmt::join(rules_.policy.folders, " or "))
                                   : "which leaves the store";
    return Refuse(fmt::format("{}; to follow it, mount with {}links=follow", leaves,
                              follows.empty() ? "" : fmt::format("links={} or ", follows)));
  }

  // The target of the current link for messages, as an absolute path if possible.
  [[nodiscard]] std::string TargetOfLink() const {
    namespace fs = std::filesystem;
    const fs::path target(link_target_);
    if (target.is_absolute()) return target.lexically_normal().string();
    std::error_code error;
    const fs::path folder =
        fs::read_symlink(fmt::format("/proc/self/fd/{}", link_folder_->get()), error);
    return error ? link_target_ : (folder / target).lexically_normal().string();
  }

  const WalkRules& rules_;
  MountedDevices& devices_;
  const DescriptorPtr root_fd_;
  const std::string_view key_;

  Step root_;
  PendingPath pending_;
  // The path resolved so far.
  std::vector<Step> steps_;
  Base base_ = Base::kRoot;  // where the resolved path begins
  size_t key_end_ = 0;       // the end of the current component of the key
  // The resolved folders in which the components of the key were looked up so far.
  std::vector<FileId> folders_of_key_;
  // The folders above the store's root, from the top down. Set by Climb().
  std::vector<Step> above_root_;
  bool has_climbed_ = false;
  bool is_cut_ = true;  // true if above_root_ does not begin with "/"
  int why_cut_ = 0;  // the errno of the first folder that cannot be accessed; 0 for a zarrfs mount

  int links_ = 0;
  int folder_links_ = 0;
  int depth_ = 0;  // the number of links whose targets are being resolved
  // The key, target and folder of the last link that was not part of another link's target.
  std::string link_key_;
  std::string link_target_;
  DescriptorPtr link_folder_;
  std::vector<FileId> link_way_;  // the folders on the path to the link at link_key_
};

// True if a component of the key is too long to be a name.
bool HasImpossibleName(std::string_view key) {
  for (size_t start = 0; start < key.size();) {
    const size_t end = std::min(key.find('/', start), key.size());
    if (end - start > NAME_MAX) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace

Result<Walked> WalkPath(const WalkRules& rules, MountedDevices& devices,
                        std::shared_ptr<const Descriptor> root, std::string_view key) {
  return Walker(rules, devices, std::move(root), key).Walk();
}

tl::unexpected<Error> FailToOpen(std::string_view key, int error_number) {
  if (error_number == ENOENT || error_number == ENOTDIR ||
      (error_number == ENAMETOOLONG && HasImpossibleName(key))) {
    return Fail(ErrorCode::kNotFound, "{}: no such object", key);
  }
  return Fail(FromErrno(error_number), "{}: {}", key, ErrnoText(error_number));
}

}  // namespace zarrfs
