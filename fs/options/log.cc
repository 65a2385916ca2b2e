#include "fs/options/log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fuse_log.h>
#include <poll.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>

#include "zarrcore/base/printable.h"
#define SD_JOURNAL_SUPPRESS_LOCATION  // otherwise entries would name the source line of JournalSink
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>

namespace zarrfs {
namespace {

std::atomic<bool> keep_messages = false;

void TakeFuseMessage(fuse_log_level level, const char* format, va_list arguments) {
  std::array<char, 1024> text;
  std::vsnprintf(text.data(), text.size(), format, arguments);
  if (keep_messages) {
    std::fputs(text.data(), stderr);  // stderr is a memory file now; see MountMessages
    return;
  }
  const std::string line = OneLine(text.data());
  if (line.empty()) return;
  spdlog::log(level <= FUSE_LOG_ERR       ? spdlog::level::err
              : level == FUSE_LOG_WARNING ? spdlog::level::warn
                                          : spdlog::level::debug,
              "libfuse: {}", line);
}

// True if stderr is the journal; see JOURNAL_STREAM in systemd.exec(5).
bool StderrIsJournal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");  // has the form "device:inode"
  struct stat status {};
  return stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
         stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

// The priority of a log level, as a number of syslog(3).
int PriorityOf(spdlog::level::level_enum level) {
  constexpr int kPriorities[] = {LOG_DEBUG, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR, LOG_CRIT};
  static_assert(spdlog::level::info == 2 && std::size(kPriorities) == spdlog::level::off);
  return kPriorities[std::min(static_cast<size_t>(level), std::size(kPriorities) - 1)];
}

std::string TextOf(const spdlog::details::log_msg& message) {
  return OneLine({message.payload.data(), message.payload.size()});
}

// Sends each message to the systemd journal, with fields.
class JournalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit JournalSink(std::string_view mountpoint) : mountpoint_(mountpoint) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::array fields = {"MESSAGE=" + TextOf(message),
                         fmt::format("PRIORITY={}", PriorityOf(message.level)),
                         std::string("SYSLOG_IDENTIFIER=zarrfs"), "ZARRFS_MOUNT=" + mountpoint_};
    std::array<iovec, fields.size()> pieces;
    std::ranges::transform(fields, pieces.begin(), [](std::string& field) {
      return iovec{field.data(), field.size()};
    });
    sd_journal_sendv(pieces.data(), static_cast<int>(pieces.size()));
  }
  void flush_() override {}

  const std::string mountpoint_;
};

// The reader of the log. Each kind of reader expects a different line prefix.
enum class Reader { kPeople, kJournal, kSyslog };

class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(Reader reader) : reader_(reader) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto to = std::back_inserter(out);
    const std::string text = TextOf(message);
    if (reader_ == Reader::kSyslog) {
      fmt::format_to(to, "{}", text);
    } else if (reader_ == Reader::kJournal) {
      fmt::format_to(to, "<{}>{}\n", PriorityOf(message.level), text);
    } else if (spdlog::should_log(spdlog::level::debug)) {
      const auto ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch())
              .count() %
          1000;
      const auto name = spdlog::level::to_string_view(message.level);
      fmt::format_to(to, "{:%H:%M:%S}.{:03} [{}] zarrfs: {}: {}\n",
                     fmt::localtime(std::chrono::system_clock::to_time_t(message.time)), ms,
                     message.thread_id, std::string_view(name.data(), name.size()), text);
    } else {
      fmt::format_to(to, "zarrfs: {}\n", text);
    }
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(reader_);
  }

 private:
  const Reader reader_;
};

class PipeSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit PipeSink(Descriptor pipe) : pipe_(std::move(pipe)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string line = fmt::format("{} {} {} {}", static_cast<int>(message.level),
                                   message.thread_id, lost_, TextOf(message));
    if (line.size() > kMaxLogLine) line.resize(kMaxLogLine);
    const bool is_written = write(pipe_.get(), line.data(), line.size()) > 0;
    lost_ = is_written ? 0 : lost_ + 1;
  }
  void flush_() override {}

  const Descriptor pipe_;
  uint64_t lost_ = 0;  // guarded by the mutex that base_sink holds during sink_it_()
};

// A descriptor that is writable if the log can accept a message; -1 if that cannot be determined.
int log_reader = -1;

// Opens a socket that is writable while the process that reads the log keeps up; -1 on failure.
int ConnectToLog(const char* path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::string_view(path).copy(address.sun_path, sizeof address.sun_path - 1);
  const bool connected =
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return connected ? socket.release() : -1;
}

// The sink of the default logger. Its targets may change while threads log, so the logger itself is
// never replaced.
std::shared_ptr<spdlog::sinks::dist_sink_mt> target;

