#include "fs/options/option_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cfloat>
#include <filesystem>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "fs/options/log.h"
#include "zarrcore/base/number_text.h"
#include "zarrcore/base/size_text.h"
#include "zarrcore/base/suggestion.h"
#include "zarrcore/icechunk/all_commits.h"
#include "zarrcore/icechunk/repository.h"
#include "zarrcore/icechunk/virtual_chunks.h"
#include "zarrcore/os/memory_limit.h"

namespace zarrfs {
namespace {

// Sets the option's member of MountOptions. `value` is the option's value; for a flag, its own name
// or "no". Returns false if the value is invalid.
using Apply = bool (*)(MountOptions&, std::string_view value);

struct Option {
  std::string_view name;
  std::string_view value_name;  // the name of the value in --help; "" for a flag
  std::string_view help;  // "" for options that --help omits: those of mount(8), fstab(5) and tests
  std::string_view expected;  // describes the allowed values
  Apply apply;
};

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

template <typename Member, typename T>
bool Set(Member& member, std::optional<T> value) {
  if (!value) return false;
  member = *std::move(value);
  return true;
}

// Parsers for Set(). If() accepts `value` if `is_valid`, UpTo() a number from 0 to `max`, and
// Choice() one of the words in `choices`. nullopt for other values.
template <typename T>
std::optional<T> If(bool is_valid, T value) {
  return is_valid ? std::optional(value) : std::nullopt;
}
template <typename T>
std::optional<T> UpTo(std::type_identity_t<T> max, std::optional<T> number) {
  return number >= T{0} && number <= max ? number : std::nullopt;  // NaN fails both comparisons
}
template <typename T, size_t kCount>
std::optional<T> Choice(std::string_view word,
                        const std::pair<std::string_view, T> (&choices)[kCount]) {
  const auto* const chosen =
      std::ranges::find(choices, word, &std::pair<std::string_view, T>::first);
  return chosen == std::end(choices) ? std::nullopt : std::optional(chosen->second);
}

template <auto kMember>
bool SetSize(MountOptions& options, std::string_view value) {
  return Set(options.*kMember, ParseSize(value));
}

// The largest id means "no change" to the kernel, so it cannot be the id of a user.
template <auto kMember>
bool SetId(MountOptions& options, std::string_view value) {
  return Set(options.*kMember, UpTo(UINT32_MAX - 1, NumberFrom<uint32_t>(value)));
}

// Sets a flag that has no value or the value "yes"; "no" clears the flag.
template <auto kMember, bool kValue = true>
bool SetFlag(MountOptions& options, std::string_view value) {
  options.*kMember = (value != "no") == kValue;
  return true;
}

// The name of an option, usable as a template argument.
template <size_t kSize>
struct OptionName {
  char text[kSize];
  consteval OptionName(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }  // NOLINT
};

template <OptionName kName>
bool SetRemote(MountOptions& options, std::string_view value) {
  // The table passes a flag's own name as its value.
  return SetRemoteOption(kName.text, value == kName.text ? "" : value, options.remote);
}

// Passes a flag such as "noexec" to the kernel; "exec" removes it.
bool SetKernelFlag(MountOptions& options, std::string_view name) {
  if (name == "no") return false;
  const bool is_set = name.starts_with("no");
  std::erase(options.kernel_options, is_set ? std::string(name) : fmt::format("no{}", name));
  if (is_set) options.kernel_options.emplace_back(name);
  return true;
}

constexpr std::string_view kSize = "a size such as 512k, 64M or 1G";
constexpr std::string_view kPatterns = "name patterns such as *.zarr or scratch:*.tmp";

// Each row has the option, its --help text (continuation lines are indented to the column of the
// text), the allowed values and the effect. In the texts, {views} is replaced by the names of all
// views, and {listed} by the views that the root lists by default.
constexpr Option kOptions[] = {
    {"view", "{views}", "show only this view, at the root (default: one folder per view)",
     "{views} or all",
     [](auto& o, auto v) {
       return Set(o.view, v == "all" ? "" : If(ViewNumber(v).has_value(), v));
     }},
    {"views", "VIEWS",
     "folders that the root lists: views=v2:v3 (default: {listed});\n"
     "                        every view can be opened, listed or not",
     "names of views such as v2:netcdf",
     [](auto& o, auto v) { return Set(o.views, ParseViews(v)); }},
    {"separator", ".|/", "between the numbers in chunk names (default: auto)", "'.', '/' or auto",
     [](auto& o, auto v) {
       return Set(o.separator, Choice<char>(v, {{"auto", '\0'}, {".", '.'}, {"/", '/'}}));
     }},
    {"fill", "auto|keep|materialize",
     "keep: write the fill value into .zarray; xarray shows it as NaN;\n"
     "                        materialize: leave it out, and show missing chunks as files full of\n"
     "                        it; auto (default): whichever gives xarray the values that\n"
     "                        zarr-python 3 gives",
     "auto, keep or materialize",
     [](auto& o, auto v) { return Set(o.fill, Choice(v, kFillNames)); }},
    {"ome", "auto|keep",
     "keep: OME-Zarr metadata as stored; auto: 0.5 is shown as 0.4 in v2,\n"
     "                        and 0.4 as 0.5 in v3 (default: auto)",
     "auto or keep",
     [](auto& o, auto v) {
       return Set(o.keeps_ome, Choice<bool>(v, {{"auto", false}, {"keep", true}}));
     }},
    {"compressors", "LIST",
     "compressors that readers know: compressors=zlib:blosc, or none;\n"
     "                        chunks with others are shown decoded (default: each view's)",
     "names separated by colons: gzip, zlib, zstd, bz2, lz4, lzma, blosc; or none",
     [](auto& o, auto v) { return Set(o.compressors, ParseCompressors(v)); }},
    {"nc", "auto|2|5",
     "format of the files in nc: 2: CDF-2; 5: CDF-5; auto (default): CDF-2 if it\n"
     "                        can hold everything, otherwise CDF-5",
     "auto, 2 or 5", [](auto& o, auto v) { return Set(o.netcdf, Choice(v, kNetcdfNames)); }},
    {"string_scan", "SIZE",
     "scan up to SIZE of an array of strings for its longest one, for gdal and\n"
     "                        nc (default: 16M)",
     kSize, SetSize<&MountOptions::string_scan>},
    {"links", "inside|follow",
     "whether symbolic links may leave the store; links=DIR:DIR: only to these\n"
     "                        folders (default: follow; inside with allow_other)",
     "inside, follow or folders such as /data:/disk2/data",
     [](auto& o, auto v) { return Set(o.links, ParseLinkPolicy(v)); }},
    {"endpoint", "URL", "server of an s3://… store (default: AWS, or $AWS_ENDPOINT_URL)",
     "https://HOST or http://HOST:PORT", SetRemote<"endpoint">},
    {"region", "REGION", "region of a bucket (default: $AWS_REGION, ~/.aws/config, us-east-1)",
     "a region such as eu-central-1", SetRemote<"region">},
    {"addressing", "path|virtual",
     "whether the bucket is in the path or in the host name (default: auto)",
     "auto, path or virtual", SetRemote<"addressing">},
    {"profile", "NAME", "profile in ~/.aws/credentials and ~/.aws/config (default: $AWS_PROFILE)",
     "the name of a profile", SetRemote<"profile">},
    {"anonymous", "", "do not sign requests: for public buckets", "", SetRemote<"anonymous">},
    {"requester_pays", "", "pay for reads from a requester-pays bucket", "",
     SetRemote<"requester_pays">},
    {"absent", "404|403", "403: an object that the server refuses is absent (default: 404)",
     "404 or 403", SetRemote<"absent">},
    {"redirects", "no|follow", "follow: go where a web server redirects (default: no)",
     "no or follow", SetRemote<"redirects">},
    {"headers", "FILE", "send the lines of FILE, \"Name: value\", with each request", "a file",
     SetRemote<"headers">},
    {"query", "FILE", "append the string in FILE, such as a signature, to each address", "a file",
     SetRemote<"query">},
    {"list", "FILE", "all keys of a store on a web server, which cannot list them, one per line",
     "a file", SetRemote<"list">},
    {"list_max", "N",
     "request at most N objects to list an array on a web server\n"
     "                        (default: 10000)",
     "a number from 1 to 1000000", SetRemote<"list_max">},
    {"timeout", "SECONDS",
     "how long a bucket or web server may fail to answer before a read fails\n"
     "                        (default: 60)",
     "a number of seconds from 1 to 3600", SetRemote<"timeout">},
    {"connections", "N", "maximum concurrent requests to a bucket or web server (default: 64)",
     "a number from 1 to 256", SetRemote<"connections">},
    {"bandwidth", "SIZE",
     "bytes of data per second that a bucket or web server may send: 10M\n"
     "                        (default: no limit)",
     "a size of 64k or more", SetRemote<"bandwidth">},
    {"disk_cache", "DIR",
     "cache objects of a bucket or web server in DIR, across mounts\n"
     "                        (default: only in memory)",
     "a folder", SetRemote<"disk_cache">},
    {"disk_cache_size", "SIZE", "size limit of the disk cache (default: 10G)",
     "a size of 64M or more", SetRemote<"disk_cache_size">},
    {"via", "URL",
     "send requests to the HTTP cache at this address, such as\n"
     "                        via=http://cache1:8080; may be given several times (default: none)",
     "http://HOST:PORT or https://HOST:PORT, without a path or user name", SetRemote<"via">},
    {"show", "PATTERNS",
     "show only names in STORE, a folder of stores, that match: show=*.zarr\n"
     "                        (default: all)",
     kPatterns, [](auto& o, auto v) { return Set(o.names.show, ParsePatterns(v)); }},
    {"hide", "PATTERNS", "do not show names in STORE that match: hide=scratch:*.tmp", kPatterns,
     [](auto& o, auto v) { return Set(o.names.hide, ParsePatterns(v)); }},
    {"at", "COMMIT",
     "commit of an Icechunk repository: branch.NAME, tag.NAME, snapshot ID or all\n"
     "                        (default: branch.main)",
     "branch.NAME, tag.NAME, the 20 characters of a snapshot, or all",
     [](auto& o, auto v) {
       const bool is_commit = v == kAllOfIcechunk || ParseIcechunkAt(v).has_value();
       return Set(o.at, If(is_commit, std::string(v)));
     }},
    {"virtual", "PREFIX",
     "virtual chunks of an Icechunk repository may be read below PREFIX:\n"
     "                        file:///DIR/, s3://BUCKET/PREFIX/ or https://HOST/PATH/; may be\n"
     "                        given several times (default: none)",
     "file:///DIR/, s3://BUCKET/PREFIX/ or https://HOST/PATH/, with / at its end",
     [](auto& o, auto v) { return AddVirtualPrefix(v, o.virtual_prefixes).has_value(); }},
    {"virtual_file", "FILE",
     "more of them, each with options of its own, such as region= and profile=:\n"
     "                        one per line of FILE, \"PREFIX name=value ...\"",
     "a file",
     [](auto& o, auto v) {
       std::error_code ignored;
       return Set(o.virtual_file, If(!v.empty(), std::filesystem::absolute(v, ignored).string()));
     }},
    {"consolidated", "no", "no .zmetadata and no consolidated metadata in zarr.json (default: yes)",
     "yes or no",
     [](auto& o, auto v) {
       uint64_t& max = o.consolidated_max;
       return Set(max, Choice<uint64_t>(v, {{"yes", max}, {"no", 0}}));
     }},
    {"consolidated_max", "N",
     "no consolidated metadata for groups with more than N nodes (default: 4096)",
     "a number up to 1000000",
     [](auto& o, auto v) {
       return Set(o.consolidated_max, UpTo(1'000'000, NumberFrom<uint64_t>(v)));
     }},
    {"ttl", "SECONDS",
     "how long a change in the store may go unnoticed (default: 0.1 if the\n"
     "                        store can be watched, otherwise a tenth of the file's age, 1 to 60)",
     "a number of seconds, 0 or more",
     [](auto& o, auto v) { return Set(o.ttl, UpTo(DBL_MAX, NumberFrom<double>(v))); }},
    {"immutable", "", "the store never changes: cache everything without a timeout", "",
     SetFlag<&MountOptions::immutable>},
    {"open", "message", "revalidate files at each open, for a store that is constantly rewritten",
     "message or auto",
     [](auto& o, auto v) {
       return Set(o.open_messages, Choice<bool>(v, {{"message", true}, {"auto", false}}));
     }},
    {"memory", "SIZE",
     "memory of the whole mount: caches, metadata and running decodes\n"
     "                        (default: a quarter of what the process may use, 128M to 4G)",
     "a size of 64M or more",
     [](auto& o, auto v) {
       const auto size = ParseSize(v);
       return size >= kMinMemory && Set(o.memory, size);
     }},
    {"cache", "SIZE", "memory for decoded chunks (default: 256M)", kSize,
     SetSize<&MountOptions::cache>},
    {"index_cache", "SIZE", "memory for shard indexes: 512k, 64M, 1G (default: 64M)", kSize,
     SetSize<&MountOptions::index_cache>},
    {"node_cache", "SIZE", "memory for metadata of groups and arrays (default: 32M)", kSize,
     SetSize<&MountOptions::node_cache>},
    {"threads", "N", "threads that answer the kernel (default: two per core, at least 16)",
     "a number from 1 to 1024",
     [](auto& o, auto v) {
       const auto number = UpTo(1024, NumberFrom<uint32_t>(v));
       return number != 0U && Set(o.threads, number);
     }},
    {"io_uring", "",
     "receive requests through io_uring if libfuse and the kernel support it;\n"
     "                        a worker that is killed is then not replaced",
     "", SetFlag<&MountOptions::io_uring>},
    {"noio_uring", "", "receive requests through /dev/fuse (default)", "",
     SetFlag<&MountOptions::io_uring, false>},
    {"allow_other", "", "other users may access the mount (default for root)", "",
     SetFlag<&MountOptions::allow_other>},
    {"noallow_other", "", "only the mounting user may access the mount (default for others)", "",
     SetFlag<&MountOptions::allow_other, false>},
    {"uid", "USER", "owner of every file (default: as in the store)",
     "a number, or the name of a user of this machine", SetId<&MountOptions::uid>},
    {"gid", "GROUP", "group of every file (default: as in the store)",
     "a number, or the name of a group of this machine", SetId<&MountOptions::gid>},
    {"umask", "OCTAL", "remove these bits from 555 and 444 (default: permissions of the store)",
     "an octal number from 0 to 777",
     [](auto& o, auto v) { return Set(o.umask, UpTo(0777, NumberFrom<uint32_t>(v, 8))); }},
    {"xattr", "", "chunk files have extended attributes that say where the chunks are stored", "",
     SetFlag<&MountOptions::extended_attributes>},
    {"config", "FILE", "read the store and options from FILE, as with --config", "a file",
     [](auto& o, auto v) {
       std::error_code ignored;
       return Set(o.config_file, If(!v.empty(), std::filesystem::absolute(v, ignored)));
     }},
    {"nonempty", "", "mount over a folder that is not empty", "", SetFlag<&MountOptions::nonempty>},
    {"exec", "", "files can be executed if their permissions allow it (default: no)", "",
     SetKernelFlag},
    {"until", "PID", "detach the mount when this process ends, however it ends", "a process ID",
     [](auto& o, auto v) {
       const auto pid = UpTo(INT32_MAX, NumberFrom<pid_t>(v));
       return pid != 0 && Set(o.until, pid);
     }},
    {"ids", "FILE", "keep inode numbers in FILE, for the next mount (default: no)", "a file",
     [](auto& o, auto v) {
       std::error_code ignored;
       return Set(o.ids, If(!v.empty(), std::filesystem::absolute(v, ignored).string()));
     }},
    {"log_level", "LEVEL", "error, warning, info or debug (default: info)",
     "error, warning, info or debug",
     [](auto& o, auto v) { return Set(o.log_level, If(IsIn(kLogLevels, v), v)); }},
    // Options of other file systems.
    {"max_read", "SIZE", "", "128K or more; it has no effect, because reads are not made smaller",
     [](auto&, auto v) { return ParseSize(v) >= uint64_t{128} << 10; }},
    {"noexec", "", "", "", SetKernelFlag},
    // The only options about access times that fusermount3 accepts are noatime and atime.
    {"noatime", "", "", "", SetKernelFlag},
    {"atime", "", "", "", SetKernelFlag},
    {"remount", "", "", "", SetFlag<&MountOptions::remount>},
    // For tests: behave as on the oldest supported kernel.
    {"no_epoch", "", "", "", SetFlag<&MountOptions::no_epoch>},
    {"no_resend", "", "", "", SetFlag<&MountOptions::no_resend>},
    // For tests: makes the keeper send a start message of format N to the trial of a newer program.
    {"start_format", "N", "", "a number",
     [](auto& o, auto v) {
       o.start_format = NumberFrom<uint64_t>(v);
       return o.start_format.has_value();
     }},
    {"debug", "", "", "",
     [](auto& o, auto v) { return v != "no" && (o.debug = o.foreground = true); }},
};

// The headings of docs/OPTIONS.md, each with the first option below it.
constexpr std::pair<std::string_view, std::string_view> kHeadings[] = {
    {"view", "What the mount shows"},
    {"ttl", "Changes to the store"},
    {"memory", "Memory and threads"},
    {"allow_other", "Who may access the mount"},
    {"config", "How it is mounted"}};

// Options of other file systems that would have another meaning here, each with advice.
constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"allow_root",
     "the kernel supports only allow_other; with uid=UID,umask=077 only you and root have access"},
    {"fsname", "the source of a mount is always its store"}};

