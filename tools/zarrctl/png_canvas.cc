#include <png.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tools/zarrctl/canvas.h"
#include "tools/zarrctl/letters.h"

namespace zarrfs::ctl {
namespace {

constexpr Color kInk = {0x22, 0x22, 0x22};
constexpr uint32_t kScale = 2;  // pixels of the file for one of the canvas: letters can be read

// Characters, not bytes: those of several bytes become one box.
std::string OneByteEach(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) letters += byte < 0x80 ? c : '\x7f';
  }
  return letters;
}

class PngCanvas : public Canvas {
 public:
  PngCanvas(uint32_t width, uint32_t height)
      : width_(kScale * width),
        height_(kScale * height),
        pixels_(size_t{3} * width_ * height_, 0xff) {}

  void Rectangle(double x, double y, double width, double height, Color color, std::string_view,
                 std::string_view) override {
    // Never less than a pixel.
    const int64_t left = Scaled(x);
    const int64_t top = Scaled(y);
    const int64_t right = std::max(Scaled(x + width), left + 1);
    const int64_t bottom = std::max(Scaled(y + height), top + 1);
    for (int64_t j = top; j < bottom; ++j) {
      for (int64_t i = left; i < right; ++i) Set(i, j, color);
    }
  }

  void Text(double x, double y, std::string_view text, Anchor anchor, int size) override {
    const std::string letters = OneByteEach(text);
    const int64_t dot = kScale + (size > 1 ? 1 : 0);  // pixels of one dot of a letter
    const int64_t advance = (kLetterWidth + 1) * dot;
    const auto length = static_cast<int64_t>(letters.size()) * advance;
    int64_t left = Scaled(x);
    if (anchor == Anchor::kMiddle) left -= length / 2;
    if (anchor == Anchor::kEnd) left -= length;
    const int64_t top = Scaled(y) - kLetterBase * dot;
    for (const char c : letters) {
      VisitDots(c, [&](int64_t column, int64_t row) {
        Fill(left + column * dot, top + row * dot, dot, kInk);
      });
      left += advance;
    }
  }

  void TextUpwards(double x, double y, std::string_view text) override {
    const std::string letters = OneByteEach(text);
    constexpr int64_t kAdvance = (kLetterWidth + 1) * kScale;
    const int64_t left = Scaled(x) - kLetterBase * kScale;
    int64_t below = Scaled(y) + static_cast<int64_t>(letters.size()) * kAdvance / 2;
    for (const char c : letters) {
      VisitDots(c, [&](int64_t column, int64_t row) {
        Fill(left + row * kScale, below - column * kScale, kScale, kInk);
      });
      below -= kAdvance;
    }
  }

  Result<std::string> Finish() override {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = width_;
    image.height = height_;
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::string file(size, '\0');
    if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels_.data(), 0, nullptr) == 0) {
      return Fail(ErrorCode::kTooLarge, "the picture cannot be made: {}", image.message);
    }
    file.resize(size);
    return file;
  }

 private:
  template <typename Visit>
  static void VisitDots(char c, Visit visit) {
    const auto columns = Letter(c);
    for (uint32_t column = 0; column < kLetterWidth; ++column) {
      for (uint32_t row = 0; row < kLetterHeight; ++row) {
        if ((columns[column] >> row & 1) != 0) visit(column, row);
      }
    }
  }

  static int64_t Scaled(double x) { return std::lround(x * kScale); }

  void Fill(int64_t x, int64_t y, int64_t size, Color color) {
    for (int64_t j = 0; j < size; ++j) {
      for (int64_t i = 0; i < size; ++i) Set(x + i, y + j, color);
    }
  }

  void Set(int64_t x, int64_t y, Color color) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    uint8_t* pixel = &pixels_[3 * (static_cast<size_t>(y) * width_ + static_cast<size_t>(x))];
    pixel[0] = color.red;
    pixel[1] = color.green;
    pixel[2] = color.blue;
  }

  const uint32_t width_;
  const uint32_t height_;
  std::vector<uint8_t> pixels_;
};

}  // namespace

std::unique_ptr<Canvas> MakePngCanvas(uint32_t width, uint32_t height) {
  return std::make_unique<PngCanvas>(width, height);
}

}  // namespace zarrfs::ctl
