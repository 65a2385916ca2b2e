#include "fs/mount/hand_over.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <optional>
#include <set>
#include <utility>

#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::string_view kFirstName = "zarrfs-hand-over";

struct TextRecord {
  std::string_view name;
  std::string HandOver::*member;
  bool is_binary = false;  // written in hexadecimal digits
};
constexpr TextRecord kTexts[] = {
    {"version", &HandOver::version},         {"name", &HandOver::name},
    {"source", &HandOver::source},           {"mountpoint", &HandOver::mountpoint},
    {"config_file", &HandOver::config_file}, {"log_level", &HandOver::log_level},
    {"init", &HandOver::init, true},         {"answer", &HandOver::answer, true}};

struct ListRecord {
  std::string_view name;
  std::vector<std::string> HandOver::*member;
};
constexpr ListRecord kLists[] = {{"config", &HandOver::config},
                                 {"config_read", &HandOver::config_read},
                                 {"setting", &HandOver::settings},
                                 {"stuck", &HandOver::stuck}};

struct NumberRecord {
  std::string_view name;
  uint64_t HandOver::*member;
  uint64_t max = UINT64_MAX;
};
constexpr uint64_t kFlag = 1;
constexpr NumberRecord kNumbers[] = {{"foreground", &HandOver::foreground, kFlag},
                                     {"debug", &HandOver::debug, kFlag},
                                     {"sloppy", &HandOver::sloppy, kFlag},
                                     {"made_mountpoint", &HandOver::made_mountpoint, kFlag},
                                     {"index_cache", &HandOver::index_cache},
                                     {"cache", &HandOver::cache},
                                     {"memory", &HandOver::memory},
                                     {"device_before", &HandOver::device_before},
                                     {"device", &HandOver::device},
                                     {"mount_id", &HandOver::mount_id},
                                     {"unique_mount_id", &HandOver::unique_mount_id},
                                     {"covers_dead", &HandOver::covers_dead, kFlag},
                                     {"resends", &HandOver::resends, kFlag},
                                     {"worker", &HandOver::worker, INT_MAX},
                                     {"keeper", &HandOver::keeper, INT_MAX},
                                     {"takes_over", &HandOver::takes_over, kFlag},
                                     {"journal", &HandOver::journal},
                                     {"gives_errors", &HandOver::gives_errors, kFlag}};

// Numbers as well.
constexpr std::pair<std::string_view, uint64_t HandOver::*> kDescriptors[] = {
    {"connection", &HandOver::connection},
    {"shared", &HandOver::shared},
    {"channel", &HandOver::channel},
    {"ids", &HandOver::ids},
    {"root", &HandOver::root},
    {"fetch_socket", &HandOver::fetch_socket},
    {"fetch_memory", &HandOver::fetch_memory},
    {"log", &HandOver::log},
    {"list", &HandOver::list},
    {"asker", &HandOver::asker}};

