#include "fs/daemon/options.h"

#include <fuse_lowlevel.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <thread>

#include "fs/fuse/server.h"

namespace zarrfs {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxConsolidated = 1'000'000;

// Applies a value; what was expected instead if it is wrong, else "".
using Apply = std::string (*)(MountOptions&, std::string_view value);

struct ValueOption {
  std::string_view name;
  std::string_view value_name;
  std::string_view help;
  Apply apply;
};

struct FlagOption {
  std::string_view name;
  std::string_view help;
  void (*apply)(MountOptions&);
};

// `base` is std::from_chars' base or, for a floating-point number, nothing.
template <typename T, typename... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string ApplySize(uint64_t& bytes, std::string_view value) {
  const auto size = ParseSize(value);
  if (!size) return "a size such as 512k, 64M or 1G";
  bytes = *size;
  return "";
}

// The largest id means "no change" to the kernel, so nobody can have it.
std::string ApplyId(std::optional<uint32_t>& id, std::string_view value) {
  const auto number = ParseNumber<uint32_t>(value);
  if (!number || *number == UINT32_MAX) return "a number";
  id = number;
  return "";
}

std::string ApplyContext(MountOptions& options, std::string_view name, std::string_view value) {
  // The kernel refuses a context where SELinux is not compiled in or switched off; fstab lines are
  // written for both.
  if (access("/sys/fs/selinux", F_OK) == 0) {
    options.kernel_options.push_back(fmt::format("{}={}", name, value));
  }
  return "";
}

constexpr std::array kValueOptions = {
    ValueOption{"view", "v2|v3|gdal|netcdf",
                "show only this view, at the root (default: a folder for each)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (!ViewNumber(v) && v != "all") return "v2, v3, gdal, netcdf or all";
                  o.view = v == "all" ? "" : v;
                  return "";
                }},
    ValueOption{"separator", ".|/", "between the numbers of chunk names (default: auto)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v != "." && v != "/" && v != "auto") return "'.', '/' or auto";
                  o.separator = v == "auto" ? '\0' : v[0];
                  return "";
                }},
    ValueOption{"fill", "auto|keep|materialize",
                "whether .zarray tells the fill value, which xarray masks, or chunks that are\n"
                "                        not stored are files of it (default: auto)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v == "auto") {
                    o.fill = FillPolicy::kAuto;
                  } else if (v == "keep") {
                    o.fill = FillPolicy::kKeep;
                  } else if (v == "materialize") {
                    o.fill = FillPolicy::kMaterialize;
                  } else {
                    return "auto, keep or materialize";
                  }
                  return "";
                }},
    ValueOption{"links", "inside|follow",
                "whether symbolic links out of the store are followed; links=DIR:DIR where\n"
                "                        they end below these folders (default: follow, with\n"
                "                        allow_other inside)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  auto policy = ParseLinkPolicy(v);
                  if (!policy) return "inside, follow or folders as /data:/disk2/data";
                  o.links = std::move(policy);
                  return "";
                }},
    ValueOption{"consolidated", "no",
                "no .zmetadata, no consolidated metadata in zarr.json (default: yes)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v != "no" && v != "yes") return "yes or no";
                  if (v == "no") o.consolidated_max = 0;
                  return "";
                }},
    ValueOption{"consolidated_max", "N",
                "leave it out of groups with more nodes below (default: 4096)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  const auto number = ParseNumber<uint64_t>(v);
                  if (!number || *number > kMaxConsolidated) {
                    return fmt::format("a number up to {}", kMaxConsolidated);
                  }
                  o.consolidated_max = *number;
                  return "";
                }},
    ValueOption{"ttl", "SECONDS",
                "how long a name may be out of date (default: not at all where the\n"
                "                        store can be watched, else 1 to 60, a tenth of its age)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  const auto seconds = ParseNumber<double>(v);
                  if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
                    return "a number of seconds, 0 or more";
                  }
                  o.ttl = *seconds;
                  return "";
                }},
    ValueOption{"open", "message",
                "ask the store at each open too: for a store that is rewritten all the time",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v != "message" && v != "auto") return "message or auto";
                  o.open_messages = v == "message";
                  return "";
                }},
    ValueOption{"index_cache", "SIZE", "memory for shard indexes: 512k, 64M, 1G (default: 64M)",
                [](MountOptions& o, std::string_view v) { return ApplySize(o.index_cache, v); }},
    ValueOption{"cache", "SIZE", "memory for chunks that must be decoded (default: 256M)",
                [](MountOptions& o, std::string_view v) { return ApplySize(o.cache, v); }},
    ValueOption{"node_cache", "SIZE", "memory for metadata of groups and arrays (default: 32M)",
                [](MountOptions& o, std::string_view v) { return ApplySize(o.node_cache, v); }},
    ValueOption{"threads", "N", "threads that answer the kernel (default: two a core, 4 at least)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  const auto number = ParseNumber<uint32_t>(v);
                  if (!number || *number < 1 || *number > kMaxThreads) {
                    return fmt::format("a number from 1 to {}", kMaxThreads);
                  }
                  o.threads = *number;
                  return "";
                }},
    ValueOption{"uid", "N", "owner of every file (default: as in the store)",
                [](MountOptions& o, std::string_view v) { return ApplyId(o.uid, v); }},
    ValueOption{"gid", "N", "group of every file (default: as in the store)",
                [](MountOptions& o, std::string_view v) { return ApplyId(o.gid, v); }},
    ValueOption{"umask", "OCTAL", "permissions 555 and 444 less these, not the store's own",
                [](MountOptions& o, std::string_view v) -> std::string {
                  const auto bits = ParseNumber<uint32_t>(v, 8);
                  if (!bits || *bits > 0777) return "an octal number from 0 to 777";
                  o.umask = *bits;
                  return "";
                }},
    ValueOption{"log_level", "LEVEL", "error, warning, info or debug (default: info)",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v != "error" && v != "warning" && v != "info" && v != "debug") {
                    return "error, warning, info or debug";
                  }
                  o.log_level = v;
                  return "";
                }},
    ValueOption{"config", "FILE", "source and options are in FILE, as with --config",
                [](MountOptions& o, std::string_view v) -> std::string {
                  if (v.empty()) return "a file";
                  std::error_code ignored;
                  o.config_file = std::filesystem::absolute(v, ignored);
                  return "";
                }},
    ValueOption{"context", "", "",
                [](MountOptions& o, std::string_view v) { return ApplyContext(o, "context", v); }},
    ValueOption{
        "fscontext", "", "",
        [](MountOptions& o, std::string_view v) { return ApplyContext(o, "fscontext", v); }},
    ValueOption{
        "defcontext", "", "",
        [](MountOptions& o, std::string_view v) { return ApplyContext(o, "defcontext", v); }},
    ValueOption{
        "rootcontext", "", "",
        [](MountOptions& o, std::string_view v) { return ApplyContext(o, "rootcontext", v); }},
};

