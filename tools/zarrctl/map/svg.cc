#include "tools/zarrctl/map/svg.h"

#include <fmt/format.h>
#include <utf8.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace zarrfs::ctl {
namespace {

std::string Hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

// As XML text. Names come from the store: replaces what is not UTF-8 or not allowed in XML.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : utf8::replace_invalid(text)) {
    constexpr std::string_view kSpecial = "&<>\"";
    constexpr std::array kEscapes = {"&amp;", "&lt;", "&gt;", "&quot;"};
    if (const size_t special = kSpecial.find(c); special != std::string_view::npos) {
      escaped += kEscapes[special];
    } else {
      escaped += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return escaped;
}

}  // namespace

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

std::string Svg::File(double width, double height) const {
  return fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">
<style>text {{ font: 12px sans-serif; fill: #222 }} text.title {{ font-size: 15px; font-weight: bold }}</style>
<rect class="paper" width="{0:.0f}" height="{1:.0f}" fill="#ffffff"/>
{2}</svg>
)",
      std::ceil(width), std::ceil(height), text_);
}

}  // namespace zarrfs::ctl
