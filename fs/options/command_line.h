// The command line of `zarrfs`, in the forms that users, mount(8), mount.fuse(8) and fstab write:
//
//   zarrfs STORE MNT [-o options] [-f] [-d]
//   zarrfs --config FILE [STORE] MNT [-o options] [-f] [-d]     also as -o config=FILE
//   zarrfs STORE                                                MNT is the store's name
//   zarrfs --check …                                            with the words of any form above
//   zarrfs STORE MNT -o remount[,options]
//   zarrfs --list
//   zarrfs --unmount MNT
//   zarrfs --upgrade MNT
//   zarrfs --upgrade --all
//
// Parsing reads only the words, the configuration file and the file of virtual_file=.
// fs/mount/mountpoint.h checks STORE and MNT.
#pragma once

#include <string>

#include "fs/options/options.h"
#include "zarrcore/base/result.h"

namespace zarrfs {

struct CommandLine {
  enum class Action {
    kMount,
    kCheck,
    kRemount,
    kList,
    kUnmount,
    kUpgrade,
    kUpgradeAll,
    kShowHelp,
    kShowVersion
  };
  Action action = Action::kMount;
  // For kMount, kCheck and kRemount. For kUnmount and kUpgrade, only `mountpoint` is set.
  MountOptions options;
};

/// Parses the command line. Fails with kInvalidArgument and one line that names the invalid word.
/// If the file name in argv[0] begins with "mount.", the program runs as a helper of mount(8): `-f`
/// then means fake instead of foreground, and `-s` means sloppy instead of a single thread.
[[nodiscard]] Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

/// The output of --help and of --version, with a newline at the end.
[[nodiscard]] std::string HelpText();
[[nodiscard]] std::string VersionText();

}  // namespace zarrfs