constexpr std::array kFlagOptions = {
    FlagOption{"immutable", "the store never changes: everything is cached for ever",
               [](MountOptions& o) { o.immutable = true; }},
    FlagOption{"io_uring",
               "requests by io_uring, where libfuse and the kernel know it (default: so)",
               [](MountOptions& o) { o.io_uring = true; }},
    FlagOption{"noio_uring", "requests through /dev/fuse in any case",
               [](MountOptions& o) { o.io_uring = false; }},
    FlagOption{"allow_other", "other users may look (default for a mount by root)",
               [](MountOptions& o) { o.allow_other = true; }},
    FlagOption{"noallow_other", "only who mounted may look (default for a mount by a user)",
               [](MountOptions& o) { o.allow_other = false; }},
    FlagOption{"nonempty", "mount over a folder that has something in it",
               [](MountOptions& o) { o.nonempty = true; }},
    FlagOption{"noexec", "no file can be run as a program",
               [](MountOptions& o) { o.kernel_options.emplace_back("noexec"); }},
    FlagOption{"exec", "", [](MountOptions& o) { std::erase(o.kernel_options, "noexec"); }},
    // fusermount3 knows no other of the atime family, and nothing here has an atime anyway.
    FlagOption{"noatime", "", [](MountOptions& o) { o.kernel_options.emplace_back("noatime"); }},
    FlagOption{"atime", "", [](MountOptions& o) { std::erase(o.kernel_options, "noatime"); }},
    FlagOption{"remount", "", [](MountOptions& o) { o.remount = true; }},
    // For tests on kernels that have more than the oldest supported one.
    FlagOption{"no_epoch", "", [](MountOptions& o) { o.no_epoch = true; }},
    FlagOption{"debug", "", [](MountOptions& o) { o.debug = o.foreground = true; }},
};

