#include "tools/zarrctl/refs/parquet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <span>

#include "zarrcore/codec/registry.h"

namespace zarrfs::ctl {
namespace {

// The fields of a Thrift structure in the compact protocol: "4.1.0.3" is field 3 of the first
// element of field 1 of …, and of a list "4.#" how many elements it has.
class ThriftFields {
 public:
  explicit ThriftFields(std::string_view bytes) : bytes_(bytes) { Struct(""); }

  [[nodiscard]] int64_t Number(const std::string& field) const {
    const auto found = numbers_.find(field);
    EXPECT_NE(found, numbers_.end()) << field;
    return found == numbers_.end() ? -1 : found->second;
  }
  [[nodiscard]] std::string Text(const std::string& field) const {
    const auto found = texts_.find(field);
    return found == texts_.end() ? "no such text" : found->second;
  }
  [[nodiscard]] bool Has(const std::string& field) const { return numbers_.contains(field); }
  /// Bytes that it takes.
  [[nodiscard]] size_t size() const { return at_; }

 private:
  uint8_t Byte() { return at_ < bytes_.size() ? static_cast<uint8_t>(bytes_[at_++]) : 0; }
  uint64_t Varint() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = Byte();
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }
  void Value(unsigned type, const std::string& field) {
    if (type == 5 || type == 6) {
      const uint64_t zigzag = Varint();
      numbers_[field] = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
    } else if (type == 8) {
      const size_t length = Varint();
      texts_[field] = bytes_.substr(at_, length);
      at_ += length;
    } else if (type == 9) {
      const unsigned head = Byte();
      numbers_[field + ".#"] = head >> 4;
      for (unsigned i = 0; i < head >> 4; ++i) Value(head & 15, fmt::format("{}.{}", field, i));
    } else if (type == 12) {
      Struct(field + ".");
    } else {
      ADD_FAILURE() << "type " << type;
      at_ = bytes_.size();
    }
  }
  void Struct(const std::string& prefix) {
    unsigned field = 0;
    while (const unsigned head = Byte()) {
      field += head >> 4;
      Value(head & 15, fmt::format("{}{}", prefix, field));
    }
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  std::map<std::string, int64_t> numbers_;
  std::map<std::string, std::string> texts_;
};

uint32_t LittleAt(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

ThriftFields FooterOf(std::string_view file) {
  EXPECT_TRUE(file.starts_with("PAR1") && file.ends_with("PAR1"));
  const uint32_t length = LittleAt(file, file.size() - 8);
  EXPECT_LT(length + 12, file.size());
  return ThriftFields(file.substr(file.size() - 8 - length, length));
}

// The decompressed page of a column, which must be where the footer says.
std::string PageOf(std::string_view file, int column) {
  const ThriftFields footer = FooterOf(file);
  const std::string chunk = fmt::format("4.0.1.{}.3.", column);
  const auto offset = static_cast<size_t>(footer.Number(chunk + "9"));
  const auto size = static_cast<size_t>(footer.Number(chunk + "7"));
  EXPECT_EQ(footer.Number(fmt::format("4.0.1.{}.2", column)), footer.Number(chunk + "9"));
  const ThriftFields header(file.substr(offset, size));
  const auto compressed = file.substr(offset + header.size(), size - header.size());
  EXPECT_EQ(static_cast<size_t>(header.Number("3")), compressed.size());
  const auto zstd = MakeZstdCodec(CodecSpec{"zstd"});
  const auto bytes = (*zstd)->Decode(std::as_bytes(std::span(compressed)), 1 << 20);
  EXPECT_TRUE(bytes);
  if (!bytes) return "";
  EXPECT_EQ(static_cast<size_t>(header.Number("2")), bytes->size());
  EXPECT_EQ(static_cast<size_t>(footer.Number(chunk + "6")), header.size() + bytes->size());
  EXPECT_EQ(header.Number("5.1"), footer.Number("3")) << "values, missing ones too";
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

std::vector<ParquetColumn> Columns() {
  return {{.name = "offset", .integers = {1, -2, int64_t{1} << 40}},
          {.name = "path", .type = ParquetColumn::Type::kText, .texts = {"a", std::nullopt, "bc"}},
          {.name = "raw",
           .type = ParquetColumn::Type::kBytes,
           .texts = {std::nullopt, std::nullopt, std::string("\0x", 2)}}};
}

TEST(Parquet, FooterHasSchemaRowsAndPlaces) {
  const auto file = MakeParquet(Columns());
  ASSERT_TRUE(file);
  const ThriftFields footer = FooterOf(*file);
  EXPECT_EQ(footer.Number("3"), 3) << "rows";
  EXPECT_EQ(footer.Number("2.#"), 4) << "the root and three columns";
  EXPECT_EQ(footer.Number("2.0.5"), 3);
  EXPECT_EQ(footer.Text("2.1.4"), "offset");
  EXPECT_EQ(footer.Number("2.1.1"), 2) << "INT64";
  EXPECT_EQ(footer.Number("2.1.3"), 0) << "REQUIRED";
  EXPECT_EQ(footer.Text("2.2.4"), "path");
  EXPECT_EQ(footer.Number("2.2.1"), 6) << "BYTE_ARRAY";
  EXPECT_EQ(footer.Number("2.2.3"), 1) << "OPTIONAL";
  EXPECT_EQ(footer.Number("2.2.6"), 0) << "UTF8";
  EXPECT_FALSE(footer.Has("2.3.6")) << "bytes";
  EXPECT_EQ(footer.Number("4.0.3"), 3);
  EXPECT_EQ(footer.Number("4.0.1.1.3.12.3"), 1) << "missing";
  EXPECT_EQ(footer.Number("4.0.1.2.3.12.3"), 2) << "missing";
}

TEST(Parquet, IntegersAreLittleEndian) {
  const auto file = MakeParquet(Columns());
  ASSERT_TRUE(file);
  const std::string page = PageOf(*file, 0);
  ASSERT_EQ(page.size(), 24U);
  for (const auto& [i, value] : {std::pair(0, int64_t{1}), {1, -2}, {2, int64_t{1} << 40}}) {
    int64_t found = 0;
    std::memcpy(&found, page.data() + 8 * i, 8);
    EXPECT_EQ(found, value);
  }
}

TEST(Parquet, MissingTextsAreLevelsAndNoValues) {
  const auto file = MakeParquet(Columns());
  ASSERT_TRUE(file);
  using std::string_literals::operator""s;
  EXPECT_EQ(PageOf(*file, 1), "\6\0\0\0"s + "\2\1\2\0\2\1"s + "\1\0\0\0a\2\0\0\0bc"s);
  EXPECT_EQ(PageOf(*file, 2), "\4\0\0\0"s + "\4\0\2\1"s + "\2\0\0\0\0x"s);
}

TEST(Parquet, NoRowsAreAFile) {
  const auto file =
      MakeParquet({{.name = "offset"}, {.name = "path", .type = ParquetColumn::Type::kText}});
  ASSERT_TRUE(file);
  EXPECT_EQ(FooterOf(*file).Number("3"), 0);
  EXPECT_EQ(PageOf(*file, 0), "");
}

}  // namespace
}  // namespace zarrfs::ctl
