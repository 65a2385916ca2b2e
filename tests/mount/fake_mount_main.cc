// Mounts a store that can be made to hang, by orders on its standard input. See fake_mount.h.

#include <fuse_lowlevel.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "fs/fuse/connection.h"
#include "fs/fuse/running_request.h"
#include "fs/fuse/server.h"
#include "fs/mount/session.h"
#include "fs/options/command_line.h"
#include "fs/options/log.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Serve(const std::filesystem::path& source, const char* mountpoint, const char* options) {
  LogToStderr("warning");
  auto store = std::make_shared<FakeStore>();
  constexpr std::string_view kLocal = "local,";
  const bool is_local = std::string_view(options).starts_with(kLocal);
  if (is_local) options += kLocal.size();
  store->SetAnswersFast(is_local);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source)) {
    if (entry.is_regular_file()) {
      store->Put(std::filesystem::relative(entry.path(), source).string(), ReadFile(entry.path()));
    }
  }
  const std::array<const char*, 5> words = {"zarrfs", source.c_str(), mountpoint, "-o", options};
  const auto line = ParseCommandLine(options[0] == '\0' ? 3 : 5, words.data());
  if (!line) return 1;
  auto tree = Tree::Open(store, line->options);
  if (!tree) return 1;
  const uint32_t threads = is_local ? line->options.threads : 4;
  Server server(*std::move(tree),
                {.open_messages = line->options.open_messages, .threads = threads});
  RunningRequest::StartWatching(std::chrono::seconds(1));
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "fake");
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(&arguments, LibfuseOptions(line->options).c_str());
  fuse_session* session =
      fuse_session_new(&arguments, &Server::Operations(), sizeof(fuse_lowlevel_ops), &server);
  fuse_opt_free_args(&arguments);
  if (session == nullptr || fuse_session_mount(session, mountpoint) != 0) return 1;
  const Descriptor device(dup(fuse_session_fd(session)));
  const auto init = ReadInit(device);
  if (!init) return 1;
  AnswerInit(session, *init);
  std::thread([session, threads] {
    fuse_loop_config* config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, threads);
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
  }).detach();
  std::cout << "ok" << std::endl;

  for (std::string order; std::getline(std::cin, order);) {
    std::istringstream parts(order);
    std::string verb;
    std::string what;
    parts >> verb >> what;
    std::string answer = "ok";
    if (verb == "block") {
      for (const auto call : FakeStore::kAllCalls) store->Block(call, what);
    } else if (verb == "release") {
      store->ClearFaults();
    } else if (verb == "waiting" && !store->WaitUntilBlocked(std::stoul(what))) {
      answer = "fewer than " + what + " calls hang";
    }
    std::cout << answer << std::endl;
  }
  // Blocked threads still use all objects, so no destructor may run.
  _exit(0);
}

}  // namespace
}  // namespace zarrfs

int main(int argc, char** argv) { return argc == 4 ? zarrfs::Serve(argv[1], argv[2], argv[3]) : 2; }
