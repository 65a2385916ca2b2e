#include "tools/zarrctl/describe.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tools/zarrctl/output.h"
#include "zarrcore/base/size_text.h"
#include "zarrcore/codec/zstd_frame.h"
#include "zarrcore/content/chunk_check.h"
#include "zarrcore/hierarchy/whole_files.h"

namespace zarrfs::ctl {
namespace {

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (!value.is_array()) return Excerpt(value);
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + Excerpt(element);
  return text;
}

// The members of a codec's configuration that are worth printing.
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

// Returns the member `order` of the .zarray that a view shows, "C" or "F"; "" in views without
// .zarray.
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

std::string LeftOut(const ChunkEncoding& encoding) {
  const uint64_t front = encoding.cut_front;
  const uint64_t back = encoding.cut_back;
  const std::string how = WhatIsChecked(encoding);
  if (front == 0 && back == 0) return "chunks as they are";
  if (front == 0)
    return fmt::format("chunks without their last {} bytes (checksum, {})", back, how);
  if (back == 0) {
    return fmt::format("chunks without their first {} bytes (checksum, {})", front, how);
  }
  return fmt::format("chunks without their first {} and last {} bytes (checksums, {})", front, back,
                     how);
}

const ArrayView kNoChunks;  // used for arrays whose chunks do not have files of their own

// Returns why a view hides the array; "" if the view shows the array.
std::string WhyNotShown(const Node& array, size_t view) {
  const NodeView& shown = array.views[view];
  if (shown.hidden) return shown.hidden->message;
  const std::string name(NameOf(array.path));
  if (!array.path.empty() && !Hierarchy::Shows(array, name, view)) {
    return fmt::format("the name '{}' means something else to its readers", name);
  }
  const bool is_in_file = AllViews()[view]->file_of() != FileOf::kNothing;
  return shown.array || shown.has_texts || is_in_file ? "" : "no array";
}

// Describes how a view shows an array of variable-length strings: as strings of a fixed length.
ViewSummary DescribeTexts(const Hierarchy& hierarchy, const Node& array, size_t view) {
  ViewSummary summary;
  const auto file = WholeFiles(hierarchy).Assemble(array.path, view, kAnyAge);
  if (!file || (*file)->file.document.empty()) {
    summary.reason = file ? (*file)->file.notes.front()
                          : fmt::format("its strings cannot be read: {}", file.error().message);
    summary.text = "not shown: " + summary.reason;
    return summary;
  }
  summary.shown = &kNoChunks;
  summary.serving = "transcoded";
  summary.example = array.views[view].documents[kTextChunk].name;
  summary.text = fmt::format(
      "transcoded: strings of up to {}, in one chunk, named {}",
      CountText((*file)->file.parts.front().form.item_size() / 4, "character"), summary.example);
  return summary;
}

struct Serving {
  std::string_view word;
  std::string_view text;
};

Result<Serving> ServingOf(const ChunkEncoding& encoding, const ChunkLocation& location) {
  const uint64_t cut = encoding.cut_front + encoding.cut_back;
  if (encoding.kind == ChunkEncoding::Kind::kDecoded)
    return Serving{"transcoded", "the stored chunk, decoded"};
  if (encoding.kind == ChunkEncoding::Kind::kPatchedZstd && location.length >= cut) {
    const auto serving = ServeZstd(
        location.length - cut, encoding.size == 0 ? std::nullopt : std::optional(encoding.size),
        [&](uint64_t at, std::span<std::byte> to) {
          return location.shard->object->Read(location.offset + encoding.cut_front + at, to);
        });
    if (!serving) return Fail(serving);
    if (serving->kind == ZstdServing::Kind::kPatch) {
      return Serving{"patched", "the stored chunk, its zstd frame patched to state its size"};
    }
    if (serving->kind == ZstdServing::Kind::kRecode) {
      return Serving{"recompressed", "the stored chunk, recompressed as one zstd frame"};
    }
  }
  if (cut > 0) return Serving{"cut", "the stored chunk without its checksum"};
  return Serving{"exact", "the stored chunk as it is"};
}

}  // namespace

std::string WhatIsChecked(const ChunkEncoding& encoding) {
  if (encoding.checksums.empty()) return "";
  return ChunkCheck::CanCheck(encoding, UINT64_MAX)
             ? "checked"
             : fmt::format("checked in chunks of up to {}", SizeText(ChunkCheck::kMaxReread));
}

std::string WhatIsCheckedOfShards(const ArrayLayout& layout) {
  const bool has_checksum = std::ranges::any_of(
      layout.levels, [](const ShardingLevel& level) { return level.trailing_checksum > 0; });
  if (!has_checksum) return "";
  return fmt::format("checked up to {}", SizeText(ChunkCheck::kMaxShard));
}