std::string ToHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t at = 0; at < text.size(); at += 2) {
    unsigned char byte = 0;
    const char* const end = text.data() + at + 2;
    if (std::from_chars(text.data() + at, end, byte, 16).ptr != end) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

bool SetNumber(std::string_view text, uint64_t max, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number <= max;
}

// False for an unknown name or invalid value.
bool SetRecord(std::string_view name, std::string_view value, HandOver& state) {
  for (const auto& [known, member, is_binary] : kTexts) {
    if (name != known) continue;
    auto text = is_binary ? FromHex(value) : std::string(value);
    if (!text) return false;
    state.*member = *std::move(text);
    return true;
  }
  for (const auto& [known, member, max] : kNumbers) {
    if (name == known) return SetNumber(value, max, state.*member);
  }
  for (const auto& [known, member] : kDescriptors) {
    if (name == known) return SetNumber(value, HandOver::kNoDescriptor, state.*member);
  }
  for (const auto& [known, member] : kLists) {
    if (name == known) (state.*member).emplace_back(value);
    if (name == known) return true;
  }
  return false;
}

bool IsList(std::string_view name) {
  return std::ranges::find(kLists, name, &ListRecord::name) != std::end(kLists);
}

// Checks the values by themselves.
bool HoldsTogether(const HandOver& state) {
  const auto is_pid = [](const std::string& text) {
    uint64_t pid = 0;
    return SetNumber(text, INT_MAX, pid) && pid > 0;
  };
  return Source(state.source).is_absolute() && state.mountpoint.starts_with('/') &&
         (state.worker > 0) != (state.keeper > 0) &&
         std::ranges::find(kLogLevels, state.log_level) != kLogLevels.end() &&
         std::ranges::all_of(state.stuck, is_pid);
}

int NumberOf(uint64_t descriptor) { return static_cast<int>(descriptor); }

bool IsFuseDevice(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == makedev(10, 229);
}

bool IsFolder(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsPipe(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

bool IsMemoryFile(int fd) { return fcntl(fd, F_GET_SEALS) >= 0; }

bool IsChannel(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

bool Is(uint64_t descriptor, bool (*check)(int), bool is_needed) {
  return descriptor == HandOver::kNoDescriptor ? !is_needed : check(NumberOf(descriptor));
}

// Whether no number is used for two descriptors, or is one of stdin to stderr.
bool AreDistinct(const HandOver& state) {
  std::vector<int> numbers = DescriptorsOf(state);
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end() &&
         std::ranges::all_of(numbers, [](int fd) { return fd > STDERR_FILENO; });
}

}  // namespace

std::string ToText(const HandOver& state) {
  std::string text = fmt::format("{}={}", kFirstName, state.format) + '\0';
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}={}", name, value) + '\0';
  };
  for (const auto& [name, member, is_binary] : kTexts) {
    add(name, is_binary ? ToHex(state.*member) : state.*member);
  }
  // Not at the end: a truncated text must lack required records.
  for (const auto& [name, member] : kLists) {
    for (const std::string& value : state.*member) add(name, value);
  }
  for (const auto& [name, member, max] : kNumbers) add(name, state.*member);
  for (const auto& [name, member] : kDescriptors) add(name, state.*member);
  return text;
}

Result<HandOver> ParseHandOver(std::string_view text) {
  HandOver state;
  std::set<std::string_view> names;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    const std::string_view record = text.substr(0, end);
    const size_t equals = record.find('=');
    if (end == text.npos || equals == record.npos) {
      return Fail(ErrorCode::kDamaged, "hand-over: truncated record");
    }
    const std::string_view name = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    text.remove_prefix(end + 1);
    if (names.empty()) {
      if (name != kFirstName || !SetNumber(value, UINT64_MAX, state.format)) {
        return Fail(ErrorCode::kDamaged, "hand-over: expected '{}=', found '{}'", kFirstName,
                    AsciiExcerpt(record));
      }
      if (state.format != HandOver::kFormat) {
        return Fail(ErrorCode::kUnsupported,
                    "hand-over: expected format {}, found {}: unmount and mount again instead",
                    HandOver::kFormat, state.format);
      }
    } else if (!SetRecord(name, value, state)) {
      return Fail(ErrorCode::kDamaged, "hand-over: unexpected '{}'", AsciiExcerpt(record));
    }
    if (!names.insert(name).second && !IsList(name)) {
      return Fail(ErrorCode::kDamaged, "hand-over: duplicate '{}'", AsciiExcerpt(name));
    }
  }
  std::erase_if(names, IsList);
  if (names.size() != 1 + std::size(kTexts) + std::size(kNumbers) + std::size(kDescriptors) ||
      !HoldsTogether(state)) {
    return Fail(ErrorCode::kDamaged, "hand-over: inconsistent");
  }
  return state;
}

