// MountOptions: the options of a mount.
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

/// The default of the option `threads`: two per core and at least 16, so readers that wait for the
/// disk do not block all others.
[[nodiscard]] uint32_t DefaultThreads();

struct MountOptions : TreeOptions {
  Source source;  // as the user wrote it; made absolute before a daemon changes its working folder
  // The path as the user wrote it; made absolute before a daemon changes its working folder.
  std::string mountpoint;

  std::optional<LinkPolicy> links;  // absent: see LinksInForce()

  NamePatterns names;  // the names that the root of the mount shows

  // The commit of an Icechunk repository (SourceAccess::at); "" for the branch main.
  std::string at;

  // The locations from which virtual chunks of an Icechunk repository may be read: those of
  // virtual= in the order of the options, then those of virtual_file=.
  std::vector<VirtualPrefix> virtual_prefixes;
  std::string virtual_file;  // the absolute path of the file of virtual_file=; "" for none
  std::string virtual_text;  // the contents of that file, which are read once per mount

  RemoteOptions remote;  // only for a store in a bucket or on a web server

  std::optional<uint64_t> memory;  // in bytes; absent: see DefaultMemory()

  // Options of the protocol with the kernel.
  uint32_t threads = DefaultThreads();  // the maximum number of threads that answer the kernel
  bool no_epoch = false;                // behave as on a kernel before 6.16
  bool no_resend = false;               // behave as on a kernel before 6.9
  bool open_messages = false;           // see Tree::CheckOpen()
  bool extended_attributes = false;     // see Tree::ExtendedAttribute()
  std::optional<bool> io_uring;         // absent: no

  // Options of mounting.
  std::optional<bool> allow_other;  // absent: see AllowsOthers()
  bool nonempty = false;
  // Before mounting, true if the mount point must be created. Afterwards, true if it was created
  // and must be removed.
  bool makes_mountpoint = false;
  // Options added to those that every mount has: "noatime", "context=…".
  std::vector<std::string> kernel_options = {"noexec"};

  pid_t until = 0;  // the mount ends when this process ends; 0 for no process
  std::string ids;  // the absolute path of the IdFile; "" for none

  // Options of the program.
  bool foreground = false;
  bool debug = false;  // implies foreground
  bool verbose = false;
  bool by_mount = false;  // true if mount(8) runs the program as mount.zarrfs
  bool fake = false;      // check everything but mount nothing (mount -f)
  bool sloppy = false;    // ignore unknown options (mount -s)
  bool remount = false;
  std::string log_level = "info";
  // For tests: the format number in the start message for a trial (fs/process/upgrade.h). If
  // absent, this program's format.
  std::optional<uint64_t> start_format;
  pid_t pid = 0;  // the process that handles the mount's signals; set when that process starts
  uid_t user = geteuid();  // the mounting user; the worker may run as another user

  // The sources of the settings.
  std::string config_file;            // "" if no file is used
  std::vector<std::string> config;    // the settings of the file, in the syntax of -o
  std::vector<std::string> settings;  // the settings after -o, which override those in `config`

  bool operator==(const MountOptions&) const = default;
};

/// Returns the fetcher's options: `options.remote`, in which `cache_window_ms`, the time for which
/// caches may reuse answers, is computed from `ttl` and `immutable`.
[[nodiscard]] RemoteOptions FetchOptions(const MountOptions& options);

/// True if users other than the mounting user may access the mount. By default, only if root
/// mounts.
[[nodiscard]] bool AllowsOthers(const MountOptions& options);

/// The policy for symbolic links of the store. By default, all links are followed. If other users
/// may access the mount, only links that end inside the store are followed, so the author of a
/// store cannot publish files of the mounting user.
[[nodiscard]] LinkPolicy LinksInForce(const MountOptions& options);

}  // namespace zarrfs