std::string DescribeCodecs(const std::vector<CodecSpec>& codecs) {
  std::vector<std::string> texts;
  texts.reserve(codecs.size());
  for (const CodecSpec& codec : codecs) texts.push_back(codec.name + Parameters(codec));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string DescribeShape(std::span<const uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string DescribeOuterShape(const ArrayMetadata& metadata) {
  return (metadata.chunk_edges.empty() ? "" : "up to ") + DescribeShape(metadata.chunk_shape);
}

std::vector<uint64_t> CoordinatesOf(uint64_t chunk, const ChunkGrid& grid) {
  ChunkCoordinates at;
  grid.Coordinates(chunk, at);
  return {at.data(), at.data() + grid.rank()};
}

std::string ChunkName(uint64_t chunk, const ChunkGrid& grid) {
  return ChunkNaming{}.Path(CoordinatesOf(chunk, grid));
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

ViewSummary DescribeView(const Hierarchy& hierarchy, const Node& array, size_t view) {
  ViewSummary summary;
  summary.reason = WhyNotShown(array, view);
  if (!summary.reason.empty()) {
    summary.text = "not shown: " + summary.reason;
    return summary;
  }
  const NodeView& shown = array.views[view];
  if (const FileOf file_of = AllViews()[view]->file_of(); file_of != FileOf::kNothing) {
    summary.shown = &kNoChunks;
    summary.serving = "assembled";
    summary.text = file_of == FileOf::kArrays ? "assembled: one file of all chunks, in order C"
                                              : "assembled: a variable in the file of its group";
    return summary;
  }
  if (shown.has_texts) return DescribeTexts(hierarchy, array, view);
  summary.shown = &*shown.array;
  const ChunkEncoding& encoding = shown.array->encoding;
  const bool is_decoded = encoding.kind == ChunkEncoding::Kind::kDecoded;
  const bool is_cut = encoding.cut_front + encoding.cut_back > 0;
  summary.serving = is_decoded ? "transcoded" : is_cut ? "cut" : "exact";
  summary.example = shown.array->naming.Path(std::vector<uint64_t>(array.array()->rank(), 0));
  const std::string order = MemoryOrder(shown);
  summary.text = fmt::format(
      "{}: {}{}{}, named {}{}", summary.serving, is_decoded ? "chunks decoded" : LeftOut(encoding),
      order.empty() ? "" : ", order ", order, summary.example,
      summary.has_fill_chunks() ? ", those not stored made of the fill value" : "");
  for (const std::string& note : shown.array->notes) summary.text += "; " + note;
  return summary;
}

Result<ViewFile> DescribeViewFile(const TargetChunk& chunk,
                                  const std::optional<ChunkLocation>& location) {
  ViewFile file;
  file.view = AllViews()[*chunk.view]->name();
  struct stat status {};
  if (stat(chunk.file.c_str(), &status) == 0) {
    file.size = static_cast<uint64_t>(status.st_size);
  } else if (errno != ENOENT && errno != ENOTDIR) {
    file.failure = ErrnoText(errno);
    file.text = fmt::format("cannot be read through the mount: {}", *file.failure);
    return file;
  }
  const auto& array = chunk.array.node->views[*chunk.view].array;
  if (!file.size) {
    file.text = "no file of this name";
    if (array && location) {
      file.text += fmt::format("; the chunk is called {}", array->naming.Path(chunk.at));
    }
    return file;
  }
  Serving serving{"fill", "made of the fill value: not stored"};
  if (chunk.array.node->views[*chunk.view].has_texts) {
    serving = {"transcoded", "the strings of all chunks, as items of one size"};
  } else if (!location && array && array->fill_chunk == nullptr) {
    serving = {"", "but the store has no such chunk; it may have just been removed"};
  } else if (location && array) {
    const auto served = ServingOf(array->encoding, *location);
    if (!served) return Fail(served);
    serving = *served;
  }
  file.serving = serving.word;
  file.text = fmt::format("{}, {}", CountText(*file.size, "byte"), serving.text);
  return file;
}

std::string FileOfNode(const Hierarchy& hierarchy, const Node& node, size_t view,
                       const Names& siblings) {
  const View& shown = *AllViews()[view];
  const FileOf of = shown.file_of();
  const bool is_array = node.array() != nullptr;
  const bool is_made = of == FileOf::kArrays ? is_array
                                             : of == FileOf::kGroups &&
                                                   (node.group() != nullptr || node.path.empty());
  if (!is_made || node.unusable() != nullptr || (is_array && node.views[view].hidden)) return "";
  std::string own = std::string(NameOf(node.path)) + std::string(shown.suffix());
  // The file has another name only if a sibling of the node is called `own`. The store is read only
  // in that case.
  if (!node.path.empty() && !std::ranges::binary_search(siblings, own)) return own;
  return WholeFiles(hierarchy).Name(node.path, view, kAnyAge).value_or("");
}

}  // namespace zarrfs::ctl
