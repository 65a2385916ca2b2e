#include "fs/daemon/session.h"

#include <fuse_opt.h>

namespace zarrfs {

fuse_session* NewSession(const MountOptions& options, const fuse_lowlevel_ops& operations,
                         void* user_data) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_session* session = nullptr;
  if (fuse_opt_add_arg(&arguments, "zarrfs") == 0 && fuse_opt_add_arg(&arguments, "-o") == 0 &&
      fuse_opt_add_arg(&arguments, LibfuseOptions(options).c_str()) == 0) {
    session = fuse_session_new(&arguments, &operations, sizeof operations, user_data);
  }
  fuse_opt_free_args(&arguments);
  return session;
}

}  // namespace zarrfs
