#include "fs/options/command_line.h"

#include <fmt/format.h>
#include <fuse_lowlevel.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "fs/options/option_table.h"
#include "fs/options/settings.h"
#include "zarrcore/base/libraries.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/open/source.h"
#include "zarrcore/os/system_calls.h"
#include "zarrcore/view/view.h"

namespace zarrfs {
namespace {

using Action = CommandLine::Action;

struct Usage {
  size_t max_paths;
  std::string_view text;
};

Usage UsageOf(Action action) {
  if (action == Action::kList) return {0, "usage: zarrfs --list"};
  if (action == Action::kUnmount) return {1, "usage: zarrfs --unmount MNT"};
  if (action == Action::kUpgrade) return {1, "usage: zarrfs --upgrade MNT or --upgrade --all"};
  if (action == Action::kUpgradeAll) return {0, "usage: zarrfs --upgrade --all"};
  return {2, "usage: zarrfs STORE MNT [-o options]; for more: zarrfs --help"};
}

// The arguments of the program. Those before index `next` have been parsed.
struct Words {
  std::span<const char* const> all;
  size_t next = 1;

  const char* Take() { return next < all.size() ? all[next++] : nullptr; }
};

bool ShowsText(const CommandLine& line) {
  return line.action == Action::kShowHelp || line.action == Action::kShowVersion;
}

// Applies a word without a value, such as "--list" or "-f".
Result<void> ApplySwitch(std::string_view word, bool called_by_mount, CommandLine& line) {
  constexpr std::pair<std::string_view, Action> kActions[] = {
      {"--help", Action::kShowHelp},       {"-h", Action::kShowHelp},
      {"--version", Action::kShowVersion}, {"-V", Action::kShowVersion},
      {"--list", Action::kList},           {"--unmount", Action::kUnmount},
      {"--check", Action::kCheck},         {"--upgrade", Action::kUpgrade}};
  MountOptions& options = line.options;
  if (word == "--all" && line.action == Action::kUpgrade) {
    line.action = Action::kUpgradeAll;
  } else if (const auto* const found =
                 std::ranges::find(kActions, word, &std::pair<std::string_view, Action>::first);
             found != std::end(kActions)) {
    line.action = found->second;
  } else if (word == "-d") {
    options.debug = options.foreground = true;
  } else if (word == "-f") {
    (called_by_mount ? options.fake : options.foreground) = true;
  } else if (word == "-s" && called_by_mount) {
    options.sloppy = true;
  } else if (word == "-s") {
    options.settings.emplace_back("threads=1");
  } else if (word == "-v") {
    options.verbose = true;
  } else if (word != "--readonly" && word != "--read-only" &&  // every mount is read-only
             word != "-n") {  // in mount(8): do not write /etc/mtab, which no longer exists
    std::vector<std::string_view> known = {"--config"};
    for (const auto& action : kActions) known.push_back(action.first);
    return Fail(ErrorCode::kInvalidArgument, "unknown option '{}'{} (zarrfs --help lists them)",
                word, word.starts_with("--") ? DidYouMean(word, known) : "");
  }
  return {};
}

// Parses the value of "--config".
Result<void> TakeConfig(Words& words, CommandLine& line) {
  const char* const file = words.Take();
  if (file == nullptr || *file == '\0') {
    return Fail(ErrorCode::kInvalidArgument, "option '--config' needs a file");
  }
  std::error_code ignored;
  line.options.config_file = std::filesystem::absolute(file, ignored);
  return {};
}

// Parses single-letter options: "-f", "-fs", "-oro", "-o". Consumes the next word if it is a value.
Result<void> ParseLetters(std::string_view word, bool called_by_mount, Words& words,
                          CommandLine& line) {
  for (size_t at = 1; at < word.size() && !ShowsText(line); ++at) {
    const char letter = word[at];
    if (letter != 'o' && letter != 't' && letter != 'N') {
      const std::string option = {'-', letter};
      if (auto applied = ApplySwitch(option, called_by_mount, line); !applied) return applied;
      continue;
    }
    const char* const value = at + 1 < word.size() ? word.data() + at + 1 : words.Take();
    if (value == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  "option '-{}' needs a value (zarrfs --help lists them)", letter);
    }
    if (letter == 'o')
      std::ranges::move(SplitOptions(value), std::back_inserter(line.options.settings));
    break;  // the rest of the word was the value
  }
  return {};
}

// The name of a store: "ocean" for "/data/ocean.zarr/" and "ocean.zarr.zip"; "" if the path has no
// name.
std::string NameOfFolder(const std::string& store) {
  std::error_code ignored;
  return NameOfStore(std::filesystem::absolute(store, ignored).lexically_normal().string());
}

// Decides which path is the store and which is the mount point.
Result<void> AssignPaths(const std::vector<std::string_view>& paths, CommandLine& line) {
  MountOptions& options = line.options;
  const auto [max_paths, usage] = UsageOf(line.action);
  const bool mounts = max_paths == 2;
  if (paths.size() > max_paths) {
    return Fail(ErrorCode::kInvalidArgument, "unexpected argument '{}' ({})", paths[max_paths],
                usage);
  }
  const bool source_is_known = mounts && !options.source.empty() && paths.size() < 2;
  if (mounts && paths.size() == 1 && !options.config_file.empty() && !source_is_known) {
    return Fail(ErrorCode::kInvalidArgument,
                "{}: expected 'source = PATH', unless the store is named before the mount point",
                options.config_file);
  }
  if (mounts && paths.empty() && !source_is_known) {
    return Fail(ErrorCode::kInvalidArgument, "store and mount point are missing ({})", usage);
  }
  const bool may_name_itself = line.action == Action::kMount || line.action == Action::kCheck;
  if (paths.size() == 1 && !source_is_known && may_name_itself && !options.by_mount) {
    options.source = Source(paths.front());
    options.mountpoint = NameOfFolder(options.source.text());
    options.makes_mountpoint = true;
    if (!options.mountpoint.empty()) return {};
  }
  if (paths.size() < max_paths - (source_is_known ? 1 : 0)) {
    return Fail(ErrorCode::kInvalidArgument, "mount point is missing ({})", usage);
  }
  if (std::ranges::find(paths, "") != paths.end()) {
    return Fail(ErrorCode::kInvalidArgument, "empty path ({})", usage);
  }
  if (max_paths > 0) options.mountpoint = paths.back();
  if (mounts && !source_is_known) options.source = Source(paths.front());
  return {};
}

// The part of --help with one line per view.
std::string ViewsHelp() {
  std::string text;
  for (const auto* const view : AllViews()) {
    text += fmt::format("  {:<21} {}{}\n", view->name(), view->readers(),
                        view->is_listed() ? "" : " (not listed)");
  }
  return text;
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  Words words{{argv, static_cast<size_t>(argc)}};
  std::string_view program = argc > 0 ? argv[0] : "zarrfs";
  program.remove_prefix(program.rfind('/') + 1);  // 0 without a slash, because npos + 1 is 0
  const bool called_by_mount = program.starts_with("mount.");

  CommandLine line;
  line.options.by_mount = called_by_mount;
  std::vector<std::string_view> paths;
  bool only_paths = false;  // set after "--"
  while (const char* const taken = words.Take()) {
    const std::string_view word = taken;
    if (only_paths || word.size() < 2 || word[0] != '-') {
      paths.push_back(word);
    } else if (word == "--") {
      only_paths = true;
    } else if (const auto parsed = word == "--config" ? TakeConfig(words, line)
                                   : word[1] == '-'
                                       ? ApplySwitch(word, called_by_mount, line)
                                       : ParseLetters(word, called_by_mount, words, line);
               !parsed) {
      return Fail(parsed);
    }
    if (ShowsText(line)) return CommandLine{line.action, {}};
  }
  if (words.all.size() == 2 && paths == std::vector<std::string_view>{"help"} && !called_by_mount) {
    return CommandLine{Action::kShowHelp, {}};
  }
  if (const auto applied = ApplySettings(line.options); !applied) return Fail(applied);
  if (line.options.remount && line.action == Action::kMount) line.action = Action::kRemount;
  if (const auto assigned = AssignPaths(paths, line); !assigned) return Fail(assigned);
  if (line.action == Action::kMount || line.action == Action::kCheck) {
    if (const auto read = ReadVirtualText(line.options); !read) return Fail(read);
  }
  return line;
}

std::string HelpText() {
  constexpr std::string_view kHead = R"(zarrfs STORE [MNT] [-o options] [-f] [-d]
Shows each inner chunk of the sharded Zarr store STORE, a folder or a zip file, as a plain file below
MNT, read-only. Without MNT it makes a folder here, named like the store without ".zarr", and removes
it in the end.
Unmount with `zarrfs --unmount MNT`, `umount MNT` or `fusermount3 -u MNT`.

  -f                    stay in the foreground and log to stderr
  -d                    the same, and log every request
  --config FILE         read options from FILE, one `name = value` per line, also `source = STORE`;
                        those after -o override them. SIGHUP makes zarrfs read log_level,
                        memory, cache and index_cache again
  --list                list the zarrfs mounts: process, mount point, store
  --unmount MNT         unmount MNT, also a dead mount
  --check               with the words of a mount: say whether it would work, mount nothing
  --upgrade MNT         have this program serve the mount from now on, without unmounting it
  --all                 with --upgrade instead of MNT: every mount
  -h, --help            print this help
  -V, --version         print the versions of zarrfs and libfuse
  -s                    answer with one thread (as mount.zarrfs: ignore unknown options)
  -v                    say what was mounted

Views, which are folders of MNT; each can be opened, listed or not:
)";
  constexpr std::string_view kOptions = R"(
Options after -o, separated by commas (write \, for a comma in a value):
)";
  constexpr std::string_view kTail =
      R"(Options of mount(8) and fstab(5) such as noauto, user, _netdev or x-systemd.* are accepted.

Exit status: 0 mounted, 1 wrong usage, 2 system error, 32 mount failure.
)";
  return fmt::format("{}{}{}{}{}", kHead, ViewsHelp(), kOptions, OptionsHelp(), kTail);
}

std::string VersionText() {
  return fmt::format("zarrfs {} (libfuse {}; filter of system calls: {}; pcodec: {}){}\n",
                     ZARRFS_VERSION, fuse_pkgversion(), SystemCallFilterVersion(),
                     DecodesPcodec() ? "yes" : "no", LibrariesText());
}

}  // namespace zarrfs