// What fstab, mount(8) and mount.fuse(8) write and what changes nothing here: the mount is
// read-only and ignores set-uid bits and devices whatever they ask for.
constexpr auto kIgnoredWords = std::to_array<std::string_view>({"ro",
                                                                "rw",
                                                                "defaults",
                                                                "auto",
                                                                "noauto",
                                                                "suid",
                                                                "nosuid",
                                                                "dev",
                                                                "nodev",
                                                                "relatime",
                                                                "norelatime",
                                                                "strictatime",
                                                                "nostrictatime",
                                                                "diratime",
                                                                "nodiratime",
                                                                "lazytime",
                                                                "nolazytime",
                                                                "sync",
                                                                "async",
                                                                "dirsync",
                                                                "user",
                                                                "nouser",
                                                                "users",
                                                                "nousers",
                                                                "owner",
                                                                "noowner",
                                                                "group",
                                                                "nogroup",
                                                                "nofail",
                                                                "_netdev",
                                                                "default_permissions"});
constexpr auto kIgnoredNames =
    std::to_array<std::string_view>({"user", "comment", "fsname", "subtype"});
// What the kernel says of a mount in its table; mount(8) gives it back to who remounts.
constexpr auto kTableNames =
    std::to_array<std::string_view>({"user_id", "group_id", "max_read", "blksize"});
// Options that a remount changes in the kernel.
constexpr auto kKernelFlags =
    std::to_array<std::string_view>({"noexec", "exec", "noatime", "atime"});

template <typename Table>
auto FindNamed(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& row) { return row.name; });
  return found == std::end(table) ? nullptr : &*found;
}

Result<void> ApplyWord(std::string_view word, MountOptions& options,
                       std::optional<std::string>& unknown) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? word.substr(equals + 1) : std::string_view();

  if (const ValueOption* option = FindNamed(kValueOptions, name)) {
    const std::string expected = has_value ? option->apply(options, value) : "a value";
    if (expected.empty()) return {};
    return Fail(ErrorCode::kInvalidArgument, "option '{}': expected {} (zarrfs --help lists them)",
                word, expected);
  }
  if (const FlagOption* option = FindNamed(kFlagOptions, name)) {
    if (has_value) {
      return Fail(ErrorCode::kInvalidArgument,
                  "option '{}': '{}' takes no value (zarrfs --help lists them)", word, name);
    }
    option->apply(options);
    return {};
  }
  if (!has_value && std::ranges::find(kIgnoredWords, word) != kIgnoredWords.end()) return {};
  if (has_value && std::ranges::find(kIgnoredNames, name) != kIgnoredNames.end()) return {};
  if (word.starts_with("x-") || word.starts_with("X-")) return {};
  // Later words decide whether this one matters: mount(8) writes -s after or before.
  if (!unknown) unknown = std::string(word);
  return {};
}

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

tl::unexpected<Error> UnknownWord(std::string_view word) {
  return Fail(ErrorCode::kInvalidArgument, "unknown option '{}' (zarrfs --help lists them)", word);
}

