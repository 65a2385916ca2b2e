#include "fs/process/worker_start.h"

#include <sys/prctl.h>

#include <string>
#include <string_view>
#include <utility>

#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/execution.h"
#include "fs/process/worker.h"

namespace zarrfs {
namespace {

constexpr std::string_view kServeWord = "--serve";

}  // namespace

void ExecuteWorker(const Descriptor& program, HandOver state, const WorkerStart& start) {
  state.format = HandOver::kFormat;  // (an option for tests has another one)
  state.keeper = static_cast<uint64_t>(start.keeper_pid);
  state.takes_over = start.takes_over ? 1 : 0;
  state.channel = static_cast<uint64_t>(start.keeper.fd());
  state.ids = NumberFor(start.ids);
  state.root = NumberFor(start.source);
  state.fetch_socket = NumberFor(start.fetch_socket);
  state.fetch_memory = NumberFor(start.fetch_memory);
  state.log = NumberFor(start.log);
  state.list = NumberFor(start.list);
  const Descriptor text = WriteDown(state);
  if (!text) return;
  for (const int fd : DescriptorsOf(state)) SetInherited(fd, true);
  SetInherited(text.get(), true);
  Execute(program, {NameOfThisProgram(), std::string(kServeWord), std::to_string(text.get()),
                    state.source, state.mountpoint});
}

std::optional<int> RunAsWorker(int argc, char** argv) {
  if (argc < 3 || argv[1] != kServeWord) return std::nullopt;
  // exec(2) of a descriptor names the process after its number.
  prctl(PR_SET_NAME, "zarrfs");
  LogToStderr("error");
  // On failure this process ends without a message, and the keeper forks a worker.
  const auto fail = [](const Error& error) {
    PrintError(error.message);
    return kExitSystem;
  };
  const auto state = Take(argv[2]);
  if (!state) return fail(state.error());
  if (const auto checked = CheckWorkerStart(*state); !checked) return fail(checked.error());
  auto options = OptionsOf(*state);
  if (!options) return fail(options.error());
  LogToStderr(options->log_level);
  const bool takes_over = state->takes_over != 0;
  // The first worker does so once the mount answers.
  if (takes_over && !options->foreground) DetachFromTerminal();
  WorkerStart start{.keeper = Channel(Inherited(state->channel)),
                    .keeper_pid = static_cast<pid_t>(state->keeper),
                    .takes_over = takes_over,
                    .ids = Inherited(state->ids),
                    .source = Inherited(state->root),
                    .fetch_socket = Inherited(state->fetch_socket),
                    .fetch_memory = Inherited(state->fetch_memory),
                    .list = Inherited(state->list),
                    .log = Inherited(state->log)};
  std::string mountpoint = options->mountpoint;
  RunWorker(*std::move(options), std::move(mountpoint), std::move(start));
}

}  // namespace zarrfs