void SetTarget(spdlog::sink_ptr sink, std::string_view level, Reader reader) {
  if (target == nullptr) {
    target = std::make_shared<spdlog::sinks::dist_sink_mt>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("zarrfs", target));
    fuse_set_log_func(TakeFuseMessage);
  }
  sink->set_formatter(std::make_unique<LineFormatter>(reader));
  target->set_sinks({std::move(sink)});
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

}  // namespace

void LogToStderr(std::string_view level) {
  SetTarget(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level,
            StderrIsJournal() ? Reader::kJournal : Reader::kPeople);
  log_reader = STDERR_FILENO;
}

void LogToPipe(Descriptor pipe) {
  if (log_reader > STDERR_FILENO) close(log_reader);
  log_reader = -1;
  closelog();
  SetTarget(std::make_shared<PipeSink>(std::move(pipe)), LogLevel(), Reader::kSyslog);
}

std::optional<LogLine> ParseLogLine(std::string_view packet) {
  LogLine line;
  const auto take = [&packet](auto& number) {
    const char* const end = packet.data() + packet.size();
    const auto [stop, error] = std::from_chars(packet.data(), end, number);
    if (error != std::errc() || stop == end || *stop != ' ') return false;
    packet.remove_prefix(static_cast<size_t>(stop + 1 - packet.data()));
    return true;
  };
  if (!take(line.level) || !take(line.thread) || !take(line.lost)) return std::nullopt;
  if (line.level < 0 || line.level >= spdlog::level::off) return std::nullopt;
  line.text = packet;
  return line;
}

void Log(const LogLine& line) {
  const auto level = static_cast<spdlog::level::level_enum>(line.level);
  if (target == nullptr || !spdlog::should_log(level)) return;
  spdlog::details::log_msg message("zarrfs", level, {line.text.data(), line.text.size()});
  message.thread_id = line.thread;
  target->log(message);
}

bool CanLog() {
  pollfd wait = {log_reader, POLLOUT, 0};
  return log_reader < 0 || poll(&wait, 1, 0) != 0;
}

void CloseStandardFiles() {
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

void DetachFromTerminal() {
  CloseStandardFiles();
  // setsid() must not be called earlier. Until an automount point is mounted, only the service
  // manager's process group may access it, and the previous steps access the mount point.
  setsid();
}

void LeaveTerminal(std::string_view mountpoint) {
  constexpr const char* kJournal = "/run/systemd/journal/socket";
  spdlog::sink_ptr sink = std::make_shared<JournalSink>(mountpoint);
  const bool has_journal = access(kJournal, W_OK) == 0;
  if (!has_journal) {
    sink = std::make_shared<spdlog::sinks::syslog_sink_mt>("zarrfs", LOG_PID, LOG_DAEMON,
                                                           /*format=*/true);
  }
  SetTarget(std::move(sink), LogLevel(), Reader::kSyslog);
  log_reader = ConnectToLog(has_journal ? kJournal : "/dev/log");
  DetachFromTerminal();
}

void SetLogLevel(std::string_view level) {
  spdlog::set_level(spdlog::level::from_str(std::string(level)));
}

std::string LogLevel() {
  const auto name = spdlog::level::to_string_view(spdlog::get_level());
  return {name.data(), name.size()};
}

void PrintError(std::string_view message) {
  const std::string line = StderrIsJournal() ? fmt::format("<{}>{}\n", LOG_ERR, OneLine(message))
                                             : fmt::format("zarrfs: {}\n", OneLine(message));
  // A single write, so lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

MountMessages::MountMessages() {
  kept_.reset(memfd_create("zarrfs-messages", MFD_CLOEXEC));
  if (!kept_) return;
  std::fflush(stderr);
  stderr_.reset(dup(STDERR_FILENO));
  dup2(kept_.get(), STDERR_FILENO);
  keep_messages = true;
}

MountMessages::~MountMessages() { static_cast<void>(Take()); }

void MountMessages::Forget() {
  std::fflush(stderr);
  // Descriptor 2 shares the file position of kept_, so the next message is written at the
  // beginning.
  if (ftruncate(kept_.get(), 0) == 0) lseek(kept_.get(), 0, SEEK_SET);
}

std::string MountMessages::Take() {
  if (!kept_ || !stderr_) return "";
  std::fflush(stderr);
  keep_messages = false;
  dup2(stderr_.get(), STDERR_FILENO);
  stderr_.reset();
  std::array<char, 4096> text;
  const ssize_t length = pread(kept_.get(), text.data(), text.size(), 0);
  std::istringstream lines(
      std::string(text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))));
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view speaker : {"fuse: ", "fusermount3: ", "fusermount: "}) {
      if (line.starts_with(speaker)) line.erase(0, speaker.size());
    }
    if (!line.empty()) reason += (reason.empty() ? "" : "; ") + OneLine(line);
  }
  return reason;
}

}  // namespace zarrfs
