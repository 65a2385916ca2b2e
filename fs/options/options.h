// The options of a mount.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/tree_options.h"
#include "zarrcore/base/option_list.h"
#include "zarrcore/local/link_policy.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/open/source.h"
#include "zarrcore/store/selected_names.h"

namespace zarrfs {

/// Two per core and at least 16, so that readers that wait for the disk do not block all others.
[[nodiscard]] uint32_t DefaultThreads();

struct MountOptions : TreeOptions {
  Source source;  // as written; a daemon makes it absolute before it changes its working directory
  std::string mountpoint;  // likewise

  std::optional<LinkPolicy> links;  // empty: see LinksInForce()

  NamePatterns names;  // in the root of the store

  std::string at;  // the commit of an Icechunk repository (SourceAccess::at); "": the branch main

  RemoteOptions remote;  // of a store in a bucket or on a web server

  std::optional<uint64_t> memory;  // bytes; empty: see DefaultMemory()

  // The protocol with the kernel.
  uint32_t threads = DefaultThreads();  // maximum number of threads that answer the kernel
  bool no_epoch = false;                // no FUSE_NOTIFY_INC_EPOCH, like kernels before 6.16
  bool no_resend = false;               // no FUSE_NOTIFY_RESEND, like kernels before 6.9
  bool open_messages = false;           // the kernel sends each open: see Tree::CheckOpen()
  std::optional<bool> io_uring;         // empty: no

  // How the file system is mounted.
  std::optional<bool> allow_other;  // empty: see AllowsOthers()
  bool nonempty = false;
  bool makes_mountpoint = false;  // if it is absent, and removes it; later: made it
  // In addition to those of every mount: "noatime", "context=…".
  std::vector<std::string> kernel_options = {"noexec"};

  pid_t until = 0;  // the mount ends with this process; 0: none

  // How the program runs.
  bool foreground = false;
  bool debug = false;  // implies foreground
  bool verbose = false;
  bool by_mount = false;  // mount(8) runs the program, as mount.zarrfs
  bool fake = false;      // check everything, mount nothing (mount -f)
  bool sloppy = false;    // ignore unknown options (mount -s)
  bool remount = false;
  std::string log_level = "info";
  std::optional<uint64_t> hand_over;  // format of HandOver; empty: this program's
  pid_t pid = 0;           // of the process that handles the mount's signals; set when it starts
  uid_t user = geteuid();  // mounts; the process that reads the store may be another user

  // The origin of the settings.
  std::string config_file;            // "" if there is none
  std::vector<std::string> config;    // its settings, as after -o
  std::vector<std::string> settings;  // after -o; these override the file

  bool operator==(const MountOptions&) const = default;
};

/// Whether users other than the mounting user may access the mount. The default: if root mounts.
[[nodiscard]] bool AllowsOthers(const MountOptions& options);

/// Which symbolic links of the store are followed. The default: all, but only those that end inside
/// the store if other users may access the mount, so that the author of a store cannot publish
/// files of the mounting user.
[[nodiscard]] LinkPolicy LinksInForce(const MountOptions& options);

}  // namespace zarrfs
