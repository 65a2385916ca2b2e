#include "fs/mount/session.h"

#include <fmt/format.h>
#include <fuse_opt.h>

#include <fstream>

#include "fs/fuse/server.h"

namespace zarrfs {

std::string LibfuseOptions(const MountOptions& options) {
  std::string list =
      fmt::format("ro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname={},max_read={}",
                  EscapeOption(options.source.text()), kMaxRead);
  if (AllowsOthers(options)) list += ",allow_other";
  if (options.debug) list += ",debug";
  if (WhyNoIoUring(options).empty()) list += ",io_uring";
  for (const std::string& option : options.kernel_options) list += ',' + EscapeOption(option);
  return list;
}

std::string WhyNoIoUring(const MountOptions& options) {
  if (options.io_uring == false) return "noio_uring";
  if (!options.io_uring) return "io_uring is not set";
  constexpr int kFirst = FUSE_MAKE_VERSION(3, 18);
  if (FUSE_VERSION < kFirst || fuse_version() < kFirst) {
    return fmt::format("libfuse is {}, but io_uring needs 3.18", fuse_pkgversion());
  }
  constexpr const char* kSwitch = "/sys/module/fuse/parameters/enable_uring";
  std::string found;
  std::getline(std::ifstream(kSwitch) >> std::ws, found);
  if (found == "Y") return "";
  return fmt::format("the kernel does not offer io_uring: {} {}", kSwitch,
                     found.empty() ? "does not exist" : "is " + found);
}

std::string AnswerOf(const MountOptions& options, std::string_view init) {
  fuse_lowlevel_ops operations = Server::Operations();
  operations.init = [](void*, fuse_conn_info* connection) { Negotiate(*connection); };
  std::string answer;
  fuse_session* const session = NewSession(options, operations, &answer);
  if (session == nullptr) return "";
  AnswerTo(session, init);
  fuse_session_destroy(session);
  return answer;
}

fuse_session* NewSession(const MountOptions& options, const fuse_lowlevel_ops& operations,
                         void* user_data) {
  std::string words[] = {"zarrfs", "-o", LibfuseOptions(options)};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(3, argv);
  fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, user_data);
  fuse_opt_free_args(&arguments);
  return session;
}

}  // namespace zarrfs
