#include "zarrcore/base/option_list.h"

#include <algorithm>

namespace zarrfs {

std::vector<std::string> SplitOptions(std::string_view list) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '\\' && i + 1 < list.size() &&
        std::string_view(",\\\"").find(list[i + 1]) != std::string_view::npos) {
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
  // An unmatched quote would make SplitOptions() ignore the commas of the options that follow.
  const bool is_open = std::ranges::count(option, '"') % 2 != 0;
  for (const char c : option) {
    if (c == ',' || c == '\\' || (c == '"' && is_open)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string_view NameOfOption(std::string_view option) {
  return option.substr(0, option.find('='));
}

}  // namespace zarrfs
