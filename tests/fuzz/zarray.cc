// Input: the text of a .zarray, a NUL, the text of a .zattrs. Without a NUL there is no .zattrs.
// The same texts are read as a .zgroup with its .zattrs.
#include <memory>
#include <optional>
#include <string>

#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/views.h"

namespace zarrfs {
namespace {

void ReadV2(std::string_view rest) {
  const bool has_zattrs = rest.find('\0') != std::string_view::npos;
  const NamedText document{".zarray", CutAt(rest, std::string_view("\0", 1))};
  std::optional<NamedText> zattrs;
  if (has_zattrs) zattrs = NamedText{".zattrs", rest};

  StoredDocuments documents{.is_v2 = true, .document = std::string(document.text)};
  if (zattrs) documents.zattrs = std::string(zattrs->text);
  const auto stored = std::make_shared<const StoredDocuments>(std::move(documents));

  auto array = ParseZarray(document, zattrs);
  if (array) {
    ShowEverywhere(*array);
  } else {
    array = ParseZarrayGrid(document, array.error());
  }
  if (array) {
    array->stored = stored;
    ShowEverywhere(*array);
  }
  if (auto group = ParseZgroup(document, zattrs)) {
    group->stored = stored;
    ShowEverywhere(*group);
  }
}

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zarrfs::ReadV2(zarrfs::Text(data, size));
  return 0;
}
