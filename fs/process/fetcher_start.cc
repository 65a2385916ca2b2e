#include "fs/process/fetcher_start.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <utility>

#include "fs/options/exit_code.h"
#include "fs/options/log.h"
#include "fs/process/execution.h"
#include "fs/process/privileges.h"
#include "zarrcore/net/fetcher_process.h"

namespace zarrfs {
namespace {

constexpr std::string_view kFetchWord = "--fetch";

}  // namespace

void ExecuteFetcher(const Descriptor& program, StartMessage state, const FetchChannel& channel,
                    const std::vector<SecretTexts>& secrets, const Descriptor& begun) {
  state.keeper = static_cast<uint64_t>(getppid());
  state.fetch_socket = NumberFor(channel.server);
  state.fetch_memory = NumberFor(channel.memory);
  state.begun = NumberFor(begun);
  SetSecrets(secrets, state);
  ExecuteWith(program, kFetchWord, state);
}

void ReportFetcherBegun(const Descriptor& begun) {
  const uint32_t version = FetchChannel::kVersion;
  static_cast<void>(TEMP_FAILURE_RETRY(write(begun.get(), &version, sizeof version)));
}

// The fetcher of a mount by root runs as a user without an account. It keeps the capability to read
// any file, for files with keys that only root may read; Landlock excludes all other files. If the
// fetcher must stay root, to write files or to start programs, it keeps no capability.
std::string ConfineFetcher(std::string_view why_same_user) {
  if (geteuid() != 0) {
    static_cast<void>(KeepReadPrivileges(std::nullopt));
    return fmt::format("uid {}", geteuid());
  }
  std::string why(why_same_user);
  if (why.empty()) {
    why = KeepReadPrivileges(UserWithoutAccount(getppid(), /*is_fetcher=*/true));
  } else {
    KeepNoPrivileges();
  }
  return fmt::format("uid {}{}", geteuid(), geteuid() == 0 ? fmt::format(" ({})", why) : "");
}

std::optional<int> RunAsFetcher(int argc, char** argv) {
  if (argc < 3 || argv[1] != kFetchWord) return std::nullopt;
  // Other processes of this user must not read the fetcher's memory, which holds keys.
  prctl(PR_SET_DUMPABLE, 0);
  // On failure the fetcher ends without a report, and the keeper forks a copy of itself as the
  // fetcher.
  const auto fail = [](const Error& error) {
    PrintError(error.message);
    return kExitSystem;
  };
  auto taken = TakeStart(argv[2], CheckFetcherStart);
  if (!taken) return fail(taken.error());
  auto& [state, options] = *taken;
  auto fetched = options.source.Fetched(FetchOptions(options), options.virtual_prefixes);
  if (!fetched) return fail(fetched.error());
  if (!*fetched) return kExitSystem;
  RemoteSource& source = **fetched;
  if (!SetSecretsOfAll(SecretsOf(state), source)) return kExitSystem;
  ReportFetcherBegun(Inherited(state.begun));
  const FetchChannel channel{Descriptor(), Inherited(state.fetch_socket),
                             Inherited(state.fetch_memory)};
  RunFetcher(source, channel, static_cast<pid_t>(state.keeper), ConfineFetcher);
}

}  // namespace zarrfs
