// Writes the layout that fsspec's LazyReferenceMapper reads. DIR/.zmetadata contains all documents,
// and zarr-python reads it as consolidated metadata. DIR/ARRAY/refs.R.parq is a table of the chunks
// from number R x 10,000 on, in row-major order, one per row. Chunks that are not stored are nulls.
// A table without stored chunks has no file.
#include <fcntl.h>

#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/refs/parquet.h"
#include "tools/zarrctl/refs/reference_writer.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/os/removal.h"
#include "zarrcore/view/pass_through.h"

namespace zarrfs::ctl {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRecordSize = 10'000;  // rows per table, as in kerchunk
// The maximum number of chunks in an array, because each chunk has a row, whether it is stored or
// not.
constexpr uint64_t kMaxPlaces = uint64_t{1} << 32;
constexpr std::string_view kMetadata = ".zmetadata";

class ParquetReferences final : public ReferenceWriter {
 public:
  explicit ParquetReferences(std::string folder) : folder_(std::move(folder)) {}
  ParquetReferences(const ParquetReferences&) = delete;
  ParquetReferences& operator=(const ParquetReferences&) = delete;
  // Removes the files of an unfinished run. The folder was empty before, so this run has written
  // all files in it.
  ~ParquetReferences() override {
    if (is_finished_) return;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
      RemoveOwnFiles(entry.path().string(), IsOwn);
    }
    RemoveFile(AT_FDCWD, (fs::path(folder_) / kMetadata).c_str());
    RemoveAbandonedFiles(folder_);
  }

  bool needs_order() const override { return true; }

  std::string WhyNot(const ReferencedArray& array) const override {
    if (array.path.empty())
      return "Parquet references need a group above the array; name the group as STORE";
    if (array.naming.nested() && array.grid.rank() > 1) {
      return "readers of Parquet references find only chunk names with '.'; add --separator .";
    }
    if (array.path.starts_with(".z") || array.path.find("/.z") != std::string_view::npos) {
      return "readers of Parquet references take names that begin with .z for metadata";
    }
    if (array.grid.size() > kMaxPlaces) {
      return fmt::format(
          "{} chunks exceed the limit of {} for Parquet references; use --out FILE.json",
          array.grid.size(), kMaxPlaces);
    }
    return "";
  }

  Result<void> AddDocument(std::string_view key, std::string_view text) override {
    if (key == kMetadata) return {};  // this class writes its own .zmetadata
    documents_ += fmt::format("{}\n{}: {}", documents_.empty() ? "" : ",", JsonText(key),
                              InsideJson(text, JsonEncoding::kAscii));
    return {};
  }

  Result<bool> AddFile(std::string_view /*key*/, const Reference& /*reference*/) override {
    return false;
  }

  Result<void> BeginArray(const ReferencedArray& array) override {
    array_folder_ = fs::path(folder_) / array.path;
    begin_ = documents_.size();
    places_ = array.grid.size();
    std::error_code error;
    fs::create_directories(array_folder_, error);
    if (!error) return {};
    return Fail(FromErrno(error.value()), "{}: {}", array_folder_.string(), error.message());
  }

  Result<void> AddChunk(InnerIndex chunk, const Reference& reference) override {
    const uint64_t record = ToNumber(chunk) / kRecordSize;
    if (record != record_) {
      if (auto done = EndRecord(); !done) return done;
      record_ = record;
    }
    FillUpTo(ToNumber(chunk) % kRecordSize);
    auto& [path, offset, size, raw] = columns_;
    path.texts.emplace_back(reference.bytes ? std::nullopt : std::optional(reference.url));
    offset.integers.push_back(static_cast<int64_t>(reference.offset));
    size.integers.push_back(static_cast<int64_t>(reference.length));
    raw.texts.push_back(reference.bytes ? std::optional(*reference.bytes) : std::nullopt);
    return {};
  }

  Result<void> EndArray() override { return EndRecord(); }

  Result<void> DropArray() override {
    documents_.resize(begin_);
    for (ParquetColumn& column : columns_) Clear(column);
    RemoveOwnFiles(array_folder_.string(), IsOwn);
    return {};
  }

  Result<void> Finish() override {
    auto written = WriteFile(folder_, fmt::format("{}/{}", folder_, kMetadata),
                             fmt::format("{{\n\"zarr_consolidated_format\": 1,\n\"metadata\": "
                                         "{{{}\n}},\n\"record_size\": {}\n}}\n",
                                         documents_, kRecordSize));
    is_finished_ = written.has_value();
    return written;
  }

 private:
  // True for the names of files that this class writes for an array: "refs.12.parq" and unfinished
  // files.
  static bool IsOwn(std::string_view name) {
    return (name.starts_with("refs.") && name.ends_with(".parq")) || IsPartialFile(name);
  }

  static void Clear(ParquetColumn& column) {
    column.integers.clear();
    column.texts.clear();
  }

  // Adds rows of nulls for the missing chunks before row `row`.
  void FillUpTo(uint64_t row) {
    auto& [path, offset, size, raw] = columns_;
    path.texts.resize(row);
    offset.integers.resize(row);
    size.integers.resize(row);
    raw.texts.resize(row);
  }

  Result<void> EndRecord() {
    if (columns_.front().size() == 0) return {};
    // Some readers expect a full-length table, so it is padded with nulls.
    FillUpTo(std::min(kRecordSize, places_ - record_ * kRecordSize));
    const auto table = MakeParquet({columns_.begin(), columns_.end()});
    if (!table) return Fail(table);
    for (ParquetColumn& column : columns_) Clear(column);
    return WriteFile(folder_, array_folder_ / fmt::format("refs.{}.parq", record_), *table);
  }

  using Type = ParquetColumn::Type;
  const std::string folder_;
  std::string documents_;  // the members of a JSON object
  fs::path array_folder_;
  size_t begin_ = 0;     // the offset in documents_ where the array begins
  uint64_t places_ = 0;  // the number of chunks in the grid
  uint64_t record_ = 0;
  std::array<ParquetColumn, 4> columns_ = {ParquetColumn{"path", Type::kText},
                                           {"offset", Type::kInteger},
                                           {"size", Type::kInteger},
                                           {"raw", Type::kBytes}};
  bool is_finished_ = false;
};

}  // namespace

Result<std::unique_ptr<ReferenceWriter>> OpenParquetReferences(const std::string& folder) {
  return std::make_unique<ParquetReferences>(folder);
}

}  // namespace zarrfs::ctl
