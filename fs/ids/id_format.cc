#include "fs/ids/id_format.h"

#include <string_view>
#include <variant>

#include "fs/ids/id_journal.h"
#include "fs/ids/node_table.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/base/digest.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs {
namespace {

constexpr std::string_view kGroup =
    R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata":
        {"kind": "inline", "must_understand": false, "metadata": {}}})";

std::string ArrayOf(std::string_view type, std::string_view fill_value, std::string_view codec) {
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "{}",
          "fill_value": {}, "codecs": [{{"name": "{}"}}],
          "chunk_key_encoding": {{"name": "default"}},
          "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1]}}}}}})",
      type, fill_value, codec);
}

// Appends the number of `documents` and their names to the documents of `ids`. The number
// distinguishes a kind of node (`of`) without documents in the view.
void AddNames(std::string_view of, const std::vector<Document>& documents, ViewIds& ids) {
  ids.documents.push_back(fmt::format("{}: {}", of, documents.size()));
  for (const Document& document : documents) ids.documents.push_back(document.name);
}

void AddArray(std::string_view of, const std::string& text, const View& view, ViewIds& ids) {
  const auto node = ParseZarrJson(text, of);
  const auto* const array = node ? std::get_if<ArrayMetadata>(&*node) : nullptr;
  const auto layout = array != nullptr ? MakeArrayLayout(*array)
                                       : Fail(ErrorCode::kUnsupported, "{} is no array", of);
  const auto shown = layout ? view.ShowArray(*array, *layout, {}) : Fail(layout);
  AddNames(of, shown ? shown->documents : std::vector<Document>(), ids);
}

}  // namespace

std::vector<ViewIds> IdsOfViews() {
  const auto group = ParseZarrJson(kGroup, "group");
  std::vector<ViewIds> views;
  for (const View* const view : AllViews()) {
    ViewIds& ids = views.emplace_back();
    ids.name = view->name();
    if (group) {
      const auto& metadata = std::get<GroupMetadata>(*group);
      AddNames("group", view->ShowGroup(metadata, {}).documents, ids);
      ids.documents.emplace_back(view->ConsolidatedName(metadata));
    }
    AddArray("array", ArrayOf("uint8", "0", "bytes"), *view, ids);
    AddArray("texts", ArrayOf("string", "\"\"", "vlen-utf8"), *view, ids);
  }
  return views;
}

uint64_t IdFormatOf(uint64_t block, std::span<const ViewIds> views) {
  DigestBuilder all;
  for (const uint64_t number : {IdJournal::kLayout, IdJournal::kFirstPosition, block,
                                uint64_t{kConsolidatedDocument}, uint64_t{views.size()}}) {
    all.Add(number);
  }
  for (const ViewIds& view : views) {
    all.Add(view.name);
    all.Add(uint64_t{view.documents.size()});
    for (const std::string& document : view.documents) all.Add(document);
  }
  return DigestHash{}(all.Finish());
}

uint64_t IdFormat() {
  static const uint64_t format = IdFormatOf(NodeRecord::kBlock, IdsOfViews());
  return format;
}

}  // namespace zarrfs
