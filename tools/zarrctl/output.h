// How zarrctl prints: exit codes, colours, width and characters of the terminal, numbers, tables.
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
inline constexpr int kExitWrong = 1;   // wrong usage, damage, or a chunk that does not exist
inline constexpr int kExitSystem = 2;  // the store or stdout cannot be used
// No damage, but not everything could be checked or printed.
inline constexpr int kExitUnchecked = 3;
inline constexpr int kExitCtrlC = 130;  // the exit code that shells use after SIGINT

/// Sets whether to use colours, regardless of the environment. Call before anything is printed.
void SetColored(bool colored);

/// True if output to `fd` has colours. If SetColored() was called, it decides. Otherwise, NO_COLOR
/// (not empty) forbids colours. Otherwise, CLICOLOR_FORCE (not empty, not 0) requests them.
/// Otherwise, a terminal has them unless CLICOLOR is 0 or TERM is "dumb".
[[nodiscard]] bool IsColored(int fd);

enum class Style { kBold, kDim, kRed, kGreen, kYellow };

/// Returns `text` in a style if `fd` has colours, otherwise unchanged.
[[nodiscard]] std::string Paint(std::string_view text, Style style, int fd = STDOUT_FILENO);

[[nodiscard]] bool IsTerminal(int fd);

/// The size of the terminal: COLUMNS and LINES if they are set, otherwise the size that the
/// terminal at `fd` reports, otherwise 80 x 40.
struct TerminalSize {
  uint64_t columns = 80;
  uint64_t lines = 40;
};
[[nodiscard]] TerminalSize SizeOfTerminal(int fd);

/// True if the name of the locale says that its characters are UTF-8. The locale need not be
/// installed.
[[nodiscard]] bool TakesUtf8();

/// Writes to stdout. FinishOutput() reports failures.
void Write(std::string_view text);

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Write(fmt::format(format, std::forward<Args>(args)...));
}

/// Flushes stdout. Returns `code`, or kExitSystem with an error on stderr if writing failed.
int FinishOutput(int code);

/// Prints "zarrctl: " and `message` on stderr. Returns `code`.
int Complain(std::string_view message, int code = kExitWrong);

/// Prints an error on stderr. Returns the exit code for the error.
int Complain(const Error& error);

/// True if `error` means that the stored data are invalid, not that they cannot be read now:
/// damage, a link that is not followed, or a zarrfs mount in place of data.
[[nodiscard]] bool IsDamage(const Error& error);

/// Removes the key at the beginning of `message`. The caller has already printed the key.
std::string WithoutKey(std::string_view message, std::string_view key);

/// Returns the subject of `message`: the key at its beginning if that key is below `folder`,
/// otherwise `folder`.
std::string KeyOf(std::string_view message, std::string_view folder);

/// A size in words: "512 bytes", "1.2 MiB".
std::string SizeText(uint64_t bytes);

/// A number with groups of digits: "98,000,000".
std::string GroupedText(uint64_t number);

/// A count and a noun: "1 chunk", "3 chunks".
std::string CountText(uint64_t count, std::string_view noun);

/// A table whose columns are as wide as their widest cell. The last column is not padded.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void Print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace zarrfs::ctl
