#include "tools/zarrctl/describe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace zarrfs::ctl {
namespace {

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (!value.is_array()) return Excerpt(value);
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + Excerpt(element);
  return text;
}

// The members of a codec's configuration that people ask for.
std::string Parameters(const CodecSpec& codec) {
  constexpr std::array<std::string_view, 4> kShown = {"endian", "order", "cname", "level"};
  std::vector<std::string> values;
  for (const auto& [key, value] : codec.configuration.items()) {
    const bool is_shown = std::ranges::find(kShown, key) != kShown.end() ||
                          (codec.name == "blosc" && (key == "clevel" || key == "shuffle"));
    if (is_shown) values.push_back(ValueText(value));
  }
  return values.empty() ? "" : fmt::format("({})", fmt::join(values, ", "));
}

// "C" or "F", as the v2 document has it; empty in other views.
std::string MemoryOrder(const NodeView& view) {
  for (const Document& document : view.documents) {
    if (document.name != ".zarray") continue;
    const auto zarray = ParseJson(document.bytes, document.name);
    if (!zarray) continue;
    const auto order = zarray->find("order");
    if (order != zarray->end() && order->is_string()) return order->get<std::string>();
  }
  return "";
}

std::string LeftOut(uint64_t front, uint64_t back) {
  if (front == 0 && back == 0) return "chunks as they are";
  if (front == 0) return fmt::format("chunks without their last {} bytes (checksum)", back);
  if (back == 0) return fmt::format("chunks without their first {} bytes (checksum)", front);
  return fmt::format("chunks without their first {} and last {} bytes (checksums)", front, back);
}

}  // namespace

std::string DescribeCodecs(const std::vector<CodecSpec>& codecs) {
  std::vector<std::string> texts;
  for (const CodecSpec& codec : codecs) texts.push_back(codec.name + Parameters(codec));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string DescribeShape(std::span<const uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string ChunkName(uint64_t chunk, const ChunkGrid& grid) {
  ChunkCoordinates at;
  grid.Coordinates(chunk, at);
  return ChunkNaming{}.Path({at.data(), grid.rank()});
}

Json FillValueJson(const ArrayMetadata& metadata) {
  if (metadata.data_type.is_core()) return FillValueToV3(metadata.fill_value, metadata.data_type);
  const auto found = metadata.document.find("fill_value");
  return found == metadata.document.end() ? Json() : *found;
}

std::string NodeType(const Node& node) {
  if (node.array() != nullptr) return "array";
  return node.group() != nullptr ? "group" : "unusable";
}

ViewSummary DescribeView(const Node& array, size_t view) {
  const NodeView& shown = array.views[view];
  const std::string name = array.path.substr(array.path.rfind('/') + 1);
  ViewSummary summary;
  if (shown.hidden) {
    summary.reason = shown.hidden->message;
  } else if (!array.path.empty() && !Hierarchy::Shows(array, name, view)) {
    summary.reason = fmt::format("the name '{}' means something else to its readers", name);
  } else if (!shown.array) {
    summary.reason = "no array";
  } else {
    const ArrayView& how = *shown.array;
    const std::vector<uint64_t> first(array.array()->rank(), 0);
    summary.shown = true;
    const ChunkEncoding& encoding = how.encoding;
    const bool is_decoded = encoding.kind == ChunkEncoding::Kind::kDecoded;
    const bool is_cut = encoding.cut_front + encoding.cut_back > 0;
    summary.serving = is_decoded ? "transcoded" : is_cut ? "cut" : "exact";
    summary.cut_front = encoding.cut_front;
    summary.cut_back = encoding.cut_back;
    summary.has_fill_chunks = how.fill_chunk != nullptr;
    summary.example = how.naming.Path(first);
    const std::string order = MemoryOrder(shown);
    summary.text =
        fmt::format("{}: {}{}{}, named {}{}", summary.serving,
                    is_decoded ? "chunks decoded" : LeftOut(encoding.cut_front, encoding.cut_back),
                    order.empty() ? "" : ", order ", order, summary.example,
                    summary.has_fill_chunks ? ", those not stored made of the fill value" : "");
    for (const std::string& note : how.notes) summary.text += "; " + note;
    return summary;
  }
  summary.text = "not shown: " + summary.reason;
  return summary;
}

}  // namespace zarrfs::ctl