// Replaces {views} and {listed} in a string of the table; `separator` separates the names of views.
std::string WithViews(std::string_view text, std::string_view separator) {
  std::string filled(text);
  const auto fill = [&filled](std::string_view word, const std::string& names) {
    if (const size_t at = filled.find(word); at != filled.npos) {
      filled.replace(at, word.size(), names);
    }
  };
  fill("{views}", ViewNames(ViewSet().set(), separator));
  fill("{listed}", ViewNames(ListedViews()));
  return filled;
}

// The row of an option; null if it is not in the table.
const Option* FindOption(std::string_view name) {
  const auto* const found = std::ranges::find(kOptions, name, &Option::name);
  return found == std::end(kOptions) ? nullptr : found;
}

// Options of fstab, mount(8) and mount.fuse(8) that have no effect, because every mount is
// read-only, has no set-uid bits, devices or symbolic links, and keeps no access times.
constexpr std::string_view kIgnoredWords =
    " ro rw defaults suid nosuid dev nodev symfollow nosymfollow sync async dirsync relatime "
    "norelatime strictatime "
    "nostrictatime diratime nodiratime lazytime nolazytime auto noauto user nouser users nousers "
    "owner noowner group nogroup nofail _netdev default_permissions auto_unmount ";
constexpr std::string_view kIgnoredNames[] = {"user", "comment", "subtype"};
// SELinux contexts, which are passed to the kernel.
constexpr std::string_view kContextNames[] = {"context", "fscontext", "defcontext", "rootcontext"};

}  // namespace

