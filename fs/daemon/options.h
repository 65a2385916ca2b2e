// The command line of `zarrfs`, as people, mount(8), mount.fuse(8) and fstab write it:
//
//   zarrfs SRC MNT [-o options] [-f] [-d]
//   zarrfs --config FILE [SRC] MNT [-o options] [-f] [-d]     also as -o config=FILE
//   zarrfs SRC MNT -o remount[,options]
//   zarrfs --list
//   zarrfs --unmount MNT
//
// Parsing looks at nothing but the words and the configuration file: whether SRC and MNT are of any
// use is fs/mountpoint.h's question.
#ifndef FS_DAEMON_OPTIONS_H_
#define FS_DAEMON_OPTIONS_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/daemon/config_file.h"
#include "fs/tree/tree_options.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/link_policy.h"

namespace zarrfs {

/// max(4, two a core): a reader that waits for the disk must not keep another from its answer.
[[nodiscard]] uint32_t DefaultThreads();

/// Everything that is asked of a mount.
struct MountOptions : TreeOptions {
  std::string source;      // as written; a daemon makes it absolute before it changes its folder
  std::string mountpoint;  // likewise

  std::optional<LinkPolicy> links;  // else as LinksInForce() has it

  // How it talks to the kernel.
  uint32_t threads = DefaultThreads();  // that answer the kernel, at most
  bool no_epoch = false;         // do without FUSE_NOTIFY_INC_EPOCH, as kernels before 6.16 must
  bool open_messages = false;    // the kernel asks for each open: see Tree::CheckOpen()
  std::optional<bool> io_uring;  // ask for it or not; else as suits

  // How it is mounted.
  std::optional<bool> allow_other;  // else as suits who mounts: yes for root, no for a user
  bool nonempty = false;
  std::vector<std::string> kernel_options;  // beyond those of every mount: "noexec", "context=…"

  // How the program runs.
  bool foreground = false;
  bool debug = false;  // implies foreground
  bool verbose = false;
  bool fake = false;    // check everything, mount nothing (mount -f)
  bool sloppy = false;  // unknown options are no error (mount -s)
  bool remount = false;
  std::string log_level = "info";
  pid_t pid = 0;  // of the process that takes signals for the mount; set when it starts

  // Where all this was said.
  std::string config_file;            // "" if there is none
  std::vector<Setting> config;        // what it held
  std::vector<std::string> settings;  // after -o; these win

  bool operator==(const MountOptions&) const = default;
};

struct CommandLine {
  enum class Action { kMount, kRemount, kList, kUnmount, kShowHelp, kShowVersion };
  Action action = Action::kMount;
  MountOptions options;  // meaningful for kMount and kRemount; for kUnmount the mount point alone
};

/// kInvalidArgument with one line that names the offending word. argv[0] counts: under a name that
/// begins with "mount." (mount(8)'s helper) `-f` means fake, not foreground.
[[nodiscard]] Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

/// What the configuration file says now, under what the command line says: meaningful are the
/// settings of both, and `config`. kInvalidArgument names file, line and what was expected.
[[nodiscard]] Result<MountOptions> ReadAgain(const MountOptions& options);

/// What can change while a mount is up, when its configuration file is read again.
inline constexpr std::array<std::string_view, 3> kLiveNames = {"log_level", "index_cache", "cache"};

/// Whether users other than the one who mounts may look.
[[nodiscard]] bool AllowsOthers(const MountOptions& options);

/// Which symbolic links of the store are followed. What was not said: all, but those inside the
/// store alone where others may look: a store's author must not publish files of who mounts it.
[[nodiscard]] LinkPolicy LinksInForce(const MountOptions& options);

/// What the configuration file and the command line said, as one list like that after -o.
[[nodiscard]] std::string SettingsList(const MountOptions& options);

/// For a remount: the words of `options` that ask for something else than a mount has that was made
/// with the list `in_force`, by root or not. Not among them is what can change: flags of the
/// kernel, and live names of the configuration file.
[[nodiscard]] std::vector<std::string> ChangedWords(const MountOptions& options,
                                                    std::string_view in_force, bool by_root);

/// Splits at commas. A backslash takes the meaning from a comma or a backslash; commas between
/// double quotes do not split (security contexts have them), and the quotes stay. No empty words.
[[nodiscard]] std::vector<std::string> SplitOptions(std::string_view list);

/// "512k", "64M", "1G", "4096": bytes, in powers of 1024. Empty if it is no size or does not fit.
[[nodiscard]] std::optional<uint64_t> ParseSize(std::string_view text);

/// The one argument that libfuse gets after "-o": what every mount of ours has (read-only, no
/// devices, no set-uid bits, permissions checked by the kernel) and what `options` add.
[[nodiscard]] std::string LibfuseOptions(const MountOptions& options);

/// Why requests do not come by io_uring; "" if they may.
[[nodiscard]] std::string WhyNoIoUring(const MountOptions& options);

/// What --help and --version print, with a newline at the end.
[[nodiscard]] std::string HelpText();
[[nodiscard]] std::string VersionText();

}  // namespace zarrfs

#endif  // FS_DAEMON_OPTIONS_H_