// Of the configuration file.
Result<void> ApplySetting(const Setting& setting, MountOptions& options) {
  if (setting.name == "source") {
    options.source = setting.value.value_or("");
    if (options.source.starts_with('/')) return {};
    return Fail(ErrorCode::kInvalidArgument, "option '{}': expected a path that begins with /",
                setting.Word());
  }
  std::optional<std::string> unknown;
  if (setting.name == "config" || setting.name == "remount") {
    unknown = setting.Word();
  } else if (const auto applied = ApplyWord(setting.Word(), options, unknown); !applied) {
    return applied;
  }
  if (unknown) return UnknownWord(*unknown);
  return {};
}

std::string_view NameIn(std::string_view word) { return word.substr(0, word.find('=')); }

// In the order in which they apply.
std::vector<std::string> AllWords(const MountOptions& options) {
  std::vector<std::string> words;
  for (const Setting& setting : options.config) {
    if (setting.name != "source") words.push_back(setting.Word());
  }
  std::ranges::copy(options.settings, std::back_inserter(words));
  return words;
}

// The configuration file's, then those after -o.
Result<void> ApplySettings(MountOptions& options) {
  std::optional<std::string> unknown;
  for (const std::string& setting : options.settings) {
    if (NameIn(setting) != "config") continue;
    if (const auto applied = ApplyWord(setting, options, unknown); !applied) return applied;
  }
  if (!options.config_file.empty()) {
    auto config = ReadConfig(options.config_file);
    if (!config) return Fail(config);
    for (const Setting& setting : *config) {
      if (const auto applied = ApplySetting(setting, options); !applied) {
        return Fail(ErrorCode::kInvalidArgument, "{}:{}: {}", options.config_file, setting.line,
                    applied.error().message);
      }
    }
    options.config = *std::move(config);
  }
  if (std::ranges::find(options.settings, "remount") != options.settings.end()) {
    std::erase_if(options.settings, [](std::string_view word) {
      return std::ranges::find(kTableNames, NameIn(word)) != kTableNames.end();
    });
  }
  for (const std::string& setting : options.settings) {
    if (const auto applied = ApplyWord(setting, options, unknown); !applied) return applied;
  }
  if (unknown && !options.sloppy) return UnknownWord(*unknown);
  if (options.debug) options.log_level = "debug";
  return {};
}

}  // namespace

bool AllowsOthers(const MountOptions& options) {
  return options.allow_other.value_or(geteuid() == 0);
}

LinkPolicy LinksInForce(const MountOptions& options) {
  return options.links.value_or(LinkPolicy{
      AllowsOthers(options) ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow, {}});
}

std::string SettingsList(const MountOptions& options) {
  std::string list;
  for (const std::string& word : AllWords(options))
    list += (list.empty() ? "" : ",") + Escape(word);
  return list;
}

std::vector<std::string> ChangedWords(const MountOptions& options, std::string_view in_force,
                                      bool by_root) {
  const auto with = [](MountOptions made, std::string_view word) {
    const std::string_view name = NameIn(word);
    if (name == "config" || std::ranges::find(kKernelFlags, word) != kKernelFlags.end())
      return made;
    // A word that another zarrfs took is none that this one could have asked for.
    std::optional<std::string> unknown;
    static_cast<void>(ApplyWord(word, made, unknown));
    return made;
  };
  MountOptions mounted;
  for (const std::string& word : SplitOptions(in_force)) mounted = with(mounted, word);
  mounted.allow_other = mounted.allow_other.value_or(by_root);
  mounted.links = LinksInForce(mounted);
  mounted.remount = true;

  std::vector<std::string> changed;
  MountOptions wanted = mounted;
  for (const std::string& word : AllWords(options)) {
    const auto in_file = std::ranges::find(options.config, word, &Setting::Word);
    if (in_file != options.config.end() &&
        std::ranges::find(kLiveNames, in_file->name) != kLiveNames.end()) {
      continue;
    }
    wanted = with(wanted, word);
    if (with(mounted, word) != mounted) changed.push_back(word);
  }
  if (wanted == mounted) changed.clear();  // later words have put earlier ones right
  return changed;
}

