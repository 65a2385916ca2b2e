#include "fs/process/worker_sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "fs/mount/session.h"
#include "fs/process/privileges.h"
#include "zarrcore/base/result.h"
#include "zarrcore/open/source.h"
#include "zarrcore/os/sandbox.h"

namespace zarrfs {
namespace {

// File systems on disks or in memory of this machine. For such file systems, the kernel itself
// decides who may read, and accepts CAP_DAC_READ_SEARCH from any user.
struct LocalType {
  std::string_view name;
  uint32_t number;  // the f_type of statfs(2)
};
constexpr std::array<LocalType, 19> kLocalTypes = {{{"ext2", 0xEF53},
                                                    {"ext3", 0xEF53},
                                                    {"ext4", 0xEF53},
                                                    {"xfs", 0x58465342},
                                                    {"btrfs", 0x9123683E},
                                                    {"zfs", 0x2FC12FC1},
                                                    {"f2fs", 0xF2F52010},
                                                    {"bcachefs", 0xCA451A4E},
                                                    {"tmpfs", 0x01021994},
                                                    {"ramfs", 0x858458F6},
                                                    {"vfat", 0x4D44},
                                                    {"msdos", 0x4D44},
                                                    {"udf", 0x15013346},
                                                    {"exfat", 0x2011BAB0},
                                                    {"iso9660", 0x9660},
                                                    {"squashfs", 0x73717368},
                                                    {"erofs", 0xE0F5E1E2},
                                                    {"overlay", 0x794C7630},
                                                    {"ntfs3", 0x7366746E}}};
// File systems that contain no store, or that the worker never enters.
constexpr std::array<std::string_view, 24> kOtherTypes = {
    "proc",    "sysfs",     "devtmpfs",    "devpts",   "securityfs", "debugfs",
    "tracefs", "cgroup",    "cgroup2",     "configfs", "fusectl",    "efivarfs",
    "pstore",  "bpf",       "binfmt_misc", "mqueue",   "hugetlbfs",  "rpc_pipefs",
    "nsfs",    "selinuxfs", "smackfs",     "nfsd",     "rootfs",     kMountType};

bool IsLocal(std::string_view type) {
  return std::ranges::find(kLocalTypes, type, &LocalType::name) != kLocalTypes.end();
}

// The path, mount and file system type of the folder for which `fd` (O_PATH) was opened.
MountedFolder PlaceOf(const Descriptor& fd) {
  std::error_code ignored;
  struct statx info = {};
  const bool is_known =
      statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &info) == 0 &&
      (info.stx_mask & STATX_MNT_ID) != 0;
  struct statfs file_system = {};
  const bool has_type = fstatfs(fd.get(), &file_system) == 0;
  return {std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd.get()), ignored),
          is_known ? info.stx_mnt_id : 0,
          // f_type is a signed word, and some systems sign-extend it.
          has_type ? static_cast<uint32_t>(file_system.f_type) : 0};
}

// The readable paths of a store, and why they are not all local; see WhyNotLocal().
struct Places {
  std::vector<std::string> readable;
  std::string not_local;
};

// For a store that is one file: adds the file's folder, because another file may be renamed into
// its place. If the file is a symbolic link, also adds the folder of the file to which it leads.
// For a file in the root folder, adds only the file.
template <typename Add>
void AddFile(const Location& place, const Add& add, std::vector<std::string>& readable) {
  std::error_code ignored;
  const auto file = std::filesystem::canonical(place.path(), ignored);
  for (const auto& folder :
       {std::filesystem::canonical(place.folder, ignored), file.parent_path()}) {
    if (folder != "/") add(folder);
  }
  if (file.parent_path() == "/") readable.push_back(file);
}