Result<void> ApplyOption(std::string_view word, MountOptions& options,
                         std::optional<std::string>& unknown) {
  const std::string_view name = NameOfOption(word);
  const bool has_value = name.size() < word.size();
  const std::string_view value = word.substr(has_value ? name.size() + 1 : name.size());

  if (const Option* option = FindOption(name)) {
    const bool is_flag = option->value_name.empty();
    const bool is_as_expected = is_flag ? !has_value || value == "yes" || value == "no" : has_value;
    const bool stands_alone = is_flag && value != "no";
    if (is_as_expected && option->apply(options, stands_alone ? name : value)) return {};
    const std::string expected = is_flag     ? "yes, no or nothing"
                                 : has_value ? WithViews(option->expected, ", ")
                                             : "a value";
    return Fail(ErrorCode::kInvalidArgument, "option '{}': expected {} (zarrfs --help lists them)",
                word, expected);
  }
  if (has_value && IsIn(kContextNames, name)) {
    // The kernel refuses contexts if SELinux is off, but a line in fstab must work with and without
    // SELinux.
    if (access("/sys/fs/selinux", F_OK) == 0) options.kernel_options.emplace_back(word);
    return {};
  }
  const bool is_one_word = !has_value && word.find(' ') == std::string_view::npos;
  if (is_one_word && kIgnoredWords.find(fmt::format(" {} ", word)) != kIgnoredWords.npos) return {};
  if (has_value && IsIn(kIgnoredNames, name)) return {};
  if (word.starts_with("x-") || word.starts_with("X-")) return {};
  // An unknown option is not an error yet, because the option -s (ignore unknown options) may
  // follow.
  if (!unknown) unknown = std::string(word);
  return {};
}

