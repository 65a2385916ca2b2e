#include "tools/zarrctl/page/html.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace zarrfs::ctl {
namespace {

// True if a character must be escaped: control characters, line separators, invisible characters,
// characters that change the text direction, and code points that are not characters.
bool IsHidden(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe || c >= 0xe0000;
}

// Calls `on_character(code point, bytes)` for each UTF-8 character, and `on_byte(byte)` for each
// invalid byte.
template <typename OnCharacter, typename OnByte>
void VisitCharacters(std::string_view text, OnCharacter on_character, OnByte on_byte) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const invalid = utf8::find_invalid(at, end);
    while (at != invalid) {
      const char* next = at;
      const auto character = static_cast<uint32_t>(utf8::unchecked::next(next));
      on_character(character, std::string_view(at, static_cast<size_t>(next - at)));
      at = next;
    }
    if (at != end) on_byte(static_cast<unsigned char>(*at++));
  }
}

std::string HexByte(unsigned char byte) { return fmt::format("\\x{:02x}", byte); }

std::string Escape(uint32_t character) {
  if (character < 0x100) return HexByte(static_cast<unsigned char>(character));
  return character < 0x10000 ? fmt::format("\\u{:04x}", character)
                             : fmt::format("\\U{:08x}", character);
}

bool IsPlainInShell(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string html;
  VisitCharacters(
      text,
      [&](uint32_t character, std::string_view bytes) {
        switch (character) {
          case '&':
            html += "&amp;";
            break;
          case '<':
            html += "&lt;";
            break;
          case '>':
            html += "&gt;";
            break;
          case '"':
            html += "&quot;";
            break;
          case '\'':
            html += "&#39;";
            break;
          default:
            html += IsHidden(character) ? Escape(character) : std::string(bytes);
        }
      },
      [&](unsigned char byte) { html += HexByte(byte); });
  return html;
}

std::string Shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string ShellWord(std::string_view text) {
  if (!text.empty() && text.front() != '~' && std::ranges::all_of(text, IsPlainInShell)) {
    return std::string(text);
  }
  std::string quoted;
  std::string escaped;
  bool has_hidden = false;
  const auto hide = [&](std::string_view bytes) {
    has_hidden = true;
    for (const char c : bytes) escaped += HexByte(static_cast<unsigned char>(c));
  };
  VisitCharacters(
      text,
      [&](uint32_t character, std::string_view bytes) {
        if (IsHidden(character)) return hide(bytes);
        if (character == '\'' || character == '\\') escaped += '\\';
        escaped += bytes;
        quoted += character == '\'' ? std::string_view(R"('\'')") : bytes;
      },
      [&](unsigned char byte) {
        const auto c = static_cast<char>(byte);
        hide({&c, 1});
      });
  return has_hidden ? "$'" + escaped + "'" : "'" + quoted + "'";
}

std::string PythonText(std::string_view text) {
  std::string literal = "\"";
  VisitCharacters(
      text,
      [&](uint32_t character, std::string_view bytes) {
        if (IsHidden(character) || character == '\'') {
          literal += Escape(character);
        } else {
          if (character == '"' || character == '\\') literal += '\\';
          literal += bytes;
        }
      },
      [&](unsigned char byte) { literal += fmt::format("\\udc{:02x}", byte); });
  return literal + "\"";
}

}  // namespace zarrfs::ctl
