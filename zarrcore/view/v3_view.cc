#include "zarrcore/view/v3_view.h"

#include <algorithm>
#include <utility>

#include "zarrcore/metadata/nczarr.h"
#include "zarrcore/metadata/ome.h"
#include "zarrcore/view/pass_through.h"
#include "zarrcore/view/v3_spelling.h"

namespace zarrfs {
namespace {

constexpr std::string_view kDocumentName = "zarr.json";

Json KeyEncodingJson(const ChunkKeyEncoding& encoding) {
  Json json;
  json["name"] = encoding.kind == ChunkKeyEncoding::Kind::kV2 ? "v2" : "default";
  json["configuration"]["separator"] = std::string(1, encoding.separator);
  return json;
}

// True if the stored structs have big-endian fields. zarr-python 3 reads all fields as
// little-endian, and no Zarr v3 codec describes structs with fields of both byte orders.
bool HasForeignOrder(const DataType& type, std::span<const CodecSpec> codecs) {
  if (type.kind != DataKind::kStruct || type.byte_order_unit() == 1) return false;
  return std::ranges::any_of(codecs, [](const CodecSpec& codec) {
    return codec.name == kMixedEndian ||
           (codec.name == "bytes" && MemberOrNull(codec.configuration, "endian") == "big");
  });
}

class V3ViewImplementation final : public View {
 public:
  std::string_view name() const override { return "v3"; }
  std::string_view readers() const override { return "readers of Zarr v3 that lack sharding"; }

