#include "fs/daemon/option_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <span>

#include "fs/daemon/log.h"

namespace zarrfs {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint64_t kMaxConsolidated = 1'000'000;

// Applies a value. Returns "", or what was expected instead.
using Apply = std::string (*)(MountOptions&, std::string_view value);

struct ValueOption {
  std::string_view name;
  std::string_view value_name;
  std::string_view help;
  Apply apply;
};

struct FlagOption {
  std::string_view name;
  std::string_view help;
  void (*apply)(MountOptions&);
};

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// `base` is std::from_chars' base for integers; none for floating-point numbers.
template <typename T, typename... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string ApplySize(uint64_t& bytes, std::string_view value) {
  const auto size = ParseSize(value);
  if (!size) return "a size such as 512k, 64M or 1G";
  bytes = *size;
  return "";
}

// The largest id means "no change" to the kernel, so nobody can have it.
std::string ApplyId(std::optional<uint32_t>& id, std::string_view value) {
  const auto number = ParseNumber<uint32_t>(value);
  if (!number || *number == UINT32_MAX) return "a number";
  id = number;
  return "";
}

// Each row has the option, what --help says of it (continuation lines are indented to its column)
// and its effect.
constexpr ValueOption kValueOptions[] = {
    {"view", "v2|v3|gdal|netcdf", "show only this view, at the root (default: one folder per view)",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (!ViewNumber(v) && v != "all") return "v2, v3, gdal, netcdf or all";
       o.view = v == "all" ? "" : v;
       return "";
     }},
    {"separator", ".|/", "between the numbers in chunk names (default: auto)",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (v != "." && v != "/" && v != "auto") return "'.', '/' or auto";
       o.separator = v == "auto" ? '\0' : v[0];
       return "";
     }},
    {"fill", "auto|keep|materialize",
     "keep: .zarray names the fill value, which xarray masks;\n"
     "                        materialize: missing chunks are files of fill values (default: auto)",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (v != "auto" && v != "keep" && v != "materialize") return "auto, keep or materialize";
       o.fill = v == "auto"   ? FillPolicy::kAuto
                : v == "keep" ? FillPolicy::kKeep
                              : FillPolicy::kMaterialize;
       return "";
     }},
    {"links", "inside|follow",
     "whether symbolic links may leave the store; links=DIR:DIR: only to these\n"
     "                        folders (default: follow; inside with allow_other)",
     [](MountOptions& o, std::string_view v) -> std::string {
       auto policy = ParseLinkPolicy(v);
       if (!policy) return "inside, follow or folders as /data:/disk2/data";
       o.links = std::move(policy);
       return "";
     }},
    {"consolidated", "no", "no .zmetadata and no consolidated metadata in zarr.json (default: yes)",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (v != "no" && v != "yes") return "yes or no";
       if (v == "no") o.consolidated_max = 0;
       return "";
     }},
    {"consolidated_max", "N",
     "no consolidated metadata for groups with more than N nodes (default: 4096)",
     [](MountOptions& o, std::string_view v) -> std::string {
       const auto number = ParseNumber<uint64_t>(v);
       if (!number || *number > kMaxConsolidated) {
         return fmt::format("a number up to {}", kMaxConsolidated);
       }
       o.consolidated_max = *number;
       return "";
     }},
    {"ttl", "SECONDS",
     "how long a change in the store may go unnoticed (default: 0.1 where the\n"
     "                        store can be watched, else a tenth of the file's age, 1 to 60)",
     [](MountOptions& o, std::string_view v) -> std::string {
       const auto seconds = ParseNumber<double>(v);
       if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
         return "a number of seconds, 0 or more";
       }
       o.ttl = *seconds;
       return "";
     }},
    {"open", "message", "revalidate files at each open, for a store that is constantly rewritten",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (v != "message" && v != "auto") return "message or auto";
       o.open_messages = v == "message";
       return "";
     }},
    {"index_cache", "SIZE", "memory for shard indexes: 512k, 64M, 1G (default: 64M)",
     [](MountOptions& o, std::string_view v) { return ApplySize(o.index_cache, v); }},
    {"cache", "SIZE", "memory for decoded chunks (default: 256M)",
     [](MountOptions& o, std::string_view v) { return ApplySize(o.cache, v); }},
    {"node_cache", "SIZE", "memory for metadata of groups and arrays (default: 32M)",
     [](MountOptions& o, std::string_view v) { return ApplySize(o.node_cache, v); }},
    {"threads", "N", "threads that answer the kernel (default: two per core, at least 4)",
     [](MountOptions& o, std::string_view v) -> std::string {
       const auto number = ParseNumber<uint32_t>(v);
       if (!number || *number < 1 || *number > kMaxThreads) {
         return fmt::format("a number from 1 to {}", kMaxThreads);
       }
       o.threads = *number;
       return "";
     }},
    {"uid", "N", "owner of every file (default: as in the store)",
     [](MountOptions& o, std::string_view v) { return ApplyId(o.uid, v); }},
    {"gid", "N", "group of every file (default: as in the store)",
     [](MountOptions& o, std::string_view v) { return ApplyId(o.gid, v); }},
    {"umask", "OCTAL", "permissions are 555 and 444 less these bits (default: as in the store)",
     [](MountOptions& o, std::string_view v) -> std::string {
       const auto bits = ParseNumber<uint32_t>(v, 8);
       if (!bits || *bits > 0777) return "an octal number from 0 to 777";
       o.umask = *bits;
       return "";
     }},
    {"log_level", "LEVEL", "error, warning, info or debug (default: info)",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (!IsIn(kLogLevels, v)) return "error, warning, info or debug";
       o.log_level = v;
       return "";
     }},
    {"config", "FILE", "read the store and options from FILE, as with --config",
     [](MountOptions& o, std::string_view v) -> std::string {
       if (v.empty()) return "a file";
       std::error_code ignored;
       o.config_file = std::filesystem::absolute(v, ignored);
       return "";
     }},
};

