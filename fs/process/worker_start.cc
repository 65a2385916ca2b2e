#include "fs/process/worker_start.h"

#include <string>
#include <string_view>
#include <utility>

#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/execution.h"
#include "fs/process/worker.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::string_view kServeWord = "--serve";

}  // namespace

void ExecuteWorker(const Descriptor& program, StartMessage state, const WorkerStart& start) {
  state.keeper = static_cast<uint64_t>(start.keeper_pid);
  state.takes_over = start.takes_over ? 1 : 0;
  state.channel = static_cast<uint64_t>(start.keeper.fd());
  state.ids = NumberFor(start.ids);
  state.ids_file = NumberFor(start.ids_file);
  state.root = NumberFor(start.source);
  state.fetch_socket = NumberFor(start.fetch_socket);
  state.fetch_memory = NumberFor(start.fetch_memory);
  state.log = NumberFor(start.log);
  state.list = NumberFor(start.list);
  ExecuteWith(program, kServeWord, state);
}

std::optional<int> RunAsWorker(int argc, char** argv) {
  if (argc < 3 || argv[1] != kServeWord) return std::nullopt;
  auto taken = TakeStart(argv[2], CheckWorkerStart);
  if (!taken) {
    // The worker ends without a message, and the keeper forks a copy of itself as the worker.
    PrintError(taken.error().message);
    return kExitSystem;
  }
  auto& [state, options] = *taken;
  const bool takes_over = state.takes_over != 0;
  // The first worker detaches from the terminal later, once the mount answers requests.
  if (takes_over && !options.foreground) DetachFromTerminal();
  WorkerStart start{.keeper = Channel(Inherited(state.channel)),
                    .keeper_pid = static_cast<pid_t>(state.keeper),
                    .keeper_version = OneLine(state.version),
                    .start_format = state.format,
                    .takes_over = takes_over,
                    .ids = Inherited(state.ids),
                    .ids_file = Inherited(state.ids_file),
                    .source = Inherited(state.root),
                    .fetch_socket = Inherited(state.fetch_socket),
                    .fetch_memory = Inherited(state.fetch_memory),
                    .list = Inherited(state.list),
                    .log = Inherited(state.log)};
  std::string mountpoint = options.mountpoint;
  RunWorker(std::move(options), std::move(mountpoint), std::move(start));
}

}  // namespace zarrfs
