#include "fs/process/execution.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "fs/options/log.h"

namespace zarrfs {

Descriptor OpenThisProgram() {
  Descriptor program(open("/proc/self/exe", O_PATH | O_CLOEXEC));
  if (program) return program;
  // Without /proc, the kernel still provides the path of the program.
  const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // NOLINT
  if (name != nullptr) program.reset(open(name, O_PATH | O_CLOEXEC));
  return program;
}

std::string NameOfThisProgram() {
  std::ifstream words("/proc/self/cmdline");
  std::string name;
  std::getline(words, name, '\0');
  return name.empty() ? "zarrfs" : name;
}

namespace {

void Inherit(int fd) { fcntl(fd, F_SETFD, 0); }

}  // namespace

void ExecuteWith(const Descriptor& program, std::string_view word, const StartMessage& state) {
  const Descriptor file(memfd_create("zarrfs-start", MFD_CLOEXEC));
  const std::string text = ToText(state);
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return;
  }
  for (const int fd : DescriptorsOf(state)) Inherit(fd);
  Inherit(file.get());
  std::string words[] = {NameOfThisProgram(), std::string(word), std::to_string(file.get()),
                         state.source, state.mountpoint};
  std::vector<char*> argv;
  for (std::string& each : words) argv.push_back(each.data());
  argv.push_back(nullptr);
  syscall(SYS_execveat, program.get(), "", argv.data(), environ, AT_EMPTY_PATH);
}

Result<ProgramStart> TakeStart(const char* number, Result<void> (*check)(const StartMessage&)) {
  // After exec(2) of a descriptor, the process has the descriptor's number as its name.
  prctl(PR_SET_NAME, "zarrfs");
  LogToStderr("error");
  int fd = -1;
  std::from_chars(number, number + std::strlen(number), fd);
  auto state = ReadStartMessage(Descriptor(fd)).and_then([](const std::string& text) {
    return ParseStartMessage(text);
  });
  if (!state) return Fail(state);
  if (const auto checked = check(*state); !checked) return Fail(checked);
  auto options = OptionsOf(*state);
  if (!options) return Fail(options);
  LogToStderr(options->log_level);
  return ProgramStart{*std::move(state), *std::move(options)};
}

void EndProcess(int code) {
  spdlog::default_logger_raw()->flush();
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace zarrfs