Places PlacesToRead(const MountOptions& options, const Descriptor& source) {
  Places places;
  std::vector<MountedFolder> mounted;
  // Skips a folder that does not exist; opening the store reports the missing folder later.
  const auto add = [&](const std::string& folder) {
    const Descriptor fd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return false;
    places.readable.push_back(folder);
    mounted.push_back(PlaceOf(fd));
    return true;
  };
  const auto add_store = [&] {
    const Location place = options.source.Locate(source);
    const bool is_file = !place.file.empty();
    if (source) {
      add(fmt::format("/proc/self/fd/{}", source.get()));
    } else if (is_file) {
      AddFile(place, add, places.readable);
    } else if (add(place.folder)) {
      // Another store may be renamed into the place of this one, so the parent is readable, too. A
      // parent that is the root folder is excluded, because it would make all files readable.
      const auto above = std::filesystem::path(mounted.back().path).parent_path();
      if (above != "/") places.readable.push_back(above);
    }
    if (is_file) return;
    const LinkPolicy links = LinksInForce(options);
    for (const std::string& folder : links.folders) add(folder);
    if (links.kind == LinkPolicy::Kind::kFollow) add("/");
  };
  // A store behind a network is read by the fetcher.
  if (!options.source.needs_fetcher()) add_store();
  for (const VirtualPrefix& prefix : options.virtual_prefixes) {
    if (prefix.is_local()) add(prefix.Path());
  }
  places.not_local = WhyNotLocal(mounted, MountTable());
  return places;
}

SandboxRules RulesFor(const MountOptions& options, Places places) {
  SandboxRules rules{.readable = std::move(places.readable), .writable = {"/dev/null"}};
  // The worker reads the mount table in /proc/self. The descriptor stays open because the kernel
  // could otherwise evict the folder's inode and, with it, the Landlock rule.
  [[maybe_unused]] static const int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
  rules.readable.emplace_back("/proc/self");
  rules.readable.emplace_back("/proc/sys/fs/fuse");     // libfuse 3.17 reads limits there
  rules.readable.emplace_back("/proc/sys/fs/inotify");  // the number of folders that may be watched
  rules.readable.emplace_back("/proc/sys/vm/overcommit_memory");  // malloc reads it
  if (WhyNoIoUring(options).empty()) {
    rules.io_uring = true;
    rules.readable.emplace_back("/sys/module/fuse/parameters");
    rules.writable.emplace_back("/dev/fuse");  // each thread opens the device
  }
  return rules;
}

}  // namespace

std::string WhyNotLocal(const std::vector<MountedFolder>& folders,
                        const std::vector<Mounted>& table) {
  const auto why = [](const Mounted& mounted) {
    return fmt::format("{} at {}", mounted.type, mounted.path);
  };
  for (const MountedFolder& folder : folders) {
    const auto in = std::ranges::find(table, folder.mount_id, &Mounted::id);
    // In a chroot whose root is not a mount point, the mount that contains the root has no line in
    // the table.
    if (in == table.end() &&
        std::ranges::find(kLocalTypes, folder.type, &LocalType::number) == kLocalTypes.end()) {
      return fmt::format("file system {:#x} at {}", folder.type, folder.path);
    }
    if (in != table.end() && !IsLocal(in->type)) return why(*in);
    for (const Mounted& below : table) {
      if (!LiesIn(below.path, folder.path) || IsLocal(below.type)) continue;
      // An automount below /proc or /sys leads to no store.
      const bool is_kernel = LiesIn(below.path, "/proc") || LiesIn(below.path, "/sys");
      const bool is_other = std::ranges::find(kOtherTypes, below.type) != kOtherTypes.end();
      if (!is_kernel && !is_other) return why(below);
    }
  }
  return "";
}

WorkerSandbox EnterWorkerSandbox(const MountOptions& options, const Descriptor& source,
                                 pid_t keeper, std::vector<int> sockets, bool reads_store) {
  Places places = reads_store ? PlacesToRead(options, source) : Places();
  const std::string not_local = places.not_local;
  SandboxRules rules = RulesFor(options, std::move(places));
  std::erase(sockets, -1);
  rules.sockets = std::move(sockets);

  std::string no_user = not_local;
  std::string shared_network = not_local;
  if (geteuid() != 0) {
    no_user = shared_network = "needs root";
  } else {
    if (!AllowsOthers(options)) no_user = "noallow_other: others may not access the mount";
    if (shared_network.empty() && unshare(CLONE_NEWNET) != 0) shared_network = ErrnoText(errno);
  }
  const uid_t user = UserWithoutAccount(keeper, /*is_fetcher=*/false);
  const std::string refused =
      KeepReadPrivileges(no_user.empty() ? std::optional(user) : std::nullopt);
  if (!refused.empty()) no_user = refused;

  const SandboxState state = EnterSandbox(rules);
  std::string text = fmt::format("{}, uid {}", state.Text(), geteuid());
  if (geteuid() == 0) text += fmt::format(" ({})", no_user);
  text += shared_network.empty() ? ", no network"
                                 : fmt::format(", shared network ({})", shared_network);
  return {std::move(text), state.is_whole()};
}

}  // namespace zarrfs
