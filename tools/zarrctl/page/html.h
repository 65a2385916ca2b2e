// Escapes text from a store as HTML, as a word for the shell, as a Python literal. The author of
// the store is not trusted: a browser runs what it gets, and people paste lines into terminals.
#pragma once

#include <string>
#include <string_view>

namespace zarrfs::ctl {

/// `text` as text of HTML, also between double quotes. Control characters, those that change the
/// direction of the text around them, and those that no document may have become visible: \x1b,
/// \u202e. Bytes that are not UTF-8 become \xNN.
[[nodiscard]] std::string EscapeHtml(std::string_view text);

/// The first `most` bytes of `text`, whole characters of UTF-8, with "…" if there are more.
[[nodiscard]] std::string Shortened(std::string_view text, size_t most);

/// One word of a line for a POSIX shell; where it has characters that are not printed, as bash and
/// zsh take it: $'a\x1b'. A word never has more lines than one.
[[nodiscard]] std::string ShellWord(std::string_view text);

/// A string of Python between double quotes, of printable characters alone, and without single
/// quotes. Bytes that are not UTF-8 are what os.fsdecode() makes of them.
[[nodiscard]] std::string PythonText(std::string_view text);

}  // namespace zarrfs::ctl
