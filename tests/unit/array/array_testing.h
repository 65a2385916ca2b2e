// Arrays and shards built by hand for the tests of array/ and view/.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zarrcore/array/layout.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {

inline constexpr uint64_t kNoEntry = ~uint64_t{0};

inline std::string Little64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

/// `bytes` followed by their crc32c.
inline std::string WithCrc32c(std::string bytes) {
  const uint32_t sum = Crc32c(std::as_bytes(std::span(bytes)));
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(sum >> (8 * i) & 0xff);
  return bytes;
}

/// A shard index with these pairs of offset and length, encoded as little-endian bytes and crc32c.
inline std::string IndexBytes(const std::vector<std::pair<uint64_t, uint64_t>>& entries) {
  std::string bytes;
  for (const auto& [offset, length] : entries) bytes += Little64(offset) + Little64(length);
  return WithCrc32c(bytes);
}

using Chunks = std::vector<std::optional<std::string>>;

/// A shard with the chunks in reverse order, and its index at the end or at the start.
inline std::string ShardBytes(const Chunks& chunks, bool at_end = true) {
  std::vector<std::pair<uint64_t, uint64_t>> entries(chunks.size(), {kNoEntry, kNoEntry});
  std::string data;
  const uint64_t before = at_end ? 0 : 16 * chunks.size() + 4;
  for (size_t i = chunks.size(); i-- > 0;) {
    if (!chunks[i]) continue;
    entries[i] = {before + data.size(), chunks[i]->size()};
    data += *chunks[i];
  }
  return at_end ? data + IndexBytes(entries) : IndexBytes(entries) + data;
}

inline constexpr std::string_view kBytesCodec =
    R"({"name": "bytes", "configuration": {"endian": "little"}})";
inline constexpr std::string_view kGzipCodec = R"({"name": "gzip", "configuration": {"level": 1}})";

/// A sharding codec. `inner`: its codecs; `more`: further members of its configuration.
inline std::string Sharding(std::string_view chunk_shape, std::string_view inner,
                            std::string_view more = "") {
  return fmt::format(
      R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": {}, "codecs": [{}],
          "index_codecs": [{}, {{"name": "crc32c"}}]{}{}}}}})",
      chunk_shape, inner, kBytesCodec, more.empty() ? "" : ", ", more);
}

/// The zarr.json of an array of uint8, with the given members added or replaced.
inline std::string ArrayText(std::string_view shape, std::string_view chunk_shape,
                             std::string_view codecs, std::string_view members = "{}") {
  Json json = *ParseJson(fmt::format(R"({{"zarr_format": 3, "node_type": "array", "shape": {},
          "data_type": "uint8",
          "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {}}}}},
          "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{}]}})",
                                     shape, chunk_shape, codecs),
                         "literal");
  const Json changes = *ParseJson(members, "literal");
  for (const auto& [name, value] : changes.items()) json[name] = value;
  return DumpJson(json);
}

inline ArrayMetadata ParsedArray(std::string_view text) {
  auto node = ParseZarrJson(text, "zarr.json");
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  if (!node || !std::holds_alternative<ArrayMetadata>(*node)) return {};
  return std::get<ArrayMetadata>(*node);
}

/// Members for ArrayText(): a rectilinear grid.
inline std::string Rectilinear(std::string_view chunk_shapes) {
  return fmt::format(R"({{"chunk_grid": {{"name": "rectilinear", "configuration":
          {{"kind": "inline", "chunk_shapes": {}}}}}}})",
                     chunk_shapes);
}

inline ArrayMetadata Array(std::string_view shape, std::string_view chunk_shape,
                           std::string_view codecs, std::string_view members = "{}") {
  return ParsedArray(ArrayText(shape, chunk_shape, codecs, members));
}

inline ArrayLayout LayoutOf(const ArrayMetadata& metadata) {
  auto layout = MakeArrayLayout(metadata);
  EXPECT_TRUE(layout) << (layout ? "" : layout.error().message);
  return layout ? std::move(*layout) : ArrayLayout{};
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace zarrfs
