// Writes Parquet. Its metadata are Thrift structures in the compact protocol: numbered fields, with
// numbers as varints.
#include "tools/zarrctl/refs/parquet.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "zarrcore/codec/registry.h"

namespace zarrfs::ctl {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr int64_t kVersion = 1;

// Values of enums in parquet.thrift. The comment on each line is the name of the enum.
constexpr int64_t kInt64 = 2, kByteArray = 6;    // Type
constexpr int64_t kRequired = 0, kOptional = 1;  // FieldRepetitionType
constexpr int64_t kUtf8Text = 0;                 // ConvertedType
constexpr int64_t kPlain = 0, kRunLengths = 3;   // Encoding
constexpr int64_t kZstd = 6;                     // CompressionCodec
constexpr int64_t kDataPage = 0;                 // PageType

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class Thrift {
 public:
  enum class Type : uint8_t { kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };

  void Number(int64_t value) {
    AppendVarint(text_, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void Binary(std::string_view text) {
    AppendVarint(text_, text.size());
    text_ += text;
  }
  void Field(int number, Type type) {
    text_ += static_cast<char>((number - fields_.back()) << 4 | static_cast<int>(type));
    fields_.back() = number;
  }
  void I32(int number, int64_t value) {
    Field(number, Type::kI32);
    Number(value);
  }
  void I64(int number, int64_t value) {
    Field(number, Type::kI64);
    Number(value);
  }
  void Text(int number, std::string_view text) {
    Field(number, Type::kBinary);
    Binary(text);
  }
  // Writes the header of a list in its short form, for fewer than 15 elements.
  void List(int number, Type elements, size_t count) {
    Field(number, Type::kList);
    text_ += static_cast<char>(count << 4 | static_cast<size_t>(elements));
  }
  void Struct(int number) {
    Field(number, Type::kStruct);
    Begin();
  }
  void Begin() { fields_.push_back(0); }
  void End() {
    text_ += '\0';
    fields_.pop_back();
  }
  std::string Finish() {
    End();
    return std::move(text_);
  }

 private:
  std::string text_;
  std::vector<int> fields_ = {0};  // the last field number of each open structure
};

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) {
    out += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

// Encodes which values are present, as runs of equal flags. Each run has a count and a flag.
std::string DefinitionLevels(const std::vector<std::optional<std::string>>& texts) {
  std::string levels;
  for (size_t from = 0; from < texts.size();) {
    size_t to = from;
    while (to < texts.size() && texts[to].has_value() == texts[from].has_value()) ++to;
    AppendVarint(levels, (to - from) << 1);
    levels += texts[from].has_value() ? '\1' : '\0';
    from = to;
  }
  std::string out;
  AppendNumber(out, static_cast<uint32_t>(levels.size()));
  return out + levels;
}

std::string PlainValues(const ParquetColumn& column) {
  std::string out;
  if (column.type == ParquetColumn::Type::kInteger) {
    for (const int64_t value : column.integers) AppendNumber(out, value);
    return out;
  }
  out = DefinitionLevels(column.texts);
  for (const auto& text : column.texts) {
    if (!text) continue;
    AppendNumber(out, static_cast<uint32_t>(text->size()));
    out += *text;
  }
  return out;
}

struct Chunk {  // the part of the file with one column
  int64_t offset = 0;
  int64_t size = 0;               // including the page header
  int64_t uncompressed_size = 0;  // including the page header, before compression
};

Result<Chunk> AppendColumn(const ParquetColumn& column, std::string& out) {
  static const auto zstd = MakeZstdCodec(CodecSpec{"zstd", Json{{"level", 1}}});
  if (!zstd) return Fail(zstd);
  const std::string values = PlainValues(column);
  if (values.size() > std::numeric_limits<int32_t>::max()) {
    return Fail(ErrorCode::kTooLarge, "column {}: {} bytes exceed the limit of a Parquet page",
                column.name, values.size());
  }
  const auto compressed = (*zstd)->Encode(std::as_bytes(std::span(values)));
  if (!compressed) return Fail(compressed);
  Thrift header;
  header.I32(1, kDataPage);
  header.I32(2, static_cast<int64_t>(values.size()));
  header.I32(3, static_cast<int64_t>(compressed->size()));
  header.Struct(5);
  header.I32(1, static_cast<int64_t>(column.size()));
  header.I32(2, kPlain);
  header.I32(3, kRunLengths);
  header.I32(4, kRunLengths);
  header.End();
  const std::string page = header.Finish();
  Chunk chunk;
  chunk.offset = static_cast<int64_t>(out.size());
  chunk.size = static_cast<int64_t>(page.size() + compressed->size());
  chunk.uncompressed_size = static_cast<int64_t>(page.size() + values.size());
  out += page;
  out.append(reinterpret_cast<const char*>(compressed->data()), compressed->size());
  return chunk;
}

int64_t TypeOf(const ParquetColumn& column) {
  return column.type == ParquetColumn::Type::kInteger ? kInt64 : kByteArray;
}

void WriteSchema(const std::vector<ParquetColumn>& columns, Thrift& footer) {
  footer.List(2, Thrift::Type::kStruct, columns.size() + 1);
  footer.Begin();
  footer.Text(4, "schema");
  footer.I32(5, static_cast<int64_t>(columns.size()));
  footer.End();
  for (const ParquetColumn& column : columns) {
    footer.Begin();
    footer.I32(1, TypeOf(column));
    footer.I32(3, column.type == ParquetColumn::Type::kInteger ? kRequired : kOptional);
    footer.Text(4, column.name);
    if (column.type == ParquetColumn::Type::kText) footer.I32(6, kUtf8Text);
    footer.End();
  }
}

void WriteChunk(const ParquetColumn& column, const Chunk& chunk, Thrift& footer) {
  footer.Begin();
  footer.I64(2, chunk.offset);
  footer.Struct(3);
  footer.I32(1, TypeOf(column));
  footer.List(2, Thrift::Type::kI32, 2);
  footer.Number(kPlain);
  footer.Number(kRunLengths);
  footer.List(3, Thrift::Type::kBinary, 1);
  footer.Binary(column.name);
  footer.I32(4, kZstd);
  footer.I64(5, static_cast<int64_t>(column.size()));
  footer.I64(6, chunk.uncompressed_size);
  footer.I64(7, chunk.size);
  footer.I64(9, chunk.offset);
  // Readers convert integers to floats unless the statistics say that no value is missing.
  footer.Struct(12);
  const auto is_missing = [](const auto& text) { return !text.has_value(); };
  footer.I64(3, std::ranges::count_if(column.texts, is_missing));
  footer.End();
  footer.End();
  footer.End();
}

}  // namespace

Result<std::string> MakeParquet(const std::vector<ParquetColumn>& columns) {
  std::string out(kMagic);
  std::vector<Chunk> chunks;
  int64_t bytes = 0;
  for (const ParquetColumn& column : columns) {
    const auto chunk = AppendColumn(column, out);
    if (!chunk) return Fail(chunk);
    bytes += chunk->uncompressed_size;
    chunks.push_back(*chunk);
  }
  const auto rows = static_cast<int64_t>(columns.front().size());
  Thrift footer;
  footer.I32(1, kVersion);
  WriteSchema(columns, footer);
  footer.I64(3, rows);
  footer.List(4, Thrift::Type::kStruct, 1);
  footer.Begin();
  footer.List(1, Thrift::Type::kStruct, columns.size());
  for (size_t i = 0; i < columns.size(); ++i) WriteChunk(columns[i], chunks[i], footer);
  footer.I64(2, bytes);
  footer.I64(3, rows);
  footer.End();
  footer.Text(6, "zarrctl");
  const std::string text = footer.Finish();
  out += text;
  AppendNumber(out, static_cast<uint32_t>(text.size()));
  return out.append(kMagic);
}

}  // namespace zarrfs::ctl
