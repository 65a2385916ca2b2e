// Input: the words of a command line after "zarrfs", one per line.
#include "fs/options/command_line.h"

#include <string>
#include <vector>

#include "fs/mount/session.h"
#include "fs/options/settings.h"
#include "tests/fuzz/fuzzing.h"

namespace zarrfs {
namespace {

Result<CommandLine> Parse(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"zarrfs"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

void ReadCommandLine(std::string_view input) {
  if (input.find("config") != std::string_view::npos) return;  // could read any file
  std::vector<std::string> words;
  while (!input.empty()) words.emplace_back(CutAt(input, "\n"));
  const auto line = Parse(words);
  if (!line || line->action != CommandLine::Action::kMount) return;
  const std::string settings = SettingsList(line->options);
  MountOptions live = line->options;
  (void)SetLive(live, settings);
  (void)LiveSettings(live);
  (void)LibfuseOptions(line->options);
  (void)LinksInForce(line->options);
  (void)ChangedWords(line->options, settings, /*by_root=*/true);
  // The options that a mount reports make the same mount again.
  std::vector<std::string> same = {"-o", settings.empty() ? "ro" : settings, "--",
                                   line->options.source.text(), line->options.mountpoint};
  if (line->options.sloppy) same.insert(same.begin(), "-s");
  const auto again = Parse(same);
  RequireOk(again, "a list of settings to be valid options");
  Require(again->options.kernel_options == line->options.kernel_options, "the same mount",
          settings);
  Require(ChangedWords(again->options, settings, /*by_root=*/true).empty(),
          "a remount with the same words to change nothing", settings);
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const size_t texts = zarrfs::HelpText().size() + zarrfs::VersionText().size();
  zarrfs::Require(texts > 0, "something to print");
  zarrfs::ReadCommandLine(zarrfs::Text(data, size));
  return 0;
}
