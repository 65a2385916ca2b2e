#include "fs/process/opening.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "fs/mount/channel.h"
#include "fs/options/exit_code.h"
#include "fs/process/environment.h"
#include "fs/process/execution.h"
#include "fs/process/worker_sandbox.h"
#include "zarrcore/disk/disk_cache.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/open/source.h"
#include "zarrcore/os/mount_table.h"

namespace zarrfs {
namespace {

// How long the result of checking a zip file for changes is reused: at most half of ttl=, so a
// change is noticed in time.
Age ZipAge(const MountOptions& options) {
  if (!options.ttl) return kFileAge;
  const std::chrono::duration<double> seconds(std::min(*options.ttl / 2, 1.0));
  return std::min(kFileAge, std::chrono::duration_cast<Age>(seconds));
}

// How often the ref of an Icechunk branch is read if the store does not report changes.
Age FollowPeriod(const MountOptions& options) {
  constexpr auto kOfFolder = std::chrono::seconds(1);
  constexpr double kMin = 0.05;
  if (!options.source.needs_fetcher()) return kOfFolder;
  if (!options.ttl) return kFollowPeriod;
  const std::chrono::duration<double> seconds(std::clamp(*options.ttl, kMin, 1e6));
  return std::chrono::duration_cast<Age>(seconds);
}

LocalStoreOptions LocalOptions(const MountOptions& options, bool is_hidden,
                               std::function<void()> on_out_of_reach) {
  return {.max_open_files = 0,
          .follow_path = !is_hidden,
          .links = LinksInForce(options),
          .others_read = AllowsOthers(options),
          .reader = options.user,
          .on_access_list =
              [](std::string_view key) {
                spdlog::warn(
                    "{}: its access control list gives the group and others fewer rights than its "
                    "permissions suggest; rights of named users are not shown",
                    key.empty() ? "the store's folder" : key);
              },
          .on_out_of_reach = std::move(on_out_of_reach)};
}

}  // namespace

Descriptor OpenHiddenSource(const MountOptions& options) {
  if (options.source.needs_fetcher()) return {};
  std::error_code ignored;
  const std::string folder = options.source.Locate().folder;
  const std::string real_folder = std::filesystem::canonical(folder, ignored).string();
  if (!LiesIn(folder, options.mountpoint) && !LiesIn(real_folder, options.mountpoint)) return {};
  return Descriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Result<std::unique_ptr<Tree>> OpenTree(const MountOptions& options, WorkerStart& start,
                                       Descriptor ids, std::function<void()> on_out_of_reach) {
  auto store = OpenSource(
      options.source,
      {.local = LocalOptions(options, static_cast<bool>(start.source), std::move(on_out_of_reach)),
       .folder = Descriptor(fcntl(start.source.get(), F_DUPFD_CLOEXEC, 0)),
       .remote = options.remote,
       .key_list = start.list ? &start.list : nullptr,
       // Moved and not duplicated, because the sandbox allows only this descriptor number.
       .fetch_socket = std::move(start.fetch_socket),
       .fetch_memory = &start.fetch_memory,
       .on_notice = [source = options.source.text()](
                        std::string_view text) { spdlog::warn("{}: {}", source, text); },
       .shown = {.never_changes = options.immutable,
                 .uid = options.user,
                 .gid = options.user == 0 ? 0 : getegid()},
       .max_age = ZipAge(options),
       .period = FollowPeriod(options),
       .at = options.at,
       .virtual_prefixes = options.virtual_prefixes});
  if (!store) return Fail(store);
  TreeOptions tree_options = options;
  // The commit of a tag or a snapshot never changes, but files of virtual chunks may.
  const auto commit = ParseIcechunkAt(options.at);
  if (commit && !commit->moves() && options.virtual_prefixes.empty()) tree_options.immutable = true;
  tree_options.is_for_others = AllowsOthers(options);
  return Tree::Open(SelectNames(*std::move(store), options.names), tree_options, std::move(ids));
}

Result<void> TryOpening(const MountOptions& options, OpenedBefore before) {
  Descriptor source = std::move(before.source);
  const std::string cache =
      NeedsFetcher(options.source, options.virtual_prefixes) ? options.remote.disk_cache : "";
  if (auto prepared = PrepareCacheFolder(cache); !prepared) return prepared;
  const Descriptor no_program;
  StoreFetcher fetcher(options, options.config, no_program);
  if (auto started = fetcher.Start(std::move(before.files)); !started) return started;
  auto channel = Channel::MakePair();
  if (!channel) return Fail(ErrorCode::kIo, "cannot create a socket pair: {}", ErrnoText(errno));
  const pid_t parent = getpid();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return Fail(ErrorCode::kIo, "cannot fork a process: {}", ErrnoText(errno));
  if (pid == 0) {
    fetcher.Forget();
    ForgetEnvironment();
    RaiseOpenFileLimit();
    static_cast<void>(EnterWorkerSandbox(options, source, parent,
                                         {channel->second.fd(), fetcher.channel().client.get()}));
    if (!source) source = OpenHiddenSource(options);
    const FetchChannel& fetch = fetcher.channel();
    WorkerStart start{.keeper = Channel(),
                      .source = std::move(source),
                      .fetch_socket = Descriptor(fetch.client.get()),
                      .fetch_memory = Descriptor(fetch.memory.get()),
                      .list = Descriptor(fetcher.key_list().get())};
    const auto tree = OpenTree(options, start, {}, {});
    channel->second.Send(tree ? Message{Message::Kind::kOpened}
                              : Message{Message::Kind::kFailed, {}, tree.error().message});
    EndProcess(kExitDone);
  }
  channel->second.Close();
  const auto report = channel->first.Receive();
  int status = 0;
  TEMP_FAILURE_RETRY(waitpid(pid, &status, 0));
  if (!report) return Fail(ErrorCode::kIo, "the process that opened the store exited unexpectedly");
  if (report->kind == Message::Kind::kFailed) return Fail(ErrorCode::kIo, "{}", report->text);
  return {};
}

}  // namespace zarrfs
