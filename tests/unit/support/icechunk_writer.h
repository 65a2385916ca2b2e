// Writes the files of an Icechunk repository for tests, uncompressed. Tests can also write files
// that no other writer makes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "icechunk_generated.h"
#include "zarrcore/icechunk/icechunk_file.h"
#include "zarrcore/icechunk/object_id.h"

namespace zarrfs {

/// An id whose bytes are all `fill`.
inline IcechunkId IcechunkIdOf(uint8_t fill) {
  IcechunkId id{};
  id.fill(fill);
  return id;
}

inline std::string IcechunkHeader(IcechunkFileType type, uint8_t version = 1,
                                  uint8_t compression = 0) {
  std::string header = "ICE\xF0\x9F\xA7\x8A";
  header += "CHUNK";
  header += "tests                   ";
  for (const auto byte : {version, static_cast<uint8_t>(type), compression}) {
    header += static_cast<char>(byte);
  }
  return header;
}

struct WrittenReference {
  std::vector<uint32_t> index;
  uint8_t chunk = 0;  // see IcechunkIdOf(); 0 for an inline or virtual chunk
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string inlined = {};
  std::string location = {};
  std::string etag = {};
  uint32_t modified = 0;
  std::string compressed_location = {};
};

struct WrittenNode {
  std::string path;
  std::string document = {};
  uint8_t id = 0;
  bool is_array = false;
  uint32_t rank = 0;
  /// For each manifest the number of its id (IcechunkIdOf()), and begin and end on each axis.
  std::vector<std::pair<uint8_t, std::vector<std::pair<uint32_t, uint32_t>>>> boxes = {};
};

class IcechunkWriter {
 public:
  static std::string Snapshot(uint8_t id, const std::vector<WrittenNode>& nodes) {
    IcechunkWriter writer;
    auto& builder = writer.builder_;
    std::vector<flatbuffers::Offset<icechunk::Node>> all;
    for (const WrittenNode& node : nodes) all.push_back(writer.Node(node));
    const auto stored_id = writer.Id(id);
    const auto stored_nodes = builder.CreateVector(all);
    const auto message = builder.CreateString("a commit");
    const auto metadata = builder.CreateVector(std::vector<flatbuffers::Offset<icechunk::Item>>());
    const auto manifests = builder.CreateVectorOfStructs(std::vector<icechunk::ManifestSize>());
    constexpr uint64_t kTime = 1'600'000'000'000'000;
    builder.Finish(icechunk::CreateSnapshot(builder, &stored_id, nullptr, stored_nodes, kTime,
                                            message, metadata, manifests));
    return writer.File(IcechunkFileType::kSnapshot);
  }

  using Arrays = std::vector<std::pair<uint8_t, std::vector<WrittenReference>>>;
  static std::string Manifest(uint8_t id, const Arrays& arrays, std::string_view dictionary = {}) {
    IcechunkWriter writer;
    auto& builder = writer.builder_;
    std::vector<flatbuffers::Offset<icechunk::ArrayReferences>> all;
    for (const auto& [node, references] : arrays) {
      std::vector<flatbuffers::Offset<icechunk::Reference>> stored;
      for (const WrittenReference& reference : references) {
        stored.push_back(writer.Reference(reference));
      }
      const auto node_id = writer.NodeId(node);
      all.push_back(
          icechunk::CreateArrayReferences(builder, &node_id, builder.CreateVector(stored)));
    }
    const auto stored_id = writer.Id(id);
    const auto stored_arrays = builder.CreateVector(all);
    const auto stored_dictionary = writer.Bytes(dictionary);
    builder.Finish(icechunk::CreateManifest(builder, &stored_id, stored_arrays, stored_dictionary));
    return writer.File(IcechunkFileType::kManifest);
  }

