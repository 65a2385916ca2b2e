#include "tools/zarrctl/svg.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "zarrcore/metadata/json.h"

namespace zarrfs::ctl {
namespace {

std::string Hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

// As XML text. Names come from the store: what is no UTF-8, or no character of XML, is replaced.
std::string Escape(std::string_view text) {
  std::string valid(text);
  try {
    valid = Json::parse(Json(valid).dump(-1, ' ', false, Json::error_handler_t::replace))
                .get<std::string>();
  } catch (const Json::exception&) {
    return "?";
  }
  std::string escaped;
  for (const char c : valid) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return escaped;
}

}  // namespace

Svg::Svg(uint32_t width, uint32_t height)
    : text_(fmt::format(
          R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>text {{ font: 12px sans-serif; fill: #222 }} text.title {{ font-size: 15px; font-weight: bold }}</style>
<rect class="paper" width="{0}" height="{1}" fill="#ffffff"/>
)",
          width, height)) {}

void Svg::Rectangle(double x, double y, double width, double height, Color color,
                    std::string_view kind, std::string_view tooltip) {
  text_ += fmt::format(
      R"(<rect class="{}" x="{:.6g}" y="{:.6g}" width="{:.6g}" height="{:.6g}" fill="{}")", kind, x,
      y, width, height, Hex(color));
  text_ += tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", Escape(tooltip));
}

void Svg::Text(double x, double y, std::string_view text, Anchor anchor, bool is_title) {
  constexpr std::array kAnchors = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  text_ += fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>\n", x, y,
                       kAnchors[static_cast<size_t>(anchor)], is_title ? R"( class="title")" : "",
                       Escape(text));
}

void Svg::TextUpwards(double x, double y, std::string_view text) {
  text_ += fmt::format(
      "<text transform=\"translate({:.6g} {:.6g}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      x, y, Escape(text));
}

}  // namespace zarrfs::ctl