uint32_t DefaultThreads() { return std::max(4U, 2 * std::thread::hardware_concurrency()); }

std::vector<std::string> SplitOptions(std::string_view list) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '\\' && i + 1 < list.size() && (list[i + 1] == ',' || list[i + 1] == '\\')) {
      words.back() += list[++i];
    } else if (c == ',' && !quoted) {
      words.emplace_back();
    } else {
      if (c == '"') quoted = !quoted;
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      case 't':
      case 'T':
        shift = 40;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  const auto number = ParseNumber<uint64_t>(text);
  if (!number || *number > (UINT64_MAX >> shift)) return std::nullopt;
  return *number << shift;
}

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  const std::span<const char* const> words(argv, static_cast<size_t>(argc));
  std::string_view program = argc > 0 ? words[0] : "zarrfs";
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  const bool called_by_mount = program.starts_with("mount.");

  CommandLine line;
  MountOptions& options = line.options;
  std::vector<std::string_view> paths;
  bool only_paths = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (only_paths || word.size() < 2 || word[0] != '-') {
      paths.push_back(word);
    } else if (word == "--") {
      only_paths = true;
    } else if (word == "--help") {
      return CommandLine{CommandLine::Action::kShowHelp, {}};
    } else if (word == "--version") {
      return CommandLine{CommandLine::Action::kShowVersion, {}};
    } else if (word == "--config") {
      if (++i == words.size() || words[i][0] == '\0') {
        return Fail(ErrorCode::kInvalidArgument, "option '--config' needs a file");
      }
      std::error_code ignored;
      options.config_file = std::filesystem::absolute(words[i], ignored);
    } else if (word == "--list") {
      line.action = CommandLine::Action::kList;
    } else if (word == "--unmount") {
      line.action = CommandLine::Action::kUnmount;
    } else if (word[1] == '-') {
      return UnknownWord(word);
    } else {
      for (size_t at = 1; at < word.size(); ++at) {
        const char letter = word[at];
        if (letter == 'o' || letter == 't' || letter == 'N') {
          std::string_view value = word.substr(at + 1);
          if (value.empty()) {
            if (++i == words.size()) {
              return Fail(ErrorCode::kInvalidArgument,
                          "option '-{}' needs a value (zarrfs --help lists them)", letter);
            }
            value = words[i];
          }
          if (letter == 'o') {
            std::ranges::move(SplitOptions(value), std::back_inserter(options.settings));
          }
          break;  // the rest of the word was the value
        }
        switch (letter) {
          case 'h':
            return CommandLine{CommandLine::Action::kShowHelp, {}};
          case 'V':
            return CommandLine{CommandLine::Action::kShowVersion, {}};
          case 'd':
            options.debug = options.foreground = true;
            break;
          case 'f':
            (called_by_mount ? options.fake : options.foreground) = true;
            break;
          case 's':
            options.sloppy = true;
            break;
          case 'v':
            options.verbose = true;
            break;
          case 'n':
            break;  // there has been no mtab to leave alone for long
          default:
            return UnknownWord(fmt::format("-{}", letter));
        }
      }
    }
  }
  if (const auto applied = ApplySettings(options); !applied) return Fail(applied);
  if (options.remount && line.action == CommandLine::Action::kMount) {
    line.action = CommandLine::Action::kRemount;
  }

  const bool mounts =
      line.action == CommandLine::Action::kMount || line.action == CommandLine::Action::kRemount;
  const std::string_view usage = line.action == CommandLine::Action::kList ? "usage: zarrfs --list"
                                 : line.action == CommandLine::Action::kUnmount
                                     ? "usage: zarrfs --unmount MNT"
                                     : "usage: zarrfs SRC MNT [-o options]; "
                                       "--help says more";
  const size_t most = mounts ? 2 : line.action == CommandLine::Action::kUnmount ? 1 : 0;
  if (paths.size() > most) {
    return Fail(ErrorCode::kInvalidArgument, "unexpected argument '{}' ({})", paths[most], usage);
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
  if (paths.size() < most - (source_is_known ? 1 : 0)) {
    return Fail(ErrorCode::kInvalidArgument, "mount point is missing ({})", usage);
  }
  for (const std::string_view path : paths) {
    if (path.empty()) return Fail(ErrorCode::kInvalidArgument, "empty path ({})", usage);
  }
  if (most > 0) options.mountpoint = paths.back();
  if (mounts && !source_is_known) options.source = paths.front();
  return line;
}