  /// Names, and the indexes of the snapshots to which they lead.
  using Refs = std::vector<std::pair<std::string, uint32_t>>;
  static std::string Repo(const Refs& branches, const Refs& tags,
                          const std::vector<uint8_t>& snapshots, uint8_t availability = 0) {
    IcechunkWriter writer;
    auto& builder = writer.builder_;
    const auto stored_refs = [&](const Refs& refs) {
      std::vector<flatbuffers::Offset<icechunk::Ref>> stored;
      for (const auto& [name, number] : refs) {
        stored.push_back(icechunk::CreateRef(builder, builder.CreateString(name), number));
      }
      return builder.CreateVector(stored);
    };
    const auto all_branches = stored_refs(branches);
    const auto all_tags = stored_refs(tags);
    const auto deleted = builder.CreateVectorOfStrings({});
    std::vector<flatbuffers::Offset<icechunk::SnapshotRow>> rows;
    for (const uint8_t snapshot : snapshots) {
      const auto id = writer.Id(snapshot);
      rows.push_back(
          icechunk::CreateSnapshotRow(builder, &id, -1, 0, builder.CreateString("a commit")));
    }
    const auto all_rows = builder.CreateVector(rows);
    const auto status = icechunk::CreateStatus(builder, availability, 0,
                                               builder.CreateString("moved to another bucket"));
    builder.Finish(
        icechunk::CreateRepo(builder, 2, all_tags, all_branches, deleted, all_rows, status));
    return writer.File(IcechunkFileType::kRepo, 2);
  }

 private:
  static icechunk::Id12 Id(uint8_t fill) {
    icechunk::Id12 id;
    std::memset(static_cast<void*>(&id), fill, sizeof id);
    return id;
  }
  static icechunk::Id8 NodeId(uint8_t fill) {
    icechunk::Id8 id;
    std::memset(static_cast<void*>(&id), fill, sizeof id);
    return id;
  }

  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> Bytes(std::string_view bytes) {
    return builder_.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }

  flatbuffers::Offset<icechunk::Node> Node(const WrittenNode& node) {
    std::vector<flatbuffers::Offset<icechunk::ManifestBox>> boxes;
    for (const auto& [manifest, extents] : node.boxes) {
      std::vector<icechunk::Interval> intervals;
      for (const auto& [begin, end] : extents) intervals.emplace_back(begin, end);
      const auto id = Id(manifest);
      boxes.push_back(
          icechunk::CreateManifestBox(builder_, &id, builder_.CreateVectorOfStructs(intervals)));
    }
    const auto array = [&] {
      const auto shape =
          builder_.CreateVectorOfStructs(std::vector<icechunk::AxisV1>(node.rank, {10, 1}));
      return icechunk::CreateArrayNode(builder_, shape, 0, builder_.CreateVector(boxes)).Union();
    };
    const auto kind = node.is_array ? array() : icechunk::CreateGroupNode(builder_).Union();
    const auto id = NodeId(node.id);
    return icechunk::CreateNode(
        builder_, &id, builder_.CreateString(node.path), Bytes(node.document),
        node.is_array ? icechunk::NodeKind::Array : icechunk::NodeKind::Group, kind);
  }

  flatbuffers::Offset<icechunk::Reference> Reference(const WrittenReference& reference) {
    const auto id = Id(reference.chunk);
    const auto index = builder_.CreateVector(reference.index);
    const bool is_virtual = !reference.location.empty() || !reference.compressed_location.empty();
    const bool is_inline = reference.chunk == 0 && !is_virtual;
    const auto inlined =
        is_inline ? Bytes(reference.inlined) : flatbuffers::Offset<flatbuffers::Vector<uint8_t>>();
    const auto location = reference.location.empty() ? flatbuffers::Offset<flatbuffers::String>()
                                                     : builder_.CreateString(reference.location);
    const auto etag = reference.etag.empty() ? flatbuffers::Offset<flatbuffers::String>()
                                             : builder_.CreateString(reference.etag);
    const auto compressed = reference.compressed_location.empty()
                                ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>()
                                : Bytes(reference.compressed_location);
    return icechunk::CreateReference(builder_, index, inlined, reference.offset, reference.length,
                                     reference.chunk == 0 ? nullptr : &id, location, etag,
                                     reference.modified, compressed);
  }

  std::string File(IcechunkFileType type, uint8_t version = 1) {
    return IcechunkHeader(type, version)
        .append(reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize());
  }

  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace zarrfs
