#include "tools/zarrctl/page/png.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <string_view>

namespace zarrfs::ctl {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr int kLevel = 6;
constexpr char kPaletteType = 3;
constexpr char kColourType = 2;

std::string Big32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string PngChunk(std::string_view type, std::string_view data) {
  std::string checked = std::string(type).append(data);
  const auto sum = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(checked.data()), checked.size()));
  return Big32(static_cast<uint32_t>(data.size())) + checked + Big32(sum);
}

std::string Deflate(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  const int status =
      compress2(reinterpret_cast<unsigned char*>(out.data()), &size,
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), kLevel);
  if (status != Z_OK) throw std::bad_alloc();  // zlib fails only if memory runs out
  out.resize(size);
  return out;
}

}  // namespace

std::string EncodePng(const Pixels& pixels) {
  const bool has_palette = !pixels.palette.empty();
  const std::string header = Big32(pixels.width) + Big32(pixels.height) + '\x08' +
                             (has_palette ? kPaletteType : kColourType) + std::string(3, '\0');
  std::string colours;
  std::string alphas;
  for (const Colour& colour : pixels.palette) {
    for (const uint8_t part : {colour.red, colour.green, colour.blue}) {
      colours += static_cast<char>(part);
    }
    alphas += static_cast<char>(colour.alpha);
  }
  // Each row begins with its filter type, which is 0 (None).
  const size_t row = pixels.width * pixels.pixel_bytes();
  std::string rows;
  rows.reserve((row + 1) * pixels.height);
  for (uint32_t y = 0; y < pixels.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(pixels.bytes.data()) + y * row, row);
  }
  std::string file(kSignature);
  file += PngChunk("IHDR", header);
  if (has_palette) file += PngChunk("PLTE", colours) + PngChunk("tRNS", alphas);
  return file + PngChunk("IDAT", Deflate(rows)) + PngChunk("IEND", "");
}

}  // namespace zarrfs::ctl