Result<MountOptions> ReadAgain(const MountOptions& options) {
  MountOptions again;
  again.config_file = options.config_file;
  again.settings = options.settings;
  again.sloppy = options.sloppy;
  again.debug = options.debug;
  if (const auto applied = ApplySettings(again); !applied) return Fail(applied);
  return again;
}

std::string LibfuseOptions(const MountOptions& options) {
  std::string list =
      fmt::format("ro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname={},max_read={}",
                  Escape(options.source), kMaxRead);
  if (AllowsOthers(options)) list += ",allow_other";
  if (options.debug) list += ",debug";
  if (WhyNoIoUring(options).empty()) list += ",io_uring";
  for (const std::string& option : options.kernel_options) {
    list += ',';
    list += Escape(option);
  }
  return list;
}

std::string WhyNoIoUring(const MountOptions& options) {
  if (options.io_uring == false) return "noio_uring";
  constexpr int kFirst = FUSE_MAKE_VERSION(3, 18);
  if (FUSE_VERSION < kFirst || fuse_version() < kFirst) {
    return fmt::format("libfuse is {}, 3.18 is the first that knows io_uring", fuse_pkgversion());
  }
  constexpr const char* kSwitch = "/sys/module/fuse/parameters/enable_uring";
  std::string said;
  std::getline(std::ifstream(kSwitch) >> std::ws, said);
  if (said == "Y") return "";
  return fmt::format("the kernel does not offer it: {} {}", kSwitch,
                     said.empty() ? "does not exist" : "is " + said);
}

std::string HelpText() {
  std::string text =
      "zarrfs SRC MNT [-o options] [-f] [-d]\n"
      "Shows each inner chunk of the sharded Zarr store SRC as a plain file below MNT, read-only.\n"
      "Unmount with `zarrfs --unmount MNT`, `umount MNT` or `fusermount3 -u MNT`.\n"
      "\n"
      "  -f                    stay in the foreground, log to stderr\n"
      "  -d                    likewise, with every request logged\n"
      "  --config FILE         read options from FILE, one `name = value` a line, also `source = "
      "SRC`;\n"
      "                        those after -o win. At SIGHUP log_level, cache and index_cache "
      "anew\n"
      "  --list                list the zarrfs mounts: process, mount point, store\n"
      "  --unmount MNT         end the mount at MNT, a dead one too\n"
      "  -h, --help            print this\n"
      "  -V, --version         print the versions of zarrfs and libfuse\n"
      "  -s, -v                ignore unknown options; say what was mounted\n"
      "\n"
      "Options after -o, separated by commas (\\, stands for a comma in a value):\n";
  for (const ValueOption& option : kValueOptions) {
    if (option.help.empty()) continue;
    text += fmt::format("  {:<21} {}\n", fmt::format("{}={}", option.name, option.value_name),
                        option.help);
  }
  for (const FlagOption& option : kFlagOptions) {
    if (!option.help.empty()) text += fmt::format("  {:<21} {}\n", option.name, option.help);
  }
  text +=
      "Options of mount(8) and fstab(5) such as noauto, user, _netdev or x-systemd.* are "
      "accepted.\n"
      "\n"
      "Exit status: 0 mounted, 1 wrong usage, 2 system error, 32 mount failure.\n";
  return text;
}

std::string VersionText() {
  return fmt::format("zarrfs {} (libfuse {})\n", ZARRFS_VERSION, fuse_pkgversion());
}

}  // namespace zarrfs