  Result<ArrayView> ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                              const ViewContext& context) const override {
    if (metadata.grid_only) return tl::unexpected(*metadata.grid_only);
    ArrayView view;
    ChunkKeyEncoding encoding = metadata.key_encoding;
    if (context.forced_separator != '\0') encoding.separator = context.forced_separator;
    view.naming.prefix_c = encoding.kind == ChunkKeyEncoding::Kind::kDefault;
    view.naming.separator = encoding.separator;

    // Starts with the stored zarr.json, so unknown members and the order of members are kept.
    Json json = metadata.document;
    json["zarr_format"] = 3;
    json["shape"] = metadata.shape;
    json.erase("extensions");  // a member of the 2022 drafts; a list with entries was refused
    // Removes members that are null. Some writers write null for a missing member, but few readers
    // accept it.
    for (const char* member : {"attributes", "dimension_names", "storage_transformers"}) {
      if (const auto found = json.find(member); found != json.end() && found->is_null()) {
        json.erase(found);
      }
    }
    const bool needs_names = metadata.is_stored_as_v2() && !context.keeps_ome &&
                             !context.axes.empty() && context.axes.size() == metadata.rank();
    if (needs_names && !json.contains("dimension_names")) {
      json["dimension_names"] = std::vector(context.axes.begin(), context.axes.end());
    }
    Json grid;
    grid["name"] = "regular";
    grid["configuration"]["chunk_shape"] = layout.inner_chunk_shape;
    json["chunk_grid"] = std::move(grid);
    json["chunk_key_encoding"] = KeyEncodingJson(encoding);
    const DataType& type = metadata.data_type;
    json["codecs"] = ToJson(InTodaysSpelling(layout.inner_codecs, metadata.rank(), type));
    if (HasForeignOrder(type, layout.inner_codecs)) {
      if (!layout.inner_pipeline) return Fail(layout.inner_pipeline);
      const uint64_t size = layout.inner_pipeline->decoded_size();
      if (size > kMaxChunkBytes) {
        return Fail(ErrorCode::kUnsupported,
                    "chunks of {} bytes exceed the limit of {} for decoding", size, kMaxChunkBytes);
      }
      view.encoding.kind = ChunkEncoding::Kind::kDecoded;
      view.encoding.size = size;
      json["codecs"] =
          Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}});
    }
    json["data_type"] = DataTypeInTodaysSpelling(type);
    json["fill_value"] =
        FillValueInTodaysSpelling(MemberOrNull(json, "fill_value"), metadata.fill_value, type);
    if (metadata.is_stored_as_v2() && json.contains("attributes")) {
      json["attributes"] = WithoutNczarr(std::move(json["attributes"]));
    }
    // The stored zarr.json is shown unchanged if it means the same. That of a sharded array never
    // does, because chunk grid and codecs differ.
    const bool passes = metadata.stored && !metadata.stored->is_v2 && metadata.notes.empty() &&
                        MeansTheSame(json, metadata.document);
    view.documents.push_back(
        {std::string(kDocumentName), passes ? metadata.stored->document : DumpJson(json)});
    return view;
  }

  std::string_view ArrayDocumentName() const override { return kDocumentName; }

  bool shows_files() const override { return true; }

  GroupView ShowGroup(const GroupMetadata& metadata, const ViewContext& context) const override {
    Json json = metadata.document;
    if (!json.is_object()) json = Json{{"zarr_format", 3}, {"node_type", "group"}};
    std::vector<std::string> notes;
    if (metadata.is_stored_as_v2() && !context.keeps_ome && !metadata.attributes.empty()) {
      auto shown = AsOme05(metadata.attributes, {context.below_ome, context.group_name});
      json["attributes"] = std::move(shown.attributes);
      notes = std::move(shown.notes);
    }
    if (metadata.is_stored_as_v2() && json.contains("attributes")) {
      json["attributes"] = WithoutNczarr(std::move(json["attributes"]));
    }
    if (!metadata.is_stored_as_v2() && !context.keeps_ome) {
      auto shown = Ome06AsOme05(metadata.attributes);
      notes = std::move(shown.notes);
      if (shown.attributes != metadata.attributes) json["attributes"] = std::move(shown.attributes);
    }
    // The stored zarr.json of a group is shown unchanged even if its "consolidated_metadata" is
    // null. Some writers write null if there are no consolidated metadata, and readers accept it.
    const bool is_changed = metadata.consolidated_metadata != Json::value_t::null ||
                            json.contains("extensions") || !metadata.notes.empty() ||
                            (!notes.empty() && json != metadata.document);
    json["zarr_format"] = 3;
    if (MemberOrNull(json, "attributes").is_null()) json.erase("attributes");
    json.erase("extensions");
    if (metadata.stored && !metadata.stored->is_v2 && !is_changed) {
      return {{{std::string(kDocumentName), metadata.stored->document}}, std::move(notes)};
    }
    return {{{std::string(kDocumentName), DumpJson(json)}}, std::move(notes)};
  }

  // A group that is stored with consolidated metadata is shown with consolidated metadata. Readers
  // that open a group through consolidated metadata would otherwise find no nodes.
  std::string_view ConsolidatedName(const GroupMetadata& metadata) const override {
    return metadata.consolidated_metadata == Json::value_t::object ? kDocumentName : "";
  }

  // Writes the format that the core specification describes in "Consolidated metadata".
  std::string Consolidate(std::span<const NodeBelow> nodes) const override {
    std::string text = nodes.front().documents.front().bytes;
    text.resize(text.rfind('}'));
    while (text.ends_with('\n')) text.pop_back();
    text +=
        ",\n\"consolidated_metadata\": {\n\"kind\": \"inline\",\n\"must_understand\": false,\n"
        "\"metadata\": {";
    std::string_view comma;
    for (const NodeBelow& node : nodes.subspan(1)) {
      text += fmt::format("{}\n{}: {}", comma, JsonText(node.path),
                          InsideJson(node.documents.front().bytes, JsonEncoding::kUtf8));
      comma = ",";
    }
    return text + "\n}\n}\n}\n";
  }

  bool AllowsNodeName(std::string_view node) const override { return node != kDocumentName; }
};

}  // namespace

const View& V3View() {
  static const V3ViewImplementation view;
  return view;
}

}  // namespace zarrfs
