#include "tools/zarrctl/page/array_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "tools/zarrctl/describe.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/overview.h"
#include "tools/zarrctl/page/html.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kMaxAttributes = 40;
constexpr size_t kMaxFactLength = 300;
constexpr size_t kMaxFactNameLength = 100;
constexpr size_t kLargestValue = size_t{64} << 10;  // in bytes of memory; larger values are omitted

std::string FactText(const Json& value) {
  if (const std::string* text = TextOf(value)) return Shortened(*text, kMaxFactLength);
  if (MemoryOf(value) > kLargestValue) return fmt::format("{} values", value.size());
  // Joins the lines of the JSON into one line.
  std::string line;
  for (const char c : DumpJson(value, JsonEncoding::kUtf8)) {
    if (c == '\n') continue;
    if (c == ' ' && line.ends_with(' ')) continue;
    line += c;
  }
  return Shortened(line, kMaxFactLength);
}

std::string DimensionsFact(const ArrayMetadata& metadata) {
  if (!metadata.dimension_names) return "";
  std::vector<std::string> names;
  for (size_t i = 0; i < metadata.rank(); ++i) {
    names.push_back(fmt::format(
        "{} {}", Shortened((*metadata.dimension_names)[i].value_or("-"), kMaxFactNameLength),
        metadata.shape[i]));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string SizesText(const ArrayMetadata& metadata, const StoredChunks* stored) {
  const std::string decoded = DecodedSizeText(metadata);
  std::string text = decoded.empty() ? "" : decoded + " decoded";
  if (stored == nullptr) return text;
  return fmt::format("{}{}{}{} stored", text, text.empty() ? "" : ", ",
                     stored->has_all_sizes ? "" : "at least ", SizeText(stored->bytes));
}

std::optional<double> NumberAttribute(const Json& attributes, std::string_view name) {
  const Json& json = MemberOrNull(attributes, name);
  return json.is_number() ? std::optional(json.get<double>()) : std::nullopt;
}

}  // namespace

Facts FactsOf(const Node& array, const StoredChunks* stored) {
  const ArrayMetadata& metadata = *array.array();
  Facts facts;
  const auto add = [&](std::string name, std::string text) {
    if (!text.empty()) facts.emplace_back(std::move(name), std::move(text));
  };
  add("type", Shortened(metadata.data_type.name, kMaxFactLength));
  add("shape", DescribeShape(metadata.shape));
  add("dimensions", DimensionsFact(metadata));
  if (array.chunks == nullptr) {
    add("chunks", DescribeOuterShape(metadata));
    add("codecs", Shortened(DescribeCodecs(metadata.codecs), kMaxFactLength));
    return facts;
  }
  const ArrayLayout& layout = array.chunks->layout();
  add("chunks", fmt::format("{}, {} in all", DescribeShape(layout.inner_chunk_shape),
                            GroupedText(layout.inner_grid.size())));
  if (layout.is_sharded()) {
    add("shards", fmt::format("{}, {} in all", DescribeOuterShape(metadata),
                              GroupedText(layout.outer_grid.size())));
  }
  add("codecs", Shortened(DescribeCodecs(layout.inner_codecs), kMaxFactLength));
  add("size", SizesText(metadata, stored));
  add("fill value", FactText(FillValueJson(metadata)));
  if (array.is_v2()) add("format", "Zarr v2");
  return facts;
}

Facts AttributesOf(const Json& attributes) {
  Facts facts;
  if (!attributes.is_object()) return facts;
  for (const auto& [name, value] : attributes.items()) {
    if (facts.size() == kMaxAttributes) {
      facts.emplace_back("…", fmt::format("{} more", attributes.size() - kMaxAttributes));
      break;
    }
    facts.emplace_back(Shortened(name, kMaxFactNameLength), FactText(value));
  }
  return facts;
}

std::string TextAttribute(const Json& attributes, std::string_view name) {
  const std::string* text = TextOf(MemberOrNull(attributes, name));
  return text == nullptr ? "" : Shortened(*text, kMaxFactLength);
}

std::string Unpacked(const Json& attributes, const std::string& least,
                     const std::string& greatest) {
  const auto scale = NumberAttribute(attributes, "scale_factor");
  const auto offset = NumberAttribute(attributes, "add_offset");
  if ((!scale && !offset) || least.empty()) return "";
  const auto unpack = [&](const std::string& text) {
    double number = std::nan("");
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number * scale.value_or(1) + offset.value_or(0);
  };
  const double a = unpack(least);
  const double b = unpack(greatest);
  return fmt::format("with scale_factor and add_offset: {:.6g} to {:.6g}", std::fmin(a, b),
                     std::fmax(a, b));
}

}  // namespace zarrfs::ctl
