// How zarrctl prints: exit codes, capabilities of the terminal and wishes of the user (colours,
// width, characters), numbers, tables.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/base/result.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {

inline constexpr int kExitOk = 0;
inline constexpr int kExitWrong = 1;      // usage, damage, or a chunk that is not there
inline constexpr int kExitSystem = 2;     // the store, or stdout, cannot be used
inline constexpr int kExitUnchecked = 3;  // not everything could be checked, or told; no damage
inline constexpr int kExitCtrlC = 130;    // as a shell says it

/// Whether to use colours, regardless of the environment. Call before anything is printed.
void SetColored(bool colored);

/// Whether output to `fd` has colours. Unless SetColored() was called, NO_COLOR (not empty) forbids
/// them; otherwise CLICOLOR_FORCE (not empty, not 0) requests them; otherwise a terminal has them
/// unless CLICOLOR is 0 or TERM is "dumb".
[[nodiscard]] bool IsColored(int fd);

enum class Style { kBold, kDim, kRed, kGreen, kYellow };

/// `text` in that style if `fd` has colours.
[[nodiscard]] std::string Paint(std::string_view text, Style style, int fd = STDOUT_FILENO);

[[nodiscard]] bool IsTerminal(int fd);

/// COLUMNS and LINES if they are set, else what the terminal at `fd` reports, else 80 x 40.
struct TerminalSize {
  uint64_t columns = 80;
  uint64_t lines = 40;
};
[[nodiscard]] TerminalSize SizeOfTerminal(int fd);

/// Whether the locale's characters are UTF-8, by its name: it need not be installed here.
[[nodiscard]] bool TakesUtf8();

/// Writes to stdout. Failures show in FinishOutput.
void Write(std::string_view text);

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Write(fmt::format(format, std::forward<Args>(args)...));
}

/// Flushes stdout; returns `code`, or kExitSystem with a line on stderr if writing failed.
int FinishOutput(int code);

/// Prints "zarrctl: message" on stderr; returns `code`.
int Complain(std::string_view message, int code = kExitWrong);

/// Prints the error; returns its exit code.
int Complain(const Error& error);

/// Whether `error` says that the stored data are invalid, not that they cannot be read now: damage,
/// a link that is not followed, a zarrfs mount in place of data.
[[nodiscard]] bool IsDamage(const Error& error);

/// `message` without its leading key, if that is printed already.
std::string WithoutKey(std::string_view message, std::string_view key);

/// The subject of `message`: its leading key if that lies below `folder`, else `folder`.
std::string KeyOf(std::string_view message, std::string_view folder);

/// "512 bytes", "1.2 MiB".
std::string SizeText(uint64_t bytes);

/// "98,000,000".
std::string GroupedText(uint64_t number);

/// "1 chunk", "3 chunks".
std::string CountText(uint64_t count, std::string_view noun);

/// Rows of columns, each as wide as its widest cell; the last one is not padded.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace zarrfs::ctl
