#include "fs/mount/start_message.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "fs/options/log.h"
#include "fs/options/settings.h"
#include "zarrcore/base/printable.h"

namespace zarrfs {
namespace {

constexpr std::string_view kFirstName = "zarrfs-start";

struct TextRecord {
  std::string_view name;
  std::string StartMessage::*member;
  bool is_binary = false;  // the value is written in hexadecimal digits
};
constexpr TextRecord kTexts[] = {
    {"version", &StartMessage::version},       {"source", &StartMessage::source},
    {"mountpoint", &StartMessage::mountpoint}, {"config_file", &StartMessage::config_file},
    {"log_level", &StartMessage::log_level},   {"init", &StartMessage::init, true},
    {"answer", &StartMessage::answer, true},   {"virtual_text", &StartMessage::virtual_text, true}};

struct ListRecord {
  std::string_view name;
  std::vector<std::string> StartMessage::*member;
};
constexpr ListRecord kLists[] = {{"config", &StartMessage::config},
                                 {"config_read", &StartMessage::config_read},
                                 {"setting", &StartMessage::settings},
                                 {"secrets", &StartMessage::secrets}};

struct NumberRecord {
  std::string_view name;
  uint64_t StartMessage::*member;
  uint64_t max = UINT64_MAX;
};
constexpr uint64_t kFlag = 1;
constexpr NumberRecord kNumbers[] = {{"foreground", &StartMessage::foreground, kFlag},
                                     {"debug", &StartMessage::debug, kFlag},
                                     {"sloppy", &StartMessage::sloppy, kFlag},
                                     {"index_cache", &StartMessage::index_cache},
                                     {"cache", &StartMessage::cache},
                                     {"memory", &StartMessage::memory},
                                     {"keeper", &StartMessage::keeper, INT_MAX},
                                     {"takes_over", &StartMessage::takes_over, kFlag},
                                     {"journal", &StartMessage::journal}};

// The records of descriptors. Their values are the numbers of the descriptors.
constexpr std::pair<std::string_view, uint64_t StartMessage::*> kDescriptors[] = {
    {"channel", &StartMessage::channel},
    {"ids", &StartMessage::ids},
    {"ids_file", &StartMessage::ids_file},
    {"root", &StartMessage::root},
    {"fetch_socket", &StartMessage::fetch_socket},
    {"fetch_memory", &StartMessage::fetch_memory},
    {"log", &StartMessage::log},
    {"list", &StartMessage::list},
    {"begun", &StartMessage::begun}};

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

// Converts between secrets and their record: "HEADERS,OWNER,QUERY,OWNER,VERSION", with texts in
// hexadecimal digits. The owner is empty if it is unknown.
std::string ToRecord(const SecretTexts& secrets) {
  const auto owner = [](const SecretFile& file) {
    return file.owner ? std::to_string(*file.owner) : std::string();
  };
  return fmt::format("{},{},{},{},{}", ToHex(secrets.headers.text), owner(secrets.headers),
                     ToHex(secrets.query.text), owner(secrets.query), ToHex(secrets.version));
}

std::optional<SecretTexts> FromRecord(std::string_view record) {
  SecretTexts secrets{.are_read = true};
  const auto take = [&record](bool is_last) -> std::optional<std::string_view> {
    const size_t end = record.find(',');
    if ((end == record.npos) != is_last) return std::nullopt;
    const std::string_view value = record.substr(0, end);
    record.remove_prefix(is_last ? record.size() : end + 1);
    return value;
  };
  const auto set_text = [&](std::string& text, bool is_last) {
    const auto value = take(is_last);
    auto bytes = value ? FromHex(*value) : std::nullopt;
    if (!bytes) return false;
    text = *std::move(bytes);
    return true;
  };
  const auto set_file = [&](SecretFile& file) {
    if (!set_text(file.text, /*is_last=*/false)) return false;
    const auto value = take(/*is_last=*/false);
    uint64_t owner = 0;
    if (!value || (!value->empty() && !SetNumber(*value, UINT32_MAX, owner))) return false;
    if (!value->empty()) file.owner = static_cast<uint32_t>(owner);
    return true;
  };
  const bool is_valid = set_file(secrets.headers) && set_file(secrets.query) &&
                        set_text(secrets.version, /*is_last=*/true);
  return is_valid ? std::optional(std::move(secrets)) : std::nullopt;
}

// Sets the member of `state` for one record. False for an unknown name or an invalid value.
bool SetRecord(std::string_view name, std::string_view value, StartMessage& state) {
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
    if (name == known) return SetNumber(value, StartMessage::kNoDescriptor, state.*member);
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

// Checks that all values except descriptors are valid and consistent.
bool HoldsTogether(const StartMessage& state) {
  return Source(state.source).is_absolute() && state.mountpoint.starts_with('/') &&
         state.keeper > 0 &&
         std::ranges::all_of(state.secrets,
                             [](const auto& each) { return FromRecord(each).has_value(); }) &&
         std::ranges::find(kLogLevels, state.log_level) != kLogLevels.end();
}

int NumberOf(uint64_t descriptor) { return static_cast<int>(descriptor); }

bool IsFolder(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsRegularFile(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
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
  return descriptor == StartMessage::kNoDescriptor ? !is_needed : check(NumberOf(descriptor));
}

// True if the numbers of all descriptors differ, and none is that of stdin, stdout or stderr.
bool AreDistinct(const StartMessage& state) {
  std::vector<int> numbers = DescriptorsOf(state);
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end() &&
         std::ranges::all_of(numbers, [](int fd) { return fd > STDERR_FILENO; });
}

Result<void> CheckParent(const StartMessage& state, std::string_view what) {
  if (static_cast<uint64_t>(getppid()) == state.keeper) return {};
  return Fail(ErrorCode::kDamaged, "{}: expected a child of process {}, found one of {}", what,
              state.keeper, getppid());
}

}  // namespace

std::string ToText(const StartMessage& state) {
  std::string text = fmt::format("{}={}", kFirstName, state.format) + '\0';
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("{}={}", name, value) + '\0';
  };
  for (const auto& [name, member, is_binary] : kTexts) {
    add(name, is_binary ? ToHex(state.*member) : state.*member);
  }
  // Lists are written before the numbers and descriptors, because a list may have no record. So a
  // truncated message always lacks a required record.
  for (const auto& [name, member] : kLists) {
    for (const std::string& value : state.*member) add(name, value);
  }
  for (const auto& [name, member, max] : kNumbers) add(name, state.*member);
  for (const auto& [name, member] : kDescriptors) add(name, state.*member);
  return text;
}

Result<StartMessage> ParseStartMessage(std::string_view text) {
  StartMessage state;
  std::set<std::string_view> names;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    const std::string_view record = text.substr(0, end);
    const size_t equals = record.find('=');
    if (end == text.npos || equals == record.npos) {
      return Fail(ErrorCode::kDamaged, "start message: truncated record");
    }
    const std::string_view name = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    text.remove_prefix(end + 1);
    if (names.empty()) {
      if (name != kFirstName || !SetNumber(value, UINT64_MAX, state.format)) {
        return Fail(ErrorCode::kDamaged, "start message: expected '{}=', found '{}'", kFirstName,
                    AsciiExcerpt(record));
      }
      if (state.format != StartMessage::kFormat) {
        return Fail(ErrorCode::kUnsupported,
                    "start message: expected format {}, found {}: unmount and mount again instead",
                    StartMessage::kFormat, state.format);
      }
    } else if (!SetRecord(name, value, state)) {
      return Fail(ErrorCode::kDamaged, "start message: unexpected '{}'", AsciiExcerpt(record));
    }
    if (!names.insert(name).second && !IsList(name)) {
      return Fail(ErrorCode::kDamaged, "start message: duplicate '{}'", AsciiExcerpt(name));
    }
  }
  std::erase_if(names, IsList);
  if (names.size() != 1 + std::size(kTexts) + std::size(kNumbers) + std::size(kDescriptors) ||
      !HoldsTogether(state)) {
    return Fail(ErrorCode::kDamaged, "start message: a record is missing or its value is invalid");
  }
  return state;
}

Result<std::string> ReadStartMessage(Descriptor file) {
  struct stat info = {};
  if (!file || !IsMemoryFile(file.get()) || fstat(file.get(), &info) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "start message: not a memory file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > StartMessage::kMaxBytes)
    return Fail(ErrorCode::kTooLarge, "start message: {} bytes exceed the limit", size);
  std::string text(size, '\0');
  const ssize_t have = pread(file.get(), text.data(), text.size(), 0);
  if (have != info.st_size) return Fail(ErrorCode::kIo, "start message: {}", ErrnoText(errno));
  return text;
}

StartMessage WithOptions(const MountOptions& options,
                         const std::vector<std::string>& config_in_force) {
  return {.version = ZARRFS_VERSION,
          .source = options.source.text(),
          .mountpoint = options.mountpoint,
          .config_file = options.config_file,
          .config = config_in_force,
          .config_read = options.config,
          .settings = options.settings,
          .virtual_text = options.virtual_text,
          .foreground = options.foreground ? 1U : 0U,
          .debug = options.debug ? 1U : 0U,
          .sloppy = options.sloppy ? 1U : 0U,
          .log_level = LogLevel(),
          .index_cache = options.index_cache,
          .cache = options.cache,
          .memory = options.memory.value_or(0)};
}

Result<MountOptions> OptionsOf(const StartMessage& state) {
  MountOptions options;
  options.config = state.config;
  options.settings = state.settings;
  options.sloppy = state.sloppy != 0;
  options.debug = state.debug != 0;
  options.virtual_text = state.virtual_text;
  if (const auto applied = ApplyWords(options); !applied) return Fail(applied);
  if (const auto added = ApplyVirtualText(options); !added) return Fail(added);
  options.config = state.config_read;
  options.config_file = state.config_file;
  options.source = Source(state.source);
  options.mountpoint = state.mountpoint;
  options.foreground = state.foreground != 0;
  options.log_level = state.log_level;
  options.index_cache = state.index_cache;
  options.cache = state.cache;
  options.memory = state.memory != 0 ? std::optional(state.memory) : std::nullopt;
  return options;
}

void SetSecrets(const std::vector<SecretTexts>& secrets, StartMessage& state) {
  state.secrets.clear();
  std::ranges::transform(secrets, std::back_inserter(state.secrets), ToRecord);
}

std::vector<SecretTexts> SecretsOf(const StartMessage& state) {
  std::vector<SecretTexts> secrets;
  for (const std::string& record : state.secrets) {
    secrets.push_back(FromRecord(record).value_or(SecretTexts()));
  }
  return secrets;
}

std::vector<int> DescriptorsOf(const StartMessage& state) {
  std::vector<int> numbers;
  for (const auto& [name, member] : kDescriptors) {
    if (state.*member != StartMessage::kNoDescriptor) numbers.push_back(NumberOf(state.*member));
  }
  return numbers;
}

uint64_t NumberFor(const Descriptor& descriptor) {
  return descriptor ? static_cast<uint64_t>(descriptor.get()) : StartMessage::kNoDescriptor;
}

Descriptor Inherited(uint64_t number) {
  if (number == StartMessage::kNoDescriptor) return {};
  fcntl(NumberOf(number), F_SETFD, FD_CLOEXEC);
  return Descriptor(NumberOf(number));
}

Result<void> CheckWorkerStart(const StartMessage& state) {
  const bool fetches = Source(state.source).needs_fetcher();
  if (!AreDistinct(state) || !Is(state.channel, IsChannel, true) ||
      !Is(state.ids, IsMemoryFile, false) || !Is(state.ids_file, IsRegularFile, false) ||
      !Is(state.root, IsFolder, false) || !Is(state.fetch_socket, IsChannel, fetches) ||
      !Is(state.fetch_memory, IsMemoryFile, fetches) || !Is(state.log, IsPipe, false)) {
    return Fail(ErrorCode::kDamaged,
                "worker: an inherited descriptor is missing, duplicated or of the wrong kind");
  }
  return CheckParent(state, "worker");
}

Result<void> CheckTrialStart(const StartMessage& state) {
  if (!AreDistinct(state) || !Is(state.root, IsFolder, false)) {
    return Fail(ErrorCode::kDamaged,
                "trial: an inherited descriptor is duplicated or of the wrong kind");
  }
  return CheckParent(state, "trial");
}

Result<void> CheckFetcherStart(const StartMessage& state) {
  if (!AreDistinct(state) || !Is(state.fetch_socket, IsChannel, true) ||
      !Is(state.fetch_memory, IsMemoryFile, true) || !Is(state.begun, IsPipe, true)) {
    return Fail(ErrorCode::kDamaged,
                "fetcher: an inherited descriptor is missing, duplicated or of the wrong kind");
  }
  return CheckParent(state, "fetcher");
}

}  // namespace zarrfs
