#include "tests/mount/fake_mount.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <sstream>
#include <thread>

#include "fs/daemon/command_line.h"
#include "fs/daemon/session.h"
#include "fs/fuse/parallel_lookups.h"
#include "fs/fuse/server.h"
#include "tests/mount/mounted.h"
#include "tests/unit/support/fake_store.h"

namespace zarrfs {

int ServeFakeStore(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::filesystem::path source = argv[0];
  auto store = std::make_shared<FakeStore>();
  store->SetAnswersFast(false);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source)) {
    if (entry.is_regular_file()) {
      store->Put(std::filesystem::relative(entry.path(), source).string(), ReadFile(entry.path()));
    }
  }
  const std::array<const char*, 5> words = {"zarrfs", argv[0], argv[1], "-o", argv[2]};
  const auto line = ParseCommandLine(argv[2][0] == '\0' ? 3 : 5, words.data());
  if (!line) return 1;
  auto tree = Tree::Open(store, line->options);
  if (!tree) return 1;
  Server server(*std::move(tree), {.open_messages = line->options.open_messages, .threads = 4});
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "fake");
  fuse_opt_add_arg(&arguments, "-o");
  fuse_opt_add_arg(&arguments, LibfuseOptions(line->options).c_str());
  fuse_session* session =
      fuse_session_new(&arguments, &Server::Operations(), sizeof(fuse_lowlevel_ops), &server);
  fuse_opt_free_args(&arguments);
  if (session == nullptr || fuse_session_mount(session, argv[1]) != 0) return 1;
  AllowParallelLookups(session);
  std::thread([session] {
    fuse_loop_config* config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, 4);
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
  // Threads that hang use everything: no destructors.
  _exit(0);
}

FakeMount::FakeMount(const std::filesystem::path& source, const std::string& options)
    : mountpoint_(folder_.Folder("mnt")) {
  std::array<int, 2> orders = {-1, -1};
  if (pipe2(orders.data(), O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
  orders_ = orders[1];
  program_ = std::make_unique<Program>(
      std::vector<std::string>{"/proc/self/exe", kServeFakeStore, source, mountpoint_, options},
      folder_ / "answers", folder_ / "log", orders[0]);
  close(orders[0]);
  Order("");
}

FakeMount::~FakeMount() {
  const Unmounted whatever_happens(mountpoint_);
  Order("release");
  close(orders_);
  EXPECT_EQ(program_->WaitFor(Seconds(10)), 0) << ReadFile(folder_ / "log");
}

void FakeMount::Order(const std::string& order) {
  if (!order.empty()) {
    const std::string line = order + "\n";
    if (write(orders_, line.data(), line.size()) < 0) ADD_FAILURE() << "it is gone";
  }
  std::string answer;
  const bool answered = Eventually(Seconds(15), [&] {
    const std::string answers = ReadFile(folder_ / "answers");
    const size_t end = answers.find('\n', answers_read_);
    if (end == std::string::npos) return program_->WaitFor(Seconds(0)).has_value();
    answer = answers.substr(answers_read_, end - answers_read_);
    answers_read_ = end + 1;
    return true;
  });
  EXPECT_TRUE(answered && answer == "ok")
      << order << ": " << answer << "; " << ReadFile(folder_ / "log");
}

}  // namespace zarrfs
