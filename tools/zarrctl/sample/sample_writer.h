// SampleWriter: writes a small store of Zarr v3 with shards.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "zarrcore/base/byte_order.h"
#include "zarrcore/base/result.h"
#include "zarrcore/codec/codec.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs::ctl {

/// Returns the bytes of elements in C order, little-endian.
template <typename T>
[[nodiscard]] Bytes ToBytes(const std::vector<T>& elements) {
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, Wide>;
  static_assert(sizeof(T) == sizeof(Bits));
  Bytes bytes(elements.size() * sizeof(T));
  std::byte* to = bytes.data();
  for (const T element : elements) {
    StoreLittle(to, std::bit_cast<Bits>(element));
    to += sizeof(T);
  }
  return bytes;
}

struct SampleArray {
  std::string type;  // such as "int16"
  std::vector<uint64_t> shape;
  // The shape of a shard in elements; empty for an array without shards.
  std::vector<uint64_t> shard = {};
  std::vector<uint64_t> chunk;
  std::vector<std::string> dimensions;
  Json fill = 0;
  Json attributes = Json::object();
  CodecSpec compressor = {"zstd", Json{{"level", 3}, {"checksum", false}}};
  Bytes values;  // the result of ToBytes() for all elements
};

class SampleWriter {
 public:
  /// `folder`: the absolute path of the store's folder, which must exist.
  explicit SampleWriter(std::string folder) : folder_(std::move(folder)) {}

  /// Adds a group. Groups and arrays may be added in any order, except that the group at "" must be
  /// the last one, because it completes the store.
  [[nodiscard]] Result<void> AddGroup(const std::string& path, const Json& attributes);
  /// Adds an array. Chunks with only fill values are not stored.
  [[nodiscard]] Result<void> AddArray(const std::string& path, const SampleArray& array);

 private:
  [[nodiscard]] Result<void> Write(const std::string& key, std::string_view bytes) const;
  [[nodiscard]] Result<void> WriteObjects(const std::string& path, const SampleArray& array,
                                          const ArrayMetadata& metadata) const;

  std::string folder_;
  std::vector<std::pair<std::string, std::vector<Document>>> nodes_;  // the nodes below the root
};

}  // namespace zarrfs::ctl
