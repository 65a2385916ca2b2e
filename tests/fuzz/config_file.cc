// Input: the text of a configuration file.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

#include "fs/mount/session.h"
#include "fs/options/command_line.h"
#include "fs/options/settings.h"
#include "tests/fuzz/fuzzing.h"

namespace zarrfs {
namespace {

void ReadConfigFile(std::string_view text) {
  const auto settings = ParseConfig(text, "file");
  if (!settings) return;
  Require(ChangedNames(*settings, *settings).empty(), "the same file to change nothing");

  // Reads the file as the program does, with --config FILE.
  static const int file = memfd_create("config", 0);
  static const std::string path = fmt::format("/proc/self/fd/{}", file);
  Require(ftruncate(file, 0) == 0 &&
              pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
          "a file in memory");
  const std::array argv = {"zarrfs", "--config", path.c_str(), "source", "mountpoint"};
  const auto line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  if (!line) return;
  (void)LibfuseOptions(line->options);
  (void)SettingsList(line->options);
  const auto again = ReadAgain(line->options);
  RequireOk(again, "an unchanged file to be read again");
  Require(again->config == line->options.config, "the same settings");
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ReadConfigFile(zarrfs::Text(data, size));
  return 0;
}
