#include "fs/daemon/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "fs/daemon/option_table.h"

namespace zarrfs {
namespace {

// What the kernel's table shows of a mount; mount(8) passes it back on a remount.
constexpr std::array<std::string_view, 4> kTableNames = {"user_id", "group_id", "max_read",
                                                         "blksize"};

// A line of the configuration file. Unlike mount(8), which passes options of other systems, a file
// may not have unknown ones.
Result<void> ApplySetting(const Setting& setting, MountOptions& options) {
  if (setting.name == "source") {
    options.source = setting.value.value_or("");
    if (options.source.starts_with('/')) return {};
    return Fail(ErrorCode::kInvalidArgument, "option '{}': expected a path that begins with /",
                setting.Word());
  }
  if (setting.name == "config" || setting.name == "remount") return UnknownOption(setting.Word());
  std::optional<std::string> unknown;
  if (auto applied = ApplyOption(setting.Word(), options, unknown); !applied) return applied;
  if (unknown) return UnknownOption(*unknown);
  return {};
}

// The settings of both, in the order in which they apply.
std::vector<std::string> AllWords(const MountOptions& options) {
  std::vector<std::string> words;
  for (const Setting& setting : options.config) {
    if (setting.name != "source") words.push_back(setting.Word());
  }
  std::ranges::copy(options.settings, std::back_inserter(words));
  return words;
}

}  // namespace

Result<void> ApplySettings(MountOptions& options) {
  std::optional<std::string> unknown;
  for (const std::string& setting : options.settings) {
    if (NameOfOption(setting) != "config") continue;
    if (auto applied = ApplyOption(setting, options, unknown); !applied) return applied;
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
      return std::ranges::find(kTableNames, NameOfOption(word)) != kTableNames.end();
    });
  }
  for (const std::string& setting : options.settings) {
    if (auto applied = ApplyOption(setting, options, unknown); !applied) return applied;
  }
  if (unknown && !options.sloppy) return UnknownOption(*unknown);
  if (options.debug) options.log_level = "debug";
  return {};
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

std::string SettingsList(const MountOptions& options) {
  std::string list;
  for (const std::string& word : AllWords(options)) {
    list += (list.empty() ? "" : ",") + EscapeOption(word);
  }
  return list;
}

std::vector<std::string> ChangedWords(const MountOptions& options, std::string_view in_force,
                                      bool by_root) {
  const auto with = [](MountOptions made, std::string_view word) {
    if (NameOfOption(word) == "config" || IsKernelFlag(word)) return made;
    // The mount may have been made by another version, with options that this one does not have.
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
    const auto in_file = std::ranges::find(options.config, word, &Setting::Word);
    if (in_file != options.config.end() &&
        std::ranges::find(kLiveNames, in_file->name) != kLiveNames.end()) {
      continue;
    }
    wanted = with(wanted, word);
    if (with(mounted, word) != mounted) changed.push_back(word);
  }
  if (wanted == mounted) changed.clear();  // later words have undone the changes
  return changed;
}

}  // namespace zarrfs