bool IsKernelFlag(std::string_view name) {
  const Option* const option = FindOption(name);
  return option != nullptr && option->apply == SetKernelFlag;
}

std::string OptionsHelp() {
  std::string text;
  for (const Option& option : kOptions) {
    if (option.help.empty()) continue;
    for (const auto& [first, heading] : kHeadings) {
      if (first == option.name) text += fmt::format("{}:\n", heading);
    }
    const std::string_view equals = option.value_name.empty() ? "" : "=";
    text +=
        fmt::format("  {:<21} {}\n",
                    fmt::format("{}{}{}", option.name, equals, WithViews(option.value_name, "|")),
                    WithViews(option.help, ":"));
  }
  return text;
}

tl::unexpected<Error> UnknownOption(std::string_view option) {
  for (const auto& [name, reason] : kRefused) {
    if (name == NameOfOption(option)) {
      return Fail(ErrorCode::kInvalidArgument, "option '{}': {}", option, reason);
    }
  }
  std::vector<std::string_view> known;
  for (const Option& each : kOptions) {
    if (!each.help.empty()) known.push_back(each.name);
  }
  return Fail(ErrorCode::kInvalidArgument, "unknown option '{}'{} (zarrfs --help lists them)",
              option, DidYouMean(NameOfOption(option), known));
}

}  // namespace zarrfs
