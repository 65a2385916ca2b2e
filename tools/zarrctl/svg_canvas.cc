#include <fmt/format.h>
#include <utf8.h>

#include "tools/zarrctl/canvas.h"

namespace zarrfs::ctl {
namespace {

std::string Hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

// As XML text. Names come from the store: replaces what is not UTF-8 or not allowed in XML.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : utf8::replace_invalid(text)) {
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

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(uint32_t width, uint32_t height) {
    text_ = fmt::format(
        R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">
<style>text {{ font: 12px sans-serif; fill: #222 }} text.title {{ font-size: 15px; font-weight: bold }}</style>
<rect class="paper" width="{0}" height="{1}" fill="#ffffff"/>
)",
        width, height);
  }

  void Rectangle(double x, double y, double width, double height, Color color,
                 std::string_view kind, std::string_view words) override {
    text_ += fmt::format(
        R"(<rect class="{}" x="{:.6g}" y="{:.6g}" width="{:.6g}" height="{:.6g}" fill="{}")", kind,
        x, y, width, height, Hex(color));
    text_ += words.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", Escape(words));
  }

  void Text(double x, double y, std::string_view text, Anchor anchor, int size) override {
    text_ += fmt::format(R"(<text x="{:.6g}" y="{:.6g}"{}{}>{}</text>)", x, y,
                         anchor == Anchor::kStart    ? ""
                         : anchor == Anchor::kMiddle ? R"( text-anchor="middle")"
                                                     : R"( text-anchor="end")",
                         size > 1 ? R"( class="title")" : "", Escape(text));
    text_ += "\n";
  }

  void TextUpwards(double x, double y, std::string_view text) override {
    text_ += fmt::format(
        R"x(<text transform="translate({:.6g} {:.6g}) rotate(-90)" text-anchor="middle">{}</text>)x",
        x, y, Escape(text));
    text_ += "\n";
  }

  Result<std::string> Finish() override { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Canvas> MakeSvgCanvas(uint32_t width, uint32_t height) {
  return std::make_unique<SvgCanvas>(width, height);
}

}  // namespace zarrfs::ctl
