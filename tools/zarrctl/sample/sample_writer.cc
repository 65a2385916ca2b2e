#include "tools/zarrctl/sample/sample_writer.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <variant>

#include "tools/zarrctl/output_file.h"
#include "tools/zarrctl/shard_file.h"
#include "zarrcore/array/chunk_grid.h"
#include "zarrcore/array/chunk_naming.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/store/store.h"

namespace zarrfs::ctl {
namespace {

using Shape = std::vector<uint64_t>;

Json RegularGrid(const Shape& chunk) {
  return {{"name", "regular"}, {"configuration", {{"chunk_shape", chunk}}}};
}

const Shape& ObjectShape(const SampleArray& array) {
  return array.shard.empty() ? array.chunk : array.shard;
}

// The codecs of a chunk.
std::vector<CodecSpec> CodecsOf(const SampleArray& array) {
  return {{"bytes", Json{{"endian", "little"}}}, array.compressor};
}

Json DocumentOf(const SampleArray& array) {
  Json chain = ToJson(CodecsOf(array));
  if (!array.shard.empty()) {
    const std::vector<CodecSpec> index = {{"bytes", Json{{"endian", "little"}}}, {"crc32c"}};
    chain = ToJson({{"sharding_indexed", Json{{"chunk_shape", array.chunk},
                                              {"codecs", chain},
                                              {"index_codecs", ToJson(index)},
                                              {"index_location", "end"}}}});
  }
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", array.shape},
          {"data_type", array.type},
          {"chunk_grid", RegularGrid(ObjectShape(array))},
          {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
          {"fill_value", array.fill},
          {"codecs", chain},
          {"attributes", array.attributes},
          {"dimension_names", array.dimensions}};
}

// Moves `at` to the next position, in C order, in a box of the shape `box`. False after the last
// position.
bool Advance(Shape& at, const Shape& box) {
  for (size_t d = box.size(); d-- > 0;) {
    if (++at[d] < box[d]) return true;
    at[d] = 0;
  }
  return false;
}

// Returns the elements of the chunk at `start`, with fill values beyond the edge of the array.
Bytes ChunkAt(const SampleArray& array, const Shape& start, const FillBytes& fill) {
  Bytes chunk;
  Shape at(array.chunk.size(), 0);
  do {
    uint64_t element = 0;
    bool is_inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const uint64_t index = start[d] + at[d];
      is_inside = is_inside && index < array.shape[d];
      element = element * array.shape[d] + index;
    }
    const BytesView bytes =
        is_inside ? BytesView(array.values).subspan(element * fill.size(), fill.size()) : fill;
    chunk.insert(chunk.end(), bytes.begin(), bytes.end());
  } while (Advance(at, array.chunk));
  return chunk;
}

bool IsOnly(const FillBytes& fill, BytesView chunk) {
  for (size_t i = 0; i < chunk.size(); i += fill.size()) {
    if (!std::ranges::equal(chunk.subspan(i, fill.size()), fill)) return false;
  }
  return true;
}

// Returns the bytes of a shard, or of a chunk in an array without shards. Empty if all elements are
// the fill value.
Result<Bytes> MakeObject(const SampleArray& array, std::span<const uint64_t> object,
                         const FillBytes& fill, const Pipeline& encoder) {
  const auto slots = ChunkGrid::Make(ObjectShape(array), array.chunk);
  if (!slots) return Fail(slots);
  Bytes bytes;
  std::vector<ChunkRange> ranges(slots->size(), kMissingChunk);
  for (uint64_t slot = 0; slot < slots->size(); ++slot) {
    ChunkCoordinates in_object;
    slots->Coordinates(slot, in_object);
    Shape start;
    for (size_t d = 0; d < object.size(); ++d) {
      start.push_back(object[d] * ObjectShape(array)[d] + in_object[d] * array.chunk[d]);
    }
    const Bytes chunk = ChunkAt(array, start, fill);
    if (IsOnly(fill, chunk)) continue;
    const auto encoded = encoder.Encode(chunk);
    if (!encoded) return Fail(encoded);
    ranges[slot] = {bytes.size(), encoded->size()};
    bytes.insert(bytes.end(), encoded->begin(), encoded->end());
  }
  if (bytes.empty() || array.shard.empty()) return bytes;
  const Bytes index = EncodeShardIndex(ranges);
  bytes.insert(bytes.end(), index.begin(), index.end());
  return bytes;
}

std::string_view AsText(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<void> SampleWriter::Write(const std::string& key, std::string_view bytes) const {
  const std::filesystem::path file = std::filesystem::path(folder_) / key;
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) return Fail(FromErrno(error.value()), "{}: {}", file.string(), error.message());
  return WriteFile(folder_, file.string(), bytes);
}

Result<void> SampleWriter::AddGroup(const std::string& path, const Json& attributes) {
  std::string document =
      DumpJson(Json{{"zarr_format", 3}, {"node_type", "group"}, {"attributes", attributes}});
  if (path.empty()) {
    const std::vector<Document> root = {{std::string(kZarrJson), document}};
    std::vector<NodeBelow> nodes = {{"", root}};
    for (const auto& [below, documents] : nodes_) nodes.push_back({below, documents});
    return Write(std::string(kZarrJson), AllViews()[*ViewNumber("v3")]->Consolidate(nodes));
  }
  nodes_.push_back({path, {{std::string(kZarrJson), document}}});
  return Write(JoinKey(path, kZarrJson), document);
}

Result<void> SampleWriter::AddArray(const std::string& path, const SampleArray& array) {
  const std::string document = DumpJson(DocumentOf(array));
  const auto metadata = ParseZarrJson(document, path);
  if (!metadata) return Fail(metadata);
  const auto& parsed = std::get<ArrayMetadata>(*metadata);
  if (auto written = WriteObjects(path, array, parsed); !written) return written;
  nodes_.push_back({path, {{std::string(kZarrJson), document}}});
  return Write(JoinKey(path, kZarrJson), document);
}

Result<void> SampleWriter::WriteObjects(const std::string& path, const SampleArray& array,
                                        const ArrayMetadata& metadata) const {
  const auto encoder = Pipeline::Make(CodecsOf(array), {metadata.data_type, array.chunk});
  if (!encoder) return Fail(encoder);
  const auto objects = ChunkGrid::Make(array.shape, ObjectShape(array));
  if (!objects) return Fail(objects);
  const ChunkNaming naming = ChunkNaming::Of(metadata.key_encoding);
  for (uint64_t number = 0; number < objects->size(); ++number) {
    ChunkCoordinates at;
    objects->Coordinates(number, at);
    const auto coordinates = std::span<const uint64_t>(at).first(objects->rank());
    const auto object = MakeObject(array, coordinates, metadata.fill_value, *encoder);
    if (!object) return Fail(object);
    if (object->empty()) continue;
    auto written = Write(JoinKey(path, naming.Path(coordinates)), AsText(*object));
    if (!written) return written;
  }
  return {};
}

}  // namespace zarrfs::ctl
