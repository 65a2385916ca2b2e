#include "zarrcore/net/aws_profile.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace zarrfs {
namespace {

constexpr size_t kMaxFile = 1u << 20;

}  // namespace

std::string HomeFolder() {
  if (std::string home = Environment("HOME"); !home.empty()) return home;
  const passwd* const entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_dir : "";
}

std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string ReadSmallFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

void AddAwsSection(std::string_view text, std::string_view section, AwsProfile& profile) {
  bool is_in = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = WithoutBlanks(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      is_in = WithoutBlanks(line.substr(1, line.find(']') - 1)) == section;
      continue;
    }
    const size_t equals = line.find('=');
    // Indented lines are nested settings, which are not used.
    if (!is_in || equals == line.npos || whole.front() == ' ' || whole.front() == '\t') continue;
    profile.emplace(WithoutBlanks(line.substr(0, equals)), WithoutBlanks(line.substr(equals + 1)));
  }
}

AwsProfile ReadAwsProfile(std::string_view name) {
  std::string wanted(name);
  if (wanted.empty()) wanted = Environment("AWS_PROFILE");
  if (wanted.empty()) wanted = "default";
  const std::string home = HomeFolder() + "/.aws/";
  const auto path = [&](const char* variable, const char* file) {
    const std::string given = Environment(variable);
    return given.empty() ? home + file : given;
  };
  AwsProfile profile;
  AddAwsSection(ReadSmallFile(path("AWS_SHARED_CREDENTIALS_FILE", "credentials")), wanted, profile);
  const std::string config = ReadSmallFile(path("AWS_CONFIG_FILE", "config"));
  AddAwsSection(config, "profile " + wanted, profile);
  if (wanted == "default") AddAwsSection(config, wanted, profile);
  return profile;
}

}  // namespace zarrfs
