#include "fs/daemon/command_line.h"

#include <fmt/format.h>
#include <fuse_lowlevel.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "fs/daemon/option_table.h"
#include "fs/daemon/settings.h"

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
  return {2, "usage: zarrfs STORE MNT [-o options]; --help says more"};
}

// The words, of which those before `next` are parsed.
struct Words {
  std::span<const char* const> all;
  size_t next = 1;

  const char* Take() { return next < all.size() ? all[next++] : nullptr; }
};

bool ShowsText(const CommandLine& line) {
  return line.action == Action::kShowHelp || line.action == Action::kShowVersion;
}

// "--list"; takes the next word if that is the value.
Result<void> ParseLongOption(std::string_view word, Words& words, CommandLine& line) {
  if (word == "--help") {
    line.action = Action::kShowHelp;
  } else if (word == "--version") {
    line.action = Action::kShowVersion;
  } else if (word == "--list") {
    line.action = Action::kList;
  } else if (word == "--unmount") {
    line.action = Action::kUnmount;
  } else if (word == "--config") {
    const char* const file = words.Take();
    if (file == nullptr || *file == '\0') {
      return Fail(ErrorCode::kInvalidArgument, "option '--config' needs a file");
    }
    std::error_code ignored;
    line.options.config_file = std::filesystem::absolute(file, ignored);
  } else {
    return UnknownOption(word);
  }
  return {};
}

Result<void> ParseLetter(char letter, bool called_by_mount, CommandLine& line) {
  MountOptions& options = line.options;
  if (letter == 'h') {
    line.action = Action::kShowHelp;
  } else if (letter == 'V') {
    line.action = Action::kShowVersion;
  } else if (letter == 'd') {
    options.debug = options.foreground = true;
  } else if (letter == 'f') {
    (called_by_mount ? options.fake : options.foreground) = true;
  } else if (letter == 's') {
    options.sloppy = true;
  } else if (letter == 'v') {
    options.verbose = true;
  } else if (letter != 'n') {  // mount(8): do not write /etc/mtab, which no longer exists
    return UnknownOption(fmt::format("-{}", letter));
  }
  return {};
}

// "-f", "-fs", "-oro", "-o"; takes the next word if that is the value.
Result<void> ParseLetters(std::string_view word, bool called_by_mount, Words& words,
                          CommandLine& line) {
  for (size_t at = 1; at < word.size() && !ShowsText(line); ++at) {
    const char letter = word[at];
    if (letter != 'o' && letter != 't' && letter != 'N') {
      if (auto parsed = ParseLetter(letter, called_by_mount, line); !parsed) return parsed;
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

// Decides which path is the store and which the mount point.
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
  if (paths.size() < max_paths - (source_is_known ? 1 : 0)) {
    return Fail(ErrorCode::kInvalidArgument, "mount point is missing ({})", usage);
  }
  if (std::ranges::find(paths, "") != paths.end()) {
    return Fail(ErrorCode::kInvalidArgument, "empty path ({})", usage);
  }
  if (max_paths > 0) options.mountpoint = paths.back();
  if (mounts && !source_is_known) options.source = paths.front();
  return {};
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  Words words{{argv, static_cast<size_t>(argc)}};
  std::string_view program = argc > 0 ? argv[0] : "zarrfs";
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  const bool called_by_mount = program.starts_with("mount.");

  CommandLine line;
  std::vector<std::string_view> paths;
  bool only_paths = false;  // after "--"
  while (const char* const taken = words.Take()) {
    const std::string_view word = taken;
    if (only_paths || word.size() < 2 || word[0] != '-') {
      paths.push_back(word);
    } else if (word == "--") {
      only_paths = true;
    } else if (const auto parsed = word[1] == '-'
                                       ? ParseLongOption(word, words, line)
                                       : ParseLetters(word, called_by_mount, words, line);
               !parsed) {
      return Fail(parsed);
    }
    if (ShowsText(line)) return CommandLine{line.action, {}};
  }
  if (const auto applied = ApplySettings(line.options); !applied) return Fail(applied);
  if (line.options.remount && line.action == Action::kMount) line.action = Action::kRemount;
  if (const auto assigned = AssignPaths(paths, line); !assigned) return Fail(assigned);
  return line;
}

std::string HelpText() {
  return "zarrfs STORE MNT [-o options] [-f] [-d]\n"
         "Shows each inner chunk of the sharded Zarr store STORE as a plain file below MNT, "
         "read-only.\n"
         "Unmount with `zarrfs --unmount MNT`, `umount MNT` or `fusermount3 -u MNT`.\n"
         "\n"
         "  -f                    stay in the foreground and log to stderr\n"
         "  -d                    the same, and log every request\n"
         "  --config FILE         read options from FILE, one `name = value` per line, also "
         "`source = STORE`;\n"
         "                        those after -o override them. SIGHUP makes zarrfs read "
         "log_level, cache\n"
         "                        and index_cache again\n"
         "  --list                list the zarrfs mounts: process, mount point, store\n"
         "  --unmount MNT         unmount MNT, also a dead mount\n"
         "  -h, --help            print this help\n"
         "  -V, --version         print the versions of zarrfs and libfuse\n"
         "  -s, -v                ignore unknown options; say what was mounted\n"
         "\n"
         "Options after -o, separated by commas (write \\, for a comma in a value):\n" +
         OptionsHelp() +
         "Options of mount(8) and fstab(5) such as noauto, user, _netdev or x-systemd.* are "
         "accepted.\n"
         "\n"
         "Exit status: 0 mounted, 1 wrong usage, 2 system error, 32 mount failure.\n";
}

std::string VersionText() {
  return fmt::format("zarrfs {} (libfuse {})\n", ZARRFS_VERSION, fuse_pkgversion());
}

}  // namespace zarrfs
