#include "fs/options/settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <tuple>

#include "fs/options/option_table.h"
#include "zarrcore/net/virtual_file.h"
#include "zarrcore/os/descriptor.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxConfigFile = size_t{1} << 20;

bool IsOneOf(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<std::string> ReadFile(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  std::string text;
  ssize_t have = -1;
  if (fd) {
    std::array<char, 4096> part;
    while ((have = read(fd.get(), part.data(), part.size())) > 0 && text.size() <= kMaxConfigFile) {
      text.append(part.data(), static_cast<size_t>(have));
    }
  }
  if (have < 0 && errno == ENOENT) {
    return Fail(ErrorCode::kNotFound,
                "configuration file {} does not exist: create it, with the line 'source = STORE' "
                "(man 5 zarrfs)",
                path);
  }
  if (have < 0) {
    return Fail(FromErrno(errno), "configuration file {} cannot be read: {}", path,
                ErrnoText(errno));
  }
  if (text.size() <= kMaxConfigFile) return text;
  return Fail(ErrorCode::kTooLarge, "configuration file {} is larger than {} bytes", path,
              kMaxConfigFile);
}

// Replaces "uid=ann" by "uid=1000". The processes that serve the mount parse the words again, and
// cannot look up names. Returns any other word unchanged.
std::string WithNumberOfName(const std::string& word) {
  const std::string_view name = NameOfOption(word);
  if ((name != "uid" && name != "gid") || name.size() == word.size()) return word;
  const std::string value = word.substr(name.size() + 1);
  if (value.find_first_not_of("0123456789") == value.npos) return word;
  if (name == "uid") {
    const passwd* const user = getpwnam(value.c_str());
    return user == nullptr ? word : fmt::format("uid={}", user->pw_uid);
  }
  const group* const found = getgrnam(value.c_str());
  return found == nullptr ? word : fmt::format("gid={}", found->gr_gid);
}

// Applies one line of the configuration file. An unknown option is an error here, but not after -o,
// which may contain options meant for other file systems.
Result<void> ApplySetting(const std::string& setting, MountOptions& options) {
  const std::string_view name = NameOfOption(setting);
  if (name == "source") {
    options.source = Source(setting.substr(std::min(name.size() + 1, setting.size())));
    if (options.source.is_absolute()) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "option '{}': expected a path that begins with /, s3:// or https://", setting);
  }
  if (name == "config" || name == "remount") return UnknownOption(setting);
  std::optional<std::string> unknown;
  if (auto applied = ApplyOption(setting, options, unknown); !applied) return applied;
  if (unknown) return UnknownOption(*unknown);
  return {};
}

// A hint for a line that seems to have a comment after its value. A value may itself contain "#".
std::string_view CommentHint(std::string_view setting) {
  const bool has_comment =
      setting.find(" #") != setting.npos || setting.find("\t#") != setting.npos;
  return has_comment ? "; comments must be on separate lines" : "";
}

Result<void> ApplyConfig(MountOptions& options) {
  const auto text = ReadFile(options.config_file);
  if (!text) return Fail(text);
  auto config = ParseConfig(*text, options.config_file);
  if (!config) return Fail(config);
  std::ranges::transform(*config, config->begin(), WithNumberOfName);
  for (size_t line = 1; line <= config->size(); ++line) {
    const std::string& setting = (*config)[line - 1];
    if (setting.empty()) continue;
    if (const auto applied = ApplySetting(setting, options); !applied) {
      return Fail(ErrorCode::kInvalidArgument, "{}:{}: {}{}", options.config_file, line,
                  applied.error().message, CommentHint(setting));
    }
  }
  std::erase(*config, "");
  options.config = *std::move(config);
  return {};
}

Result<void> ApplyThoseAfterO(MountOptions& options) {
  std::optional<std::string> unknown;
  for (const std::string& setting : options.settings) {
    if (auto applied = ApplyOption(setting, options, unknown); !applied) return applied;
  }
  if (unknown && !options.sloppy) return UnknownOption(*unknown);
  if (options.debug) options.log_level = "debug";
  return {};
}

// All settings except `source`, in the order in which they apply.
std::vector<std::string> AllWords(const MountOptions& options) {
  std::vector<std::string> words = options.config;
  std::erase_if(words, [](const auto& word) { return NameOfOption(word) == "source"; });
  words.insert(words.end(), options.settings.begin(), options.settings.end());
  return words;
}

std::string AsList(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + EscapeOption(word);
  return list;
}

}  // namespace

