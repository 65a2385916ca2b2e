#include "fs/daemon/options.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace zarrfs {

bool AllowsOthers(const MountOptions& options) {
  return options.allow_other.value_or(geteuid() == 0);
}

LinkPolicy LinksInForce(const MountOptions& options) {
  return options.links.value_or(LinkPolicy{
      AllowsOthers(options) ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow, {}});
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

std::string EscapeOption(std::string_view option) {
  std::string escaped;
  for (const char c : option) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string_view NameOfOption(std::string_view option) {
  return option.substr(0, option.find('='));
}

}  // namespace zarrfs
