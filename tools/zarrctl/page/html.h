// Escapes strings from a store for HTML, for a shell, and for Python. The author of the store is
// not trusted: browsers run scripts, and users paste lines into terminals.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs::ctl {

/// Escapes `text` for HTML; the result may also be used between double quotes. Control characters,
/// characters that change the text direction, and characters that HTML forbids become visible, like
/// \x1b and \u202e. Bytes that are not UTF-8 become \xNN.
[[nodiscard]] std::string EscapeHtml(std::string_view text);

/// The first `most` bytes of `text`, in whole UTF-8 characters, followed by "…" if characters are
/// omitted.
[[nodiscard]] std::string Shortened(std::string_view text, size_t most);

/// Quotes `text` as one word for a POSIX shell. Words with unprintable characters have the form
/// $'a\x1b' of bash and zsh. The result never has more than one line.
[[nodiscard]] std::string ShellWord(std::string_view text);

/// Quotes `text` as a Python string in double quotes. The result has only printable characters and
/// no single quotes. Bytes that are not UTF-8 become those that os.fsdecode() returns.
[[nodiscard]] std::string PythonText(std::string_view text);

}  // namespace zarrfs::ctl
