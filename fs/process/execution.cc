#include "fs/process/execution.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace zarrfs {

Descriptor OpenThisProgram() {
  Descriptor program(open("/proc/self/exe", O_PATH | O_CLOEXEC));
  if (program) return program;
  // Without /proc.
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

Descriptor WriteDown(const HandOver& state) {
  Descriptor file(memfd_create("zarrfs-hand-over", MFD_CLOEXEC));
  const std::string text = ToText(state);
  if (file && write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    file.reset();
  }
  return file;
}

Result<HandOver> Take(const char* number) {
  int fd = -1;
  std::from_chars(number, number + std::strlen(number), fd);
  return ReadHandOver(Descriptor(fd)).and_then([](const std::string& text) {
    return ParseHandOver(text);
  });
}

void SetInherited(int fd, bool inherited) { fcntl(fd, F_SETFD, inherited ? 0 : FD_CLOEXEC); }

void Execute(const Descriptor& program, std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  syscall(SYS_execveat, program.get(), "", argv.data(), environ, AT_EMPTY_PATH);
}

void EndProcess(int code) {
  spdlog::default_logger_raw()->flush();
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace zarrfs