Result<std::string> ReadHandOver(Descriptor file) {
  struct stat info = {};
  if (!file || !IsMemoryFile(file.get()) || fstat(file.get(), &info) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "hand-over: not a memory file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > HandOver::kMaxBytes) return Fail(ErrorCode::kTooLarge, "hand-over: {} bytes", size);
  std::string text(size, '\0');
  const ssize_t have = pread(file.get(), text.data(), text.size(), 0);
  if (have != info.st_size) return Fail(ErrorCode::kIo, "hand-over: {}", ErrnoText(errno));
  return text;
}

HandOver WithOptions(const MountOptions& options, const std::vector<std::string>& config_in_force) {
  return {.format = options.hand_over.value_or(HandOver::kFormat),
          .version = ZARRFS_VERSION,
          .source = options.source.text(),
          .mountpoint = options.mountpoint,
          .config_file = options.config_file,
          .config = config_in_force,
          .config_read = options.config,
          .settings = options.settings,
          .foreground = options.foreground ? 1U : 0U,
          .debug = options.debug ? 1U : 0U,
          .sloppy = options.sloppy ? 1U : 0U,
          .made_mountpoint = options.makes_mountpoint ? 1U : 0U,
          .log_level = LogLevel(),
          .index_cache = options.index_cache,
          .cache = options.cache,
          .memory = options.memory.value_or(0)};
}

Result<MountOptions> OptionsOf(const HandOver& state) {
  MountOptions options;
  options.config = state.config;
  options.settings = state.settings;
  options.sloppy = state.sloppy != 0;
  options.debug = state.debug != 0;
  if (const auto applied = ApplyWords(options); !applied) return Fail(applied);
  options.config = state.config_read;
  options.config_file = state.config_file;
  options.source = Source(state.source);
  options.mountpoint = state.mountpoint;
  options.foreground = state.foreground != 0;
  options.makes_mountpoint = state.made_mountpoint != 0;
  options.log_level = state.log_level;
  options.index_cache = state.index_cache;
  options.cache = state.cache;
  options.memory = state.memory != 0 ? std::optional(state.memory) : std::nullopt;
  return options;
}

std::vector<int> DescriptorsOf(const HandOver& state) {
  std::vector<int> numbers;
  for (const auto& [name, member] : kDescriptors) {
    if (state.*member != HandOver::kNoDescriptor) numbers.push_back(NumberOf(state.*member));
  }
  return numbers;
}

uint64_t NumberFor(const Descriptor& descriptor) {
  return descriptor ? static_cast<uint64_t>(descriptor.get()) : HandOver::kNoDescriptor;
}

Descriptor Inherited(uint64_t number) {
  if (number == HandOver::kNoDescriptor) return {};
  fcntl(NumberOf(number), F_SETFD, FD_CLOEXEC);
  return Descriptor(NumberOf(number));
}

Result<void> CheckInherited(const HandOver& state) {
  siginfo_t child = {};
  if (!AreDistinct(state) || !Is(state.connection, IsFuseDevice, true) ||
      !Is(state.shared, IsFuseDevice, state.resends != 0) || !Is(state.ids, IsMemoryFile, true) ||
      !Is(state.root, IsFolder, false) || !Is(state.channel, IsChannel, true) ||
      !Is(state.asker, IsChannel, false)) {
    return Fail(ErrorCode::kDamaged, "hand-over: descriptors are not what they should be");
  }
  if (waitid(P_PID, static_cast<id_t>(state.worker), &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return Fail(ErrorCode::kDamaged, "hand-over: process {} is no child", state.worker);
  }
  return {};
}

Result<void> CheckWorkerStart(const HandOver& state) {
  const bool fetches = Source(state.source).needs_fetcher();
  if (!AreDistinct(state) || !Is(state.channel, IsChannel, true) ||
      !Is(state.ids, IsMemoryFile, false) || !Is(state.root, IsFolder, false) ||
      !Is(state.fetch_socket, IsChannel, fetches) ||
      !Is(state.fetch_memory, IsMemoryFile, fetches) || !Is(state.log, IsPipe, false)) {
    return Fail(ErrorCode::kDamaged, "worker: descriptors are not what they should be");
  }
  if (static_cast<uint64_t>(getppid()) != state.keeper) {
    return Fail(ErrorCode::kDamaged, "worker: expected a child of process {}, found one of {}",
                state.keeper, getppid());
  }
  return {};
}

}  // namespace zarrfs