// Those without help are for mount(8), fstab(5) and tests.
constexpr FlagOption kFlagOptions[] = {
    {"immutable", "the store never changes: cache everything without a timeout",
     [](MountOptions& o) { o.immutable = true; }},
    {"io_uring", "receive requests by io_uring where libfuse and the kernel can (default)",
     [](MountOptions& o) { o.io_uring = true; }},
    {"noio_uring", "always receive requests through /dev/fuse",
     [](MountOptions& o) { o.io_uring = false; }},
    {"allow_other", "other users may access the mount (default for root)",
     [](MountOptions& o) { o.allow_other = true; }},
    {"noallow_other", "only the mounting user may access the mount (default for others)",
     [](MountOptions& o) { o.allow_other = false; }},
    {"nonempty", "mount over a folder that is not empty",
     [](MountOptions& o) { o.nonempty = true; }},
    {"noexec", "no file can be executed",
     [](MountOptions& o) { o.kernel_options.emplace_back("noexec"); }},
    {"exec", "", [](MountOptions& o) { std::erase(o.kernel_options, "noexec"); }},
    // fusermount3 accepts no other options of access times.
    {"noatime", "", [](MountOptions& o) { o.kernel_options.emplace_back("noatime"); }},
    {"atime", "", [](MountOptions& o) { std::erase(o.kernel_options, "noatime"); }},
    {"remount", "", [](MountOptions& o) { o.remount = true; }},
    // For tests: behave as on the oldest supported kernel.
    {"no_epoch", "", [](MountOptions& o) { o.no_epoch = true; }},
    {"debug", "", [](MountOptions& o) { o.debug = o.foreground = true; }},
};

// Options of fstab, mount(8) and mount.fuse(8) that have no effect: every mount is read-only,
// without set-uid bits and devices, and no file has an access time.
constexpr std::string_view kIgnoredWords =
    " ro rw defaults suid nosuid dev nodev sync async dirsync relatime norelatime strictatime "
    "nostrictatime diratime nodiratime lazytime nolazytime auto noauto user nouser users nousers "
    "owner noowner group nogroup nofail _netdev default_permissions ";
constexpr std::string_view kIgnoredNames[] = {"user", "comment", "fsname", "subtype"};
// SELinux contexts, which go to the kernel.
constexpr std::string_view kContextNames[] = {"context", "fscontext", "defcontext", "rootcontext"};
constexpr std::string_view kKernelFlags[] = {"noexec", "exec", "noatime", "atime"};

template <typename Table>
auto FindNamed(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const auto& row) { return row.name; });
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

Result<void> ApplyOption(std::string_view word, MountOptions& options,
                         std::optional<std::string>& unknown) {
  const std::string_view name = NameOfOption(word);
  const bool has_value = name.size() < word.size();
  const std::string_view value = word.substr(has_value ? name.size() + 1 : name.size());

  if (const ValueOption* option = FindNamed(kValueOptions, name)) {
    const std::string expected = has_value ? option->apply(options, value) : "a value";
    if (expected.empty()) return {};
    return Fail(ErrorCode::kInvalidArgument, "option '{}': expected {} (zarrfs --help lists them)",
                word, expected);
  }
  if (const FlagOption* option = FindNamed(kFlagOptions, name)) {
    if (has_value) {
      return Fail(ErrorCode::kInvalidArgument,
                  "option '{}': '{}' takes no value (zarrfs --help lists them)", word, name);
    }
    option->apply(options);
    return {};
  }
  if (has_value && IsIn(kContextNames, name)) {
    // The kernel refuses contexts where SELinux is off; fstab lines are written for both.
    if (access("/sys/fs/selinux", F_OK) == 0) options.kernel_options.emplace_back(word);
    return {};
  }
  const bool is_one_word = !has_value && word.find(' ') == std::string_view::npos;
  if (is_one_word && kIgnoredWords.find(fmt::format(" {} ", word)) != kIgnoredWords.npos) return {};
  if (has_value && IsIn(kIgnoredNames, name)) return {};
  if (word.starts_with("x-") || word.starts_with("X-")) return {};
  // Not an error yet: -s may follow.
  if (!unknown) unknown = std::string(word);
  return {};
}

bool IsKernelFlag(std::string_view option) { return IsIn(kKernelFlags, option); }

std::string OptionsHelp() {
  std::string text;
  for (const ValueOption& option : kValueOptions) {
    text += fmt::format("  {:<21} {}\n", fmt::format("{}={}", option.name, option.value_name),
                        option.help);
  }
  for (const FlagOption& option : kFlagOptions) {
    if (!option.help.empty()) text += fmt::format("  {:<21} {}\n", option.name, option.help);
  }
  return text;
}

tl::unexpected<Error> UnknownOption(std::string_view option) {
  return Fail(ErrorCode::kInvalidArgument, "unknown option '{}' (zarrfs --help lists them)",
              option);
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  constexpr std::string_view kUnits = "kKmMgGtT";
  size_t shift = 0;
  if (const size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
      unit != kUnits.npos) {
    shift = 10 * (unit / 2 + 1);
    text.remove_suffix(1);
  }
  const auto number = ParseNumber<uint64_t>(text);
  if (!number || *number > (UINT64_MAX >> shift)) return std::nullopt;
  return *number << shift;
}

}  // namespace zarrfs
