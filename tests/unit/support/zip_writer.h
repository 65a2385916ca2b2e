// Writes valid and invalid zip files for tests. Each field of a member can be set to a wrong value.
//
//   ZipWriter zip;
//   zip.Add("a/zarr.json", "{}");
//   zip.Add({.name = "a/c/0", .bytes = "…", .deflates = true});
//   store.Put("x.zip", zip.Finish());
#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "zarrcore/base/byte_order.h"

namespace zarrfs {

class ZipWriter {
 public:
  struct Member {
    std::string name = {};
    std::string bytes = {};
    bool deflates = false;
    bool is_zip64 = false;   // true if sizes and offset are in the zip64 extra field
    uint32_t unix_mode = 0;  // if not 0, "version made by" is Unix
    uint16_t flags = 0;
    std::string local_extra = {};
    // Values that the records have instead of the correct ones.
    std::optional<uint16_t> method = {};
    std::optional<uint32_t> crc = {};
    std::optional<uint64_t> size = {};
    std::optional<uint64_t> packed_size = {};
    std::optional<uint64_t> header = {};
    std::optional<std::string> local_name = {};
  };

  void Add(std::string_view name, std::string_view bytes) {
    Add(Member{.name = std::string(name), .bytes = std::string(bytes)});
  }

  void Add(const Member& member) {
    const std::string packed = member.deflates ? Deflated(member.bytes) : member.bytes;
    const uint16_t method = member.method.value_or(member.deflates ? 8 : 0);
    const uint32_t crc = member.crc.value_or(
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(member.bytes.data()),
                                    static_cast<uInt>(member.bytes.size()))));
    const uint64_t size = member.size.value_or(member.bytes.size());
    const uint64_t packed_size = member.packed_size.value_or(packed.size());
    const uint64_t header = member.header.value_or(file_.size());
    const std::string name = member.local_name.value_or(member.name);

    // The local header has no sizes, like the headers of programs that write to a pipe.
    file_ += Number(0x04034b50, 4) + Number(20, 2) + Number(member.flags | 8U, 2) +
             Number(method, 2) + std::string(4 + 12, '\0') + Number(name.size(), 2) +
             Number(member.local_extra.size(), 2) + name + member.local_extra + packed;

    std::string zip64;
    if (member.is_zip64) {
      zip64 = Number(0x1234, 2) + Number(2, 2) + "??" + Number(1, 2) + Number(24, 2) +
              Number(size, 8) + Number(packed_size, 8) + Number(header, 8);
    }
    const auto word = [&](uint64_t value) {
      return Number(member.is_zip64 ? 0xFFFFFFFF : value, 4);
    };
    directory_ += Number(0x02014b50, 4) + Number(20, 1) + Number(member.unix_mode != 0 ? 3 : 0, 1) +
                  Number(20, 2) + Number(member.flags | 8U, 2) + Number(method, 2) +
                  std::string(4, '\0') + Number(crc, 4) + word(packed_size) + word(size) +
                  Number(member.name.size(), 2) + Number(zip64.size(), 2) + Number(0, 2) +
                  Number(0, 4) + Number(uint64_t{member.unix_mode} << 16, 4) + word(header) +
                  member.name + zip64;
    ++members_;
  }

  /// `has_zip64_end`: the values are in the zip64 end record.
  [[nodiscard]] std::string Finish(std::string_view comment = "",
                                   bool has_zip64_end = false) const {
    std::string file = file_ + directory_;
    if (has_zip64_end) {
      const uint64_t at = file.size();
      file += Number(0x06064b50, 4) + Number(44, 8) + Number(45, 2) + Number(45, 2) + Number(0, 8) +
              Number(members_, 8) + Number(members_, 8) + Number(directory_.size(), 8) +
              Number(file_.size(), 8);
      file += Number(0x07064b50, 4) + Number(0, 4) + Number(at, 8) + Number(1, 4);
    }
    const auto field = [&](uint64_t value, size_t size) {
      return Number(has_zip64_end ? UINT64_MAX : value, size);
    };
    return file + Number(0x06054b50, 4) + Number(0, 4) + field(members_, 2) + field(members_, 2) +
           field(directory_.size(), 4) + field(file_.size(), 4) + Number(comment.size(), 2) +
           std::string(comment);
  }

  static std::string Deflated(std::string_view bytes) {
    std::string out(compressBound(static_cast<uLong>(bytes.size())) + 16, '\0');
    z_stream stream = {};
    deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  /// The `size` bytes of `value`, little-endian.
  static std::string Number(uint64_t value, size_t size) {
    std::string text(size, '\0');
    StoreLittle(std::as_writable_bytes(std::span(text)), value);
    return text;
  }

 private:
  std::string file_;
  std::string directory_;
  uint64_t members_ = 0;
};

}  // namespace zarrfs
