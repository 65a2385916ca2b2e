#include <filesystem>
#include <utility>

#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/refs/reference_writer.h"
#include "zarrcore/metadata/base64.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/store/store.h"

namespace zarrfs::ctl {
namespace {

class JsonReferences final : public ReferenceWriter {
 public:
  JsonReferences(OutputFile out, std::string file) : out_(std::move(out)), file_(std::move(file)) {}

  bool needs_order() const override { return false; }
  std::string WhyNot(const ReferencedArray& /*array*/) const override { return ""; }

  Result<void> AddDocument(std::string_view key, std::string_view text) override {
    return AddMember(JsonText(key), JsonText(text));
  }

  Result<bool> AddFile(std::string_view key, const Reference& reference) override {
    return AddMember(JsonText(key), Value(reference)).map([] { return true; });
  }

  Result<void> BeginArray(const ReferencedArray& array) override {
    array_ = &array;
    begin_ = out_.size();
    begin_comma_ = comma_;
    quoted_folder_ = JsonText(array.path.empty() ? "" : std::string(array.path) + "/");
    quoted_folder_.pop_back();  // removes the closing quote; names of chunks need no escapes
    return {};
  }

  Result<void> AddChunk(InnerIndex chunk, const Reference& reference) override {
    array_->grid.Coordinates(ToNumber(chunk), at_);
    return AddMember(
        quoted_folder_ + array_->naming.Path(std::span(at_).first(array_->grid.rank())) + '"',
        Value(reference));
  }

  Result<void> EndArray() override { return {}; }
  Result<void> DropArray() override {
    comma_ = begin_comma_;
    return out_.ShrinkTo(begin_);
  }

  Result<void> Finish() override {
    if (const auto ended = out_.Append("\n}\n}\n"); !ended) return ended;
    return out_.CommitAs(file_);
  }

 private:
  Result<void> AddMember(const std::string& key, const std::string& value) {
    line_ = comma_;
    line_.append(key).append(": ").append(value);
    comma_ = ",\n";
    return out_.Append(line_);
  }

  std::string Value(const Reference& reference) {
    if (reference.bytes != nullptr) {
      return "\"base64:" + EncodeBase64(std::as_bytes(std::span(*reference.bytes))) + '"';
    }
    if (reference.url != url_) {
      url_ = reference.url;
      quoted_url_ = JsonText(url_);
    }
    return fmt::format("[{}, {}, {}]", quoted_url_, reference.offset, reference.length);
  }

  OutputFile out_;
  const std::string file_;
  const char* comma_ = "{\n\"version\": 1,\n\"refs\": {\n";
  const ReferencedArray* array_ = nullptr;
  uint64_t begin_ = 0;  // the offset in out_ where the array begins
  const char* begin_comma_ = nullptr;
  std::string quoted_folder_;  // without the closing quote
  ChunkCoordinates at_{};
  std::string url_, quoted_url_;  // the URL of the previous chunk
  std::string line_;
};

}  // namespace

Result<std::unique_ptr<ReferenceWriter>> OpenJsonReferences(const std::string& file) {
  auto out = OutputFile::Create(std::filesystem::path(file).parent_path().string());
  if (!out) return Fail(out);
  return std::make_unique<JsonReferences>(std::move(*out), file);
}

}  // namespace zarrfs::ctl
