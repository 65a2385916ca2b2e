#ifndef FS_DAEMON_EXIT_CODE_H_
#define FS_DAEMON_EXIT_CODE_H_

namespace zarrfs {

/// Those of mount(8).
enum ExitCode : int {
  kExitDone = 0,
  kExitUsage = 1,
  kExitSystem = 2,
  kExitMountFailed = 32,
};

}  // namespace zarrfs

#endif  // FS_DAEMON_EXIT_CODE_H_
