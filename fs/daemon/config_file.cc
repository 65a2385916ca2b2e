#include "fs/daemon/config_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>

#include "zarrcore/base/descriptor.h"

namespace zarrfs {
namespace {

constexpr size_t kMaxFileSize = size_t{1} << 20;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Result<std::vector<Setting>> ParseConfig(std::string_view text, std::string_view path) {
  std::vector<Setting> settings;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const auto fail = [&](std::string_view expected) {
      return Fail(ErrorCode::kInvalidArgument, "{}:{}: '{}': expected {}", path, number, line,
                  expected);
    };
    if (line.find('\0') != std::string_view::npos) return fail("text");
    const size_t equals = line.find('=');
    const std::string_view name = Trim(line.substr(0, equals));
    if (name.empty() || name.find_first_of(" \t,\"") != std::string_view::npos) {
      return fail("'name = value' or a name alone, one a line");
    }
    Setting setting{std::string(name), std::nullopt, number};
    if (equals != std::string_view::npos) {
      setting.value = Trim(line.substr(equals + 1));
      if (setting.value->empty()) return fail("a value after '='");
    }
    const auto earlier = std::ranges::find(settings, name, &Setting::name);
    if (earlier != settings.end()) {
      return fail(fmt::format("each name once, and line {} has it", earlier->line));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<std::vector<Setting>> ReadConfig(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  std::string text;
  ssize_t have = -1;
  if (fd) {
    std::array<char, 4096> part;
    while ((have = read(fd.get(), part.data(), part.size())) > 0 && text.size() <= kMaxFileSize) {
      text.append(part.data(), static_cast<size_t>(have));
    }
  }
  if (have < 0) {
    return Fail(FromErrno(errno), "configuration file {} cannot be read: {}", path,
                ErrnoText(errno));
  }
  if (text.size() > kMaxFileSize) {
    return Fail(ErrorCode::kTooLarge, "configuration file {} is larger than {} bytes", path,
                kMaxFileSize);
  }
  return ParseConfig(text, path);
}

std::vector<std::string> ChangedNames(const std::vector<Setting>& before,
                                      const std::vector<Setting>& after) {
  std::map<std::string, std::string> old;
  for (const Setting& setting : before) old.emplace(setting.name, setting.Word());
  std::vector<std::string> changed;
  for (const Setting& setting : after) {
    const auto found = old.find(setting.name);
    if (found == old.end() || found->second != setting.Word()) changed.push_back(setting.name);
    if (found != old.end()) old.erase(found);
  }
  for (const auto& [name, word] : old) changed.push_back(name);
  std::ranges::sort(changed);
  return changed;
}

}  // namespace zarrfs