Result<std::vector<std::string>> ParseConfig(std::string_view text, std::string_view path) {
  std::vector<std::string> words;
  std::istringstream lines{std::string(text)};
  for (std::string each; std::getline(lines, each);) {
    const std::string_view line = Trim(each);
    std::string& word = words.emplace_back();
    if (line.empty() || line.starts_with('#')) continue;
    const auto fail = [&](std::string_view expected) {
      return Fail(ErrorCode::kInvalidArgument, "{}:{}: '{}': expected {}", path, words.size(), line,
                  expected);
    };
    if (line.find('\0') != std::string_view::npos) return fail("text");
    const std::string_view name = Trim(NameOfOption(line));
    if (name.empty() || name.find_first_of(" \t,\"") != std::string_view::npos) {
      return fail("'name = value' or just a name, one per line");
    }
    const size_t earlier =
        static_cast<size_t>(std::ranges::find(words, name, NameOfOption) - words.begin());
    if (earlier < words.size() && !IsOneOf({"virtual", "via"}, name)) {
      return fail(fmt::format("each name only once; line {} already has it", earlier + 1));
    }
    word = name;
    if (const size_t equals = line.find('='); equals != std::string_view::npos) {
      const std::string_view value = Trim(line.substr(equals + 1));
      if (value.empty()) return fail("a value after '='");
      word += fmt::format("={}", value);
    }
  }
  return words;
}

bool IsLive(std::string_view name) {
  return IsOneOf({"log_level", "memory", "index_cache", "cache"}, name);
}

Result<void> ApplySettings(MountOptions& options) {
  std::optional<std::string> unknown;
  std::ranges::transform(options.settings, options.settings.begin(), WithNumberOfName);
  for (const std::string& setting : options.settings) {
    if (NameOfOption(setting) != "config") continue;
    if (auto applied = ApplyOption(setting, options, unknown); !applied) return applied;
  }
  if (!options.config_file.empty()) {
    if (auto applied = ApplyConfig(options); !applied) return applied;
  }
  if (std::ranges::find(options.settings, "remount") != options.settings.end()) {
    // For a remount, mount(8) repeats the options in the mount table. Drops the kernel's parameters
    // of FUSE among them.
    std::erase_if(options.settings, [](std::string_view word) {
      return IsOneOf({"user_id", "group_id", "max_read", "blksize"}, NameOfOption(word));
    });
  }
  return ApplyThoseAfterO(options);
}

Result<void> ReadVirtualText(MountOptions& options) {
  if (options.virtual_file.empty()) return {};
  auto text = ReadVirtualFile(options.virtual_file);
  if (!text) return Fail(text);
  options.virtual_text = *std::move(text);
  return ApplyVirtualText(options);
}

Result<void> ApplyVirtualText(MountOptions& options) {
  return AddVirtualFile(options.virtual_text, options.virtual_file, options.virtual_prefixes);
}

Result<void> ApplyWords(MountOptions& options) {
  for (const std::string& setting : options.config) {
    if (auto applied = ApplySetting(setting, options); !applied) return applied;
  }
  return ApplyThoseAfterO(options);
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

std::set<std::string> ChangedNames(const std::vector<std::string>& before,
                                   const std::vector<std::string>& after) {
  std::set<std::string> changed;
  for (const auto& [these, those] : {std::tie(before, after), std::tie(after, before)}) {
    for (const std::string& word : these) {
      if (std::ranges::find(those, word) == those.end()) changed.emplace(NameOfOption(word));
    }
  }
  return changed;
}

Result<std::set<std::string>> SetLive(MountOptions& options, std::string_view words) {
  MountOptions changed = options;
  for (const std::string& word : SplitOptions(words)) {
    const std::string_view name = NameOfOption(word);
    if (!IsLive(name)) {
      return Fail(ErrorCode::kInvalidArgument, "option '{}' needs a new mount", word);
    }
    std::erase_if(changed.settings, [&](const auto& each) { return NameOfOption(each) == name; });
    changed.settings.push_back(word);
  }
  auto again = ReadAgain(changed);
  if (!again) return Fail(again);
  auto ignored = ChangedNames(options.config, again->config);
  std::erase_if(ignored, IsLive);
  options.log_level = again->log_level;
  options.index_cache = again->index_cache;
  options.cache = again->cache;
  options.memory = again->memory;
  options.config = std::move(again->config);
  options.settings = std::move(changed.settings);
  return ignored;
}

std::string LiveSettings(const MountOptions& options) {
  std::vector<std::string> live = options.settings;
  std::erase_if(live, [](const auto& word) { return !IsLive(NameOfOption(word)); });
  return AsList(live);
}

std::string SettingsList(const MountOptions& options) { return AsList(AllWords(options)); }

std::vector<std::string> ChangedWords(const MountOptions& options, std::string_view in_force,
                                      bool by_root) {
  const auto with = [](MountOptions made, std::string_view word) {
    if (NameOfOption(word) == "config" || IsKernelFlag(NameOfOption(word))) return made;
    // Another version may have made the mount, with options that this version does not know.
    std::optional<std::string> unknown;
    static_cast<void>(ApplyOption(word, made, unknown));
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
    if (IsLive(NameOfOption(word))) continue;
    wanted = with(wanted, word);
    if (with(mounted, word) != mounted) changed.push_back(word);
  }
  if (wanted == mounted) changed.clear();  // later words have undone the changes
  return changed;
}

}  // namespace zarrfs
