// ReferenceModel: a store of Zarr, and what a mount of it has to show, worked out the plain way.
//
// The model writes each change to a FakeStore and remembers it. From that it says which names each
// folder of each view has and what is in each file. It uses nothing of zarrcore/view and fs/, and
// holds no state but the store's: what it says depends on what is stored now, not on how it came.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/support/fake_store.h"
#include "tests/unit/tree/netcdf_reader.h"
#include "zarrcore/base/crc32c.h"
#include "zarrcore/codec/registry.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::model {

enum View : size_t { kV2, kV3, kGdal, kNetcdf, kNpy, kJava, kNc };
inline constexpr std::array<std::string_view, 7> kViews = {"v2",  "v3",   "gdal", "netcdf",
                                                           "npy", "java", "nc"};

/// The suffix of the files that a view makes of nodes; "" if it makes none.
inline std::string_view SuffixOf(size_t view) {
  return view == kNpy ? ".npy" : view == kNc ? ".nc" : "";
}
inline bool HasFilesOfNodes(size_t view) { return !SuffixOf(view).empty(); }
inline constexpr std::string_view kNameOfStore = "fake";  // FakeStore::name()

/// Where a step may put a group or an array.
inline constexpr std::array<std::string_view, 9> kPaths = {"",    "a",   "b",   ".d",   "g",
                                                           "g/a", "g/b", "g/h", "g/h/a"};

enum class Codec { kNone, kCrc32c, kZstd };
using Extents = std::vector<uint64_t>;

struct ArrayKind {
  bool is_v2;
  bool is_sharded;
  Extents shape, stored_chunk, chunk;
  bool has_default_keys;  // of chunks: "c/0/1", else "0/1"
  char separator;
  Codec codec;
  int fill;
  bool has_dimension_names = false;
  /// Of stored objects that differ: their lengths along each axis, the last one for all that
  /// follow; stored_chunk is the largest.
  std::vector<Extents> edges = {};
};

inline const std::vector<ArrayKind>& ArrayKinds() {
  static const std::vector<ArrayKind> kinds = {
      {false, true, {10}, {4}, {2}, true, '/', Codec::kNone, 0},
      {false, true, {7, 9}, {4, 6}, {2, 3}, true, '.', Codec::kNone, 7},
      {false, true, {3, 4, 5}, {2, 2, 4}, {1, 2, 2}, true, '/', Codec::kZstd, 0},
      {false, false, {}, {}, {}, true, '/', Codec::kNone, 7},
      {true, false, {}, {}, {}, false, '.', Codec::kNone, 0},
      {true, false, {5, 5}, {2, 3}, {2, 3}, false, '.', Codec::kNone, 0},
      {true, false, {5, 4}, {2, 3}, {2, 3}, false, '/', Codec::kZstd, 3},
      {false, false, {6}, {4}, {4}, false, '.', Codec::kNone, 0, true},
      {false, true, {8, 8}, {8, 4}, {4, 2}, false, '/', Codec::kCrc32c, 0, true},
      {false, false, {2, 3, 4}, {1, 2, 2}, {1, 2, 2}, true, '/', Codec::kNone, 0},
      {false, true, {20}, {10}, {5}, true, '.', Codec::kCrc32c, 0},
      {false, true, {6, 6}, {6, 6}, {3, 3}, true, '/', Codec::kZstd, 3},
      {false, true, {}, {}, {}, true, '.', Codec::kNone, 0},
      {false, true, {9000}, {6000}, {3000}, true, '/', Codec::kNone, 0},
      {false, true, {12}, {6}, {2}, true, '/', Codec::kNone, 0, false, {{4, 6, 2}}},
      {false, true, {7, 9}, {4, 6}, {2, 3}, true, '.', Codec::kNone, 0, false, {{4, 2}, {3, 6, 3}}},
      {false, true, {6, 8}, {6, 4}, {2, 2}, false, '/', Codec::kCrc32c, 7, false, {{2, 6}, {4}}},
  };
  return kinds;
}

/// Groups: v3, v3 with consolidated metadata, v2, v2 with consolidated metadata.
inline constexpr size_t kGroupKinds = 4;

struct Node {
  std::optional<ArrayKind> array;
  bool is_v2 = false;
  bool is_consolidated = false;  // a group that the store says is
  int attributes = 0;            // {"n": attributes}; below 0: none
  bool is_broken = false;        // its document is half written
  uint64_t document_version = 0;
  uint64_t layout_version = 0;  // of what its chunks are called, where they lie and how large
  struct Object {
    bool is_damaged = false;
    std::string stored;                       // what a damaged one holds
    std::map<Extents, std::string> elements;  // by coordinates of chunks: as decoded
  };
  std::map<Extents, Object> objects;  // by coordinates
};

/// What is in a file.
struct File {
  enum class Kind {
    kDocument,
    kBytes,       // exactly these
    kZstd,        // a frame of these
    kUnreadable,  // reading it fails, at some place
    kNetcdf,      // the arrays of a group
  };
  Kind kind = Kind::kDocument;
  std::string bytes;
};

/// All that one view has of one node, by path below the node's folder.
struct Shown {
  std::map<std::string, File> files;
  std::set<std::string> chunk_folders;
  std::map<std::string, std::set<std::string>> names;  // by folder; "" is the node's own
};

struct ModelOptions {
  size_t only_view = kViews.size();  // at the root; else one folder a view
  char separator = 0;
  bool keeps_fill = false;   // fill=keep
  bool consolidates = true;  // consolidated_max is not 0
  bool is_cdf5 = false;      // nc=5
};

// --- Writing -------------------------------------------------------------------------------------

inline std::string ToText(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

inline uint64_t Product(const Extents& extents) {
  uint64_t product = 1;
  for (const uint64_t extent : extents) product *= extent;
  return product;
}

/// Calls `visit` for all coordinates below `counts`, the last axis fastest.
template <typename Visit>
void ForEach(const Extents& counts, Visit visit) {
  Extents at(counts.size());
  for (uint64_t left = Product(counts); left > 0; --left) {
    visit(std::as_const(at));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < counts[d]) break;
      at[d] = 0;
    }
  }
}

inline Extents Divided(const Extents& a, const Extents& b, bool up) {
  Extents quotient(a.size());
  for (size_t d = 0; d < a.size(); ++d) quotient[d] = (a[d] + (up ? b[d] - 1 : 0)) / b[d];
  return quotient;
}

/// The chunks of a stored object that may be there.
struct Block {
  Extents first;
  Extents counts;
};
inline Block BlockOf(const ArrayKind& array, const Extents& at) {
  Block block{at, Divided(array.stored_chunk, array.chunk, false)};
  for (size_t d = 0; d < at.size(); ++d) {
    block.first[d] *= block.counts[d];
    if (array.edges.empty()) continue;
    const Extents& edges = array.edges[d];
    const auto length = [&](uint64_t i) { return edges[std::min(i, edges.size() - 1)]; };
    uint64_t begin = 0;
    for (uint64_t i = 0; i < at[d]; ++i) begin += length(i);
    block.first[d] = begin / array.chunk[d];
    block.counts[d] = length(at[d]) / array.chunk[d];
  }
  return block;
}

inline std::string KeyOf(const Extents& at, bool has_c, char separator) {
  std::string key = has_c ? "c" : "";
  if (at.empty() && !has_c) return "0";
  for (const uint64_t coordinate : at) {
    if (!key.empty()) key += separator;
    key += std::to_string(coordinate);
  }
  return key;
}

inline std::string AttributesText(int attributes) {
  return attributes < 0 ? "{}" : fmt::format(R"({{"n": {}, "unit": "K"}})", attributes);
}

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string WithCrc32c(const std::string& bytes) {
  return bytes + LittleEndian(Crc32c(std::as_bytes(std::span(bytes))), 4);
}

inline const BytesToBytesCodec& Zstd() {
  static const auto codec = *MakeZstdCodec(CodecSpec{"zstd", Json::object()});
  return *codec;
}

inline Bytes ToBytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string Encode(const std::string& elements, Codec codec) {
  if (codec == Codec::kCrc32c) return WithCrc32c(elements);
  if (codec == Codec::kNone) return elements;
  const Bytes frame = *Zstd().Encode(ToBytes(elements));
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

inline std::string CodecsText(Codec codec) {
  std::string text = R"({"name": "bytes"})";
  if (codec == Codec::kCrc32c) text += R"(, {"name": "crc32c"})";
  if (codec == Codec::kZstd) {
    text += R"(, {"name": "zstd", "configuration": {"level": 0, "checksum": false}})";
  }
  return text;
}

inline std::string GridText(const ArrayKind& array) {
  if (array.edges.empty()) {
    return fmt::format(R"({{"name": "regular", "configuration": {{"chunk_shape": {}}}}})",
                       ToText(array.stored_chunk));
  }
  std::vector<std::string> axes;
  for (const Extents& edges : array.edges) {
    std::string lengths;
    for (size_t i = 0; i + 1 < edges.size(); ++i) lengths += fmt::format("{}, ", edges[i]);
    axes.push_back(fmt::format("[{}[{}, 100000]]", lengths, edges.back()));
  }
  return fmt::format(R"({{"name": "rectilinear", "configuration": {{"kind": "inline",
"chunk_shapes": [{}]}}}})",
                     fmt::join(axes, ", "));
}

inline std::string ArrayText(const Node& node) {
  const ArrayKind& array = *node.array;
  if (array.is_v2) {
    return fmt::format(
        R"({{"zarr_format": 2, "shape": {}, "chunks": {}, "dtype": "|u1", "compressor": {},
"fill_value": {}, "order": "C", "filters": null, "dimension_separator": "{}"}})",
        ToText(array.shape), ToText(array.chunk),
        array.codec == Codec::kZstd ? R"({"id": "zstd", "level": 0})" : "null", array.fill,
        array.separator);
  }
  std::string codecs = CodecsText(array.codec);
  if (array.is_sharded) {
    codecs = fmt::format(
        R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": {}, "codecs": [{}],
"index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}},
{{"name": "crc32c"}}], "index_location": "end"}}}})",
        ToText(array.chunk), codecs);
  }
  std::string names;
  for (size_t d = 0; array.has_dimension_names && d < array.shape.size(); ++d) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", "xyz"[d]);
  }
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "array", "shape": {}, "data_type": "uint8",
"chunk_grid": {},
"chunk_key_encoding": {{"name": "{}", "configuration": {{"separator": "{}"}}}},
"fill_value": {}, "codecs": [{}], "attributes": {}{}}})",
      ToText(array.shape), GridText(array), array.has_default_keys ? "default" : "v2",
      array.separator, array.fill, codecs, AttributesText(node.attributes),
      names.empty() ? "" : fmt::format(", \"dimension_names\": [{}]", names));
}

inline std::string GroupText(const Node& node) {
  if (node.is_v2) return R"({"zarr_format": 2})";
  return fmt::format(
      R"({{"zarr_format": 3, "node_type": "group", "attributes": {}{}}})",
      AttributesText(node.attributes),
      node.is_consolidated
          ? R"(, "consolidated_metadata": {"kind": "inline", "must_understand": false,
"metadata": {}})"
          : "");
}

inline std::string DocumentName(const Node& node) {
  if (!node.is_v2) return "zarr.json";
  return node.array ? ".zarray" : ".zgroup";
}

inline std::string DocumentText(const Node& node) {
  return node.array ? ArrayText(node) : GroupText(node);
}

/// The bytes of a stored object of the array.
inline std::string ObjectBytes(const ArrayKind& array, const Extents& at,
                               const Node::Object& object) {
  if (object.is_damaged) return object.stored;
  if (!array.is_sharded) return Encode(object.elements.begin()->second, array.codec);
  const Block block = BlockOf(array, at);
  std::string data;
  std::string index;
  ForEach(block.counts, [&](const Extents& local) {
    Extents chunk = block.first;
    for (size_t d = 0; d < at.size(); ++d) chunk[d] += local[d];
    const auto found = object.elements.find(chunk);
    const bool is_there = found != object.elements.end();
    const std::string encoded = is_there ? Encode(found->second, array.codec) : "";
    index += LittleEndian(is_there ? data.size() : ~uint64_t{0}, 8);
    index += LittleEndian(is_there ? encoded.size() : ~uint64_t{0}, 8);
    data += encoded;
  });
  return data + WithCrc32c(index);
}

// --- Showing -------------------------------------------------------------------------------------

// Whether it has no folder.
inline bool IsHidden(std::string_view path, const Node& node, size_t view) {
  if (HasFilesOfNodes(view)) return node.array.has_value();
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (view == kNetcdf && name.starts_with('.')) return true;
  return node.array && (view == kGdal || view == kNetcdf || view == kJava) &&
         std::ranges::find(node.array->shape, 0) != node.array->shape.end();
}

/// Whether chunks that are not stored have files.
inline bool HasFillFiles(const ArrayKind& array, size_t view, const ModelOptions& options) {
  // (What .zarray calls the fill value is what its readers mask: none is made up for them.)
  if (options.keeps_fill || view == kV3 || view == kJava || array.is_v2) return false;
  if (view == kV2) return array.shape.empty() || array.has_dimension_names;
  return array.fill != 0;
}

/// The extents of a chunk in a file of the view: netCDF-C knows no padding.
inline Extents FileChunk(const ArrayKind& array, size_t view) {
  Extents extents = array.chunk;
  for (size_t d = 0; d < extents.size() && view == kNetcdf; ++d) {
    extents[d] = std::min(extents[d], std::max<uint64_t>(array.shape[d], 1));
  }
  return extents;
}

inline std::string Cut(const std::string& elements, const Extents& chunk, const Extents& to) {
  if (chunk == to) return elements;
  std::string cut;
  ForEach(to, [&](const Extents& at) {
    uint64_t linear = 0;
    for (size_t d = 0; d < at.size(); ++d) linear = linear * chunk[d] + at[d];
    cut += elements[linear];
  });
  return cut;
}

// Whether compressed chunks are passed on.
inline bool KeepsZstd(size_t view) { return view != kNetcdf && view != kJava; }

inline File ChunkFile(const ArrayKind& array, size_t view, const std::string& elements) {
  const bool is_as_stored = view == kV3 || (view == kV2 && array.is_v2);
  const Extents extents = FileChunk(array, view);
  const bool is_zstd = array.codec == Codec::kZstd && KeepsZstd(view);
  if (is_as_stored || is_zstd) return {File::Kind::kBytes, Encode(elements, array.codec)};
  return {File::Kind::kBytes, Cut(elements, array.chunk, extents)};
}

inline File FillFile(const ArrayKind& array, size_t view) {
  const std::string elements(Product(FileChunk(array, view)), static_cast<char>(array.fill));
  const bool is_zstd = array.codec == Codec::kZstd && KeepsZstd(view);
  return {is_zstd ? File::Kind::kZstd : File::Kind::kBytes, elements};
}

inline File DamagedFile(const ArrayKind& array, size_t view, const std::string& stored) {
  if (array.is_v2 && view == kV2) return {File::Kind::kBytes, stored};
  return {File::Kind::kUnreadable, ""};
}

inline std::string ChunkPath(const ArrayKind& array, size_t view, const Extents& at,
                             const ModelOptions& options) {
  char separator = array.separator;
  if (view != kV3 && array.has_default_keys) separator = '.';
  if (options.separator != 0) separator = options.separator;
  return KeyOf(at, view == kV3 && array.has_default_keys, separator);
}

// All elements, in C order.
inline std::string ElementsOf(const Node& node) {
  const ArrayKind& array = *node.array;
  std::string all(Product(array.shape), static_cast<char>(array.fill));
  for (const auto& [at, object] : node.objects) {
    for (const auto& [chunk, elements] : object.elements) {
      size_t read = 0;
      ForEach(array.chunk, [&, &first = chunk, &from = elements](const Extents& local) {
        const char element = from[read++];
        uint64_t linear = 0;
        for (size_t d = 0; d < local.size(); ++d) {
          const uint64_t index = first[d] * array.chunk[d] + local[d];
          if (index >= array.shape[d]) return;
          linear = linear * array.shape[d] + index;
        }
        all[linear] = element;
      });
    }
  }
  return all;
}

// The array in a file of numpy's.
inline File NpyFile(const Node& node) {
  const ArrayKind& array = *node.array;
  std::string text = fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}{}), }}",
                                 fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  text.resize(128 - 10 - 1, ' ');
  return {File::Kind::kBytes, std::string("\x93NUMPY\1\0", 8) + LittleEndian(text.size() + 1, 2) +
                                  text + '\n' + ElementsOf(node)};
}

// --- Files of NetCDF -----------------------------------------------------------------------------

inline NetcdfAttributes NetcdfAttributesOf(int attributes) {
  if (attributes < 0) return {};
  const std::string number = std::string(3, '\0') + static_cast<char>(attributes);
  return {{"n", {kNcInt, number}}, {"unit", {kNcChar, "K"}}};
}

// Elements as values of the file: CDF-2 has no unsigned bytes.
inline std::string NetcdfValues(const std::string& elements, bool is_cdf5) {
  if (is_cdf5) return elements;
  std::string values;
  for (const char element : elements) (values += '\0') += element;
  return values;
}

/// The arrays of a group that its file can hold, by name. A file has one dimension of length 0.
inline std::map<std::string, const Node*> ArraysInFile(
    const std::map<std::string, const Node*>& arrays) {
  std::map<std::string, const Node*> held;
  std::optional<bool> records_are_named;
  for (const auto& [name, node] : arrays) {
    const Extents& shape = node->array->shape;
    if (const auto zeros = std::ranges::count(shape, 0); zeros > 0) {
      if (shape.front() != 0 || zeros > 1) continue;
      if (!records_are_named) records_are_named = node->array->has_dimension_names;
      if (*records_are_named != node->array->has_dimension_names) continue;
    }
    held.emplace(name.starts_with('.') ? "_" + name : name, node);
  }
  return held;
}

/// What is wrong with the variable of an array; "" if nothing is.
inline std::string CheckVariable(const NetcdfVariable& variable, const Node& node, bool is_cdf5) {
  const ArrayKind& array = *node.array;
  const uint32_t type = is_cdf5 ? kNcUbyte : kNcShort;
  if (variable.type != type) return "type";
  if (variable.dimensions.size() != array.shape.size()) return "rank";
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const NetcdfDimension& dimension = variable.dimensions[d];
    if (dimension.length != array.shape[d]) return "shape";
    const std::string with_length = fmt::format(
        "{}_{}", array.has_dimension_names ? std::string(1, "xyz"[d]) : fmt::format("dim_{}", d),
        array.shape[d]);
    const bool is_plain = array.has_dimension_names && dimension.name == std::string(1, "xyz"[d]);
    if (!is_plain && dimension.name != with_length) return "dimension " + dimension.name;
  }
  NetcdfAttributes attributes = NetcdfAttributesOf(node.attributes);
  if (array.is_v2) {
    const std::string fill(1, static_cast<char>(array.fill));
    attributes["_FillValue"] = {type, NetcdfValues(fill, is_cdf5)};
  }
  if (variable.attributes != attributes) return "attributes";
  return variable.values == NetcdfValues(ElementsOf(node), is_cdf5) ? "" : "values";
}

/// What is wrong with the file of a group; "" if nothing is.
inline std::string CheckNetcdfFile(const std::string& text, const Node& group,
                                   const std::map<std::string, const Node*>& arrays, bool is_cdf5) {
  NetcdfFile file;
  if (auto wrong = NetcdfReader::Read(text, file); !wrong.empty()) return wrong;
  if (file.version != (is_cdf5 ? 5 : 2)) return fmt::format("CDF-{}", file.version);
  if (file.attributes != NetcdfAttributesOf(group.attributes)) return "attributes";
  std::map<std::string, const Node*> left = ArraysInFile(arrays);
  for (const NetcdfVariable& variable : file.variables) {
    const auto node = left.extract(variable.name);
    if (node.empty()) return variable.name + ": no such array";
    if (auto wrong = CheckVariable(variable, *node.mapped(), is_cdf5); !wrong.empty()) {
      return variable.name + ": " + wrong;
    }
  }
  return left.empty() ? "" : "no variable " + left.begin()->first;
}

// --- The model -----------------------------------------------------------------------------------

class ReferenceModel {
 public:
  ReferenceModel(FakeStore& store, const ModelOptions& options)
      : store_(store), options_(options) {}

  [[nodiscard]] const Node* Find(std::string_view path) const {
    const auto found = nodes_.find(std::string(path));
    return found == nodes_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool WasEver(std::string_view path) const {
    return ever_.contains(std::string(path));
  }
  [[nodiscard]] uint64_t changes() const { return changes_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  /// Some document is half written.
  [[nodiscard]] bool IsBroken() const {
    return std::ranges::any_of(nodes_, [](const auto& node) { return node.second.is_broken; });
  }

  // Changes. Each does nothing where it has no meaning.

  void PutNode(const std::string& path, size_t kind) {
    if (!path.empty() && !IsGroup(ParentOf(path))) return;
    if (path.empty()) kind = kind % kGroupKinds;  // the root stays a group, with what lies below
    if (path.empty()) {
      RemoveDocuments();
    } else {
      Forget(path);
      store_.Remove(path);
    }
    Node& node = nodes_[path];
    node.array.reset();
    if (kind % (kGroupKinds + ArrayKinds().size()) < kGroupKinds) {
      node.is_v2 = kind % kGroupKinds >= 2;
      node.is_consolidated = kind % kGroupKinds % 2 == 1;
    } else {
      node.array = ArrayKinds()[kind % (kGroupKinds + ArrayKinds().size()) - kGroupKinds];
      node.is_v2 = node.array->is_v2;
    }
    node.is_broken = false;
    node.layout_version = ++changes_;
    ever_.insert(path);
    WriteDocuments(path, node);
  }

  void RemoveNode(const std::string& path) {
    if (path.empty() || Find(path) == nullptr) return;
    Forget(path);
    store_.Remove(path);
    ++changes_;
    shown_.clear();
  }

  void SetAttributes(const std::string& path, int attributes) {
    Node* const node = Get(path);
    if (node == nullptr || node->is_broken) return;
    const int before = std::exchange(node->attributes, attributes);
    if (!node->is_v2) {
      WriteDocuments(path, *node);
      return;
    }
    const std::string key = JoinKey(path, ".zattrs");
    if (attributes >= 0) store_.Put(key, AttributesText(attributes));
    if (attributes < 0 && before >= 0) store_.Remove(key);
    Changed(*node);
  }

  void Resize(const std::string& path, size_t axis, uint64_t extent) {
    Node* const node = Get(path);
    if (node == nullptr || !node->array || node->array->shape.empty() || node->is_broken) return;
    uint64_t& old = node->array->shape[axis % node->array->shape.size()];
    if (old == extent) return;
    old = extent;
    node->layout_version = changes_ + 1;
    WriteDocuments(path, *node);
  }

  /// As a writer does that is not finished.
  void Break(const std::string& path) {
    Node* const node = Get(path);
    if (node == nullptr || node->is_broken) return;
    node->is_broken = true;
    store_.RewriteInPlace(JoinKey(path, DocumentName(*node)), "{");
    Changed(*node);
  }
  void MendAll() {
    for (auto& [path, node] : nodes_) {
      if (node.is_broken)
        store_.RewriteInPlace(JoinKey(path, DocumentName(node)), DocumentText(node));
      if (std::exchange(node.is_broken, false)) Changed(node);
    }
  }

  /// Stores an object that has those of its chunks whose bits are set in `mask` (all, if it is not
  /// sharded), of bytes that depend on `seed`.
  void PutObject(const std::string& path, const Extents& anywhere, uint32_t mask, uint32_t seed,
                 bool in_place) {
    Node* const node = Get(path);
    const auto at = node == nullptr ? std::nullopt : ObjectAt(*node, anywhere);
    if (!at) return;
    const ArrayKind& array = *node->array;
    Node::Object object;
    const Block block = BlockOf(array, *at);
    size_t bit = 0;
    ForEach(block.counts, [&](const Extents& local) {
      if (array.is_sharded && (mask >> (bit++ % 32) & 1) == 0) return;
      Extents chunk = block.first;
      for (size_t d = 0; d < chunk.size(); ++d) chunk[d] += local[d];
      if (!IsInside(array, chunk)) return;
      std::string elements(Product(array.chunk), '\0');
      uint64_t state = seed * 0x9e3779b97f4a7c15ULL + bit;
      for (char& element : elements) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        element = static_cast<char>(state >> 62);
      }
      object.elements[chunk] = std::move(elements);
    });
    WriteObject(path, *node, *at, std::move(object), in_place);
  }

  void DamageObject(const std::string& path, const Extents& anywhere, uint32_t seed,
                    bool in_place) {
    Node* const node = Get(path);
    const auto at = node == nullptr ? std::nullopt : ObjectAt(*node, anywhere);
    if (!at || (!node->array->is_sharded && node->array->codec == Codec::kZstd)) return;
    WriteObject(path, *node, *at, {true, std::string(1 + seed % 2, 'x') + "y", {}}, in_place);
  }

  void RemoveObject(const std::string& path, const Extents& anywhere) {
    Node* const node = Get(path);
    const auto at = node == nullptr ? std::nullopt : ObjectAt(*node, anywhere);
    if (!at || node->objects.erase(*at) == 0) return;
    store_.Remove(ObjectKey(path, *node, *at));
    Changed(*node, /*document=*/false);
  }

  // What is shown.

  /// The node's folder in the view; null if there is none.
  [[nodiscard]] const Shown* Show(const std::string& path, size_t view) const {
    const Node* const node = Find(path);
    if (node == nullptr || IsHidden(path, *node, view)) return nullptr;
    if (!path.empty() && !IsShown(ParentOf(path), view)) return nullptr;
    Shown& shown = shown_[{path, view}];
    if (shown.names.empty()) Fill(path, *node, view, shown);
    return &shown;
  }

  /// Documents of a node in the view.
  [[nodiscard]] std::vector<std::string> Documents(const Node& node, size_t view) const {
    if (HasFilesOfNodes(view)) return {};
    if (view == kV3) return {"zarr.json"};
    std::vector<std::string> names = {node.array ? ".zarray" : ".zgroup"};
    const bool is_stored = node.is_v2 && view == kV2;
    if (!is_stored || node.attributes >= 0) names.emplace_back(".zattrs");
    return names;
  }

  /// The node of the store that a name in the folder of a node stands for.
  [[nodiscard]] static std::string NodeOf(std::string_view folder, size_t view,
                                          std::string_view name) {
    if (folder.empty() && view == kNc && name == FileNameOf("", view)) return "";
    if (name.ends_with(SuffixOf(view))) name.remove_suffix(SuffixOf(view).size());
    return JoinKey(folder, name);
  }
  /// What the file of a node is called in a view that has such files.
  [[nodiscard]] static std::string FileNameOf(std::string_view path, size_t view) {
    return fmt::format("{}{}", path.empty() ? kNameOfStore : path.substr(path.rfind('/') + 1),
                       SuffixOf(view));
  }

  /// What is wrong with the file of a group in `nc`; "" if nothing is.
  [[nodiscard]] std::string CheckNetcdf(const std::string& path, const std::string& text) const {
    return CheckNetcdfFile(text, *Find(path), ArraysOf(path), options_.is_cdf5);
  }

  /// Whether a document repeats those of the nodes below.
  [[nodiscard]] bool IsConsolidated(const std::string& path, size_t view,
                                    const std::string& name) const {
    const Node& node = *Find(path);
    return name == ".zmetadata" || (view == kV3 && node.is_consolidated && !node.is_v2);
  }

  /// What is wrong with a document; "" if nothing is.
  [[nodiscard]] std::string CheckDocument(const std::string& path, size_t view,
                                          const std::string& name, const std::string& text) const {
    const Node& node = *Find(path);
    const bool is_stored = node.is_v2 == (view == kV2) && (view == kV2 || view == kV3) &&
                           !(node.array && node.array->is_sharded) && name != ".zmetadata" &&
                           options_.separator == 0 && !(view == kV3 && node.is_consolidated);
    if (is_stored) {
      const std::string stored =
          name == ".zattrs" ? AttributesText(node.attributes) : DocumentText(node);
      return text == stored ? "" : "not the stored text";
    }
    const auto json = ParseJson(text, name);
    if (!json) return json.error().message;
    if (name == ".zmetadata") return CheckConsolidated(path, view, (*json)["metadata"]);
    if (name == "zarr.json" && node.is_consolidated && !node.is_v2 && options_.consolidates) {
      const auto below = json->find("consolidated_metadata");
      if (below == json->end()) return "not consolidated";
      if (auto wrong = CheckConsolidated(path, view, (*below)["metadata"]); !wrong.empty()) {
        return wrong;
      }
    }
    return CheckMembers(node, view, name, *json);
  }

 private:
  static std::string ParentOf(const std::string& path) { return std::string(FolderOf(path)); }
  [[nodiscard]] bool IsGroup(const std::string& path) const {
    const Node* const node = Find(path);
    return node != nullptr && !node->array;
  }
  [[nodiscard]] bool IsShown(const std::string& path, size_t view) const {
    return Show(path, view) != nullptr;
  }
  Node* Get(const std::string& path) {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : &found->second;
  }
  void Changed(Node& node, bool document = true) {
    ++changes_;
    if (document) node.document_version = changes_;
    shown_.clear();
  }
  void Forget(const std::string& path) {
    std::erase_if(nodes_, [&](const auto& node) {
      return node.first == path || node.first.starts_with(path + "/");
    });
  }
  void RemoveDocuments() {
    for (const char* name : {"zarr.json", ".zgroup", ".zattrs", ".zmetadata"}) {
      store_.Remove(name);
    }
  }
  void WriteDocuments(const std::string& path, Node& node) {
    store_.Put(JoinKey(path, DocumentName(node)), DocumentText(node));
    if (node.is_v2 && node.attributes >= 0) {
      store_.Put(JoinKey(path, ".zattrs"), AttributesText(node.attributes));
    }
    if (node.is_v2 && !node.array && node.is_consolidated) {
      store_.Put(JoinKey(path, ".zmetadata"), R"({"zarr_consolidated_format": 1, "metadata": {}})");
    }
    Changed(node);
  }

  static bool IsInside(const ArrayKind& array, const Extents& chunk) {
    for (size_t d = 0; d < chunk.size(); ++d) {
      if (chunk[d] * array.chunk[d] >= array.shape[d]) return false;
    }
    return true;
  }
  static std::optional<Extents> ObjectAt(const Node& node, const Extents& anywhere) {
    if (!node.array) return std::nullopt;
    Extents at = Divided(node.array->shape, node.array->stored_chunk, true);
    for (size_t d = 0; d < at.size(); ++d) {
      // (Where objects differ, the largest ones are the fewest: there are more.)
      if (at[d] == 0) return std::nullopt;
      const auto is_inside = [&](uint64_t outer) {
        Extents next(at.size());
        next[d] = outer;
        return BlockOf(*node.array, next).first[d] * node.array->chunk[d] < node.array->shape[d];
      };
      while (!node.array->edges.empty() && is_inside(at[d])) ++at[d];
      at[d] = anywhere[d] % at[d];
    }
    return at;
  }
  static std::string ObjectKey(const std::string& path, const Node& node, const Extents& at) {
    return JoinKey(path, KeyOf(at, node.array->has_default_keys, node.array->separator));
  }
  void WriteObject(const std::string& path, Node& node, const Extents& at, Node::Object object,
                   bool in_place) {
    const std::string key = ObjectKey(path, node, at);
    const std::string bytes = ObjectBytes(*node.array, at, object);
    if (in_place && node.objects.contains(at)) {
      store_.RewriteInPlace(key, bytes);
    } else {
      store_.Put(key, bytes);
    }
    node.objects[at] = std::move(object);
    Changed(node, /*document=*/false);
  }

  void Fill(const std::string& path, const Node& node, size_t view, Shown& shown) const {
    for (const std::string& name : Documents(node, view)) shown.files[name];
    const bool is_stored_v2 = node.is_v2 && view == kV2;
    if (!node.array && (view == kV2 || view == kJava) &&
        (is_stored_v2 ? node.is_consolidated : options_.consolidates)) {
      shown.files[".zmetadata"];
    }
    if (node.array) FillChunks(*node.array, node.objects, view, shown);
    shown.names[""];
    for (const auto& [below, child] : nodes_) {
      if (below.empty() || ParentOf(below) != path) continue;
      const std::string name = below.substr(below.rfind('/') + 1);
      if (IsShown(below, view)) shown.names[""].insert(name);
      const bool has_file = view == kNpy ? child.array.has_value() : view == kNc && !child.array;
      if (has_file) shown.files[FileNameOf(below, view)] = FileOf(below, child, view);
    }
    if (view == kNc && path.empty()) shown.files[FileNameOf("", view)] = FileOf("", node, view);
    const auto add = [&shown](const std::string& at) {
      shown.names[std::string(FolderOf(at))].insert(at.substr(at.rfind('/') + 1));
    };
    for (const auto& [file, unused] : shown.files) {
      add(file);
      for (auto above = FolderOf(file); !above.empty(); above = FolderOf(above)) {
        shown.chunk_folders.emplace(above);
        add(std::string(above));
      }
    }
  }

  // The arrays of a group, by name.
  [[nodiscard]] std::map<std::string, const Node*> ArraysOf(const std::string& group) const {
    std::map<std::string, const Node*> arrays;
    for (const auto& [path, node] : nodes_) {
      if (path.empty() || ParentOf(path) != group || !node.array) continue;
      arrays.emplace(path.substr(path.rfind('/') + 1), &node);
    }
    return arrays;
  }

  // The file that a view makes of a node.
  [[nodiscard]] File FileOf(const std::string& path, const Node& node, size_t view) const {
    if (view == kNpy) return HasDamage(node) ? File{File::Kind::kUnreadable, ""} : NpyFile(node);
    const auto arrays = ArraysInFile(ArraysOf(path));
    const bool is_damaged =
        std::ranges::any_of(arrays, [](const auto& array) { return HasDamage(*array.second); });
    return {is_damaged ? File::Kind::kUnreadable : File::Kind::kNetcdf, ""};
  }

  // Whether an array has elements in a damaged object.
  static bool HasDamage(const Node& node) {
    const ArrayKind& array = *node.array;
    bool has_damage = false;
    for (const auto& entry : node.objects) {  // (clang 14 captures no structured bindings)
      if (!entry.second.is_damaged || Product(array.shape) == 0) continue;
      const Block block = BlockOf(array, entry.first);
      ForEach(block.counts, [&](const Extents& local) {
        Extents chunk = block.first;
        for (size_t d = 0; d < chunk.size(); ++d) chunk[d] += local[d];
        has_damage |= IsInside(array, chunk);
      });
    }
    return has_damage;
  }

  void FillChunks(const ArrayKind& array, const std::map<Extents, Node::Object>& objects,
                  size_t view, Shown& shown) const {
    if (HasFillFiles(array, view, options_)) {
      const File fill = FillFile(array, view);
      ForEach(Divided(array.shape, array.chunk, true),
              [&](const Extents& at) { shown.files[ChunkPath(array, view, at, options_)] = fill; });
    }
    for (const auto& entry : objects) {  // (clang 14 captures no structured bindings)
      const Extents& at = entry.first;
      const Node::Object& object = entry.second;
      for (const auto& [chunk, elements] : object.elements) {
        if (!IsInside(array, chunk)) continue;
        shown.files[ChunkPath(array, view, chunk, options_)] = ChunkFile(array, view, elements);
      }
      if (!object.is_damaged) continue;
      const Block block = BlockOf(array, at);
      ForEach(block.counts, [&](const Extents& local) {
        Extents chunk = block.first;
        for (size_t d = 0; d < chunk.size(); ++d) chunk[d] += local[d];
        if (!IsInside(array, chunk)) return;
        shown.files[ChunkPath(array, view, chunk, options_)] =
            DamagedFile(array, view, object.stored);
      });
    }
  }

  std::string CheckMembers(const Node& node, size_t view, const std::string& name,
                           const Json& json) const {
    const Json attributes = *ParseJson(AttributesText(node.attributes), "");
    Json said = name == ".zattrs" ? json : json.value("attributes", Json::object());
    if (name == ".zattrs" || name == "zarr.json") {
      const bool passes = node.is_v2 && view == kV2;
      if (name == ".zattrs" && node.array && !passes && said.erase("_ARRAY_DIMENSIONS") != 1) {
        return "no dimensions";
      }
      if (node.array &&
          node.is_v2) {  // that .zarray's fill value is masked is an attribute elsewhere
        if (view == kV3 && said.value("_FillValue", Json()) != node.array->fill)
          return "_FillValue";
        said.erase("_FillValue");
        said.erase("_NCZARR_ATTR");
      }
      if (said != attributes) return "attributes";
    }
    if (!node.array || name == ".zattrs") return "";
    const ArrayKind& array = *node.array;
    const bool is_vector = array.shape.empty() && (view == kNetcdf || view == kJava);
    Json shape = is_vector ? Extents{1} : array.shape;
    Json chunks = is_vector ? Extents{1} : FileChunk(array, view);
    if (json.value("shape", Json()) != shape) return "shape";
    if (view == kV3) {
      if (json.at("chunk_grid").at("configuration").at("chunk_shape") != chunks) return "chunks";
      if (json.at("fill_value") != array.fill) return "fill value";
      return json.at("codecs") == *ParseJson("[" + CodecsText(array.codec) + "]", "") ||
                     node.is_v2 || array.codec != Codec::kZstd
                 ? ""
                 : "codecs";
    }
    if (json.value("chunks", Json()) != chunks) return "chunks";
    const std::string path = ChunkPath(array, view, array.shape, options_);
    const bool has_separator = array.shape.size() > 1;
    const bool is_nested = path.find('/') != std::string::npos;
    if (has_separator && json.value("dimension_separator", ".") != (is_nested ? "/" : ".")) {
      return "separator";
    }
    const bool is_zstd = array.codec == Codec::kZstd && KeepsZstd(view);
    return json.at("compressor").is_null() == !is_zstd ? "" : "compressor";
  }

  std::string CheckConsolidated(const std::string& group, size_t view, Json all) const {
    for (const auto& [path, node] : nodes_) {
      const bool is_below = path == group || group.empty() || path.starts_with(group + "/");
      if (!is_below || !IsShown(path, view)) continue;
      if (view == kV3 && path == group) continue;
      const std::string below =
          path == group ? "" : path.substr(group.empty() ? 0 : group.size() + 1);
      for (const std::string& name : Documents(node, view)) {
        const std::string key = view == kV3 ? below : JoinKey(below, name);
        const auto found = all.find(key);
        if (found == all.end()) return "not consolidated: " + key;
        const auto wrong = CheckMembers(node, view, name, *found);
        if (!wrong.empty()) return key + ": " + wrong;
        all.erase(found);
      }
    }
    return all.empty() ? "" : "consolidated, but not there: " + all.begin().key();
  }

  FakeStore& store_;
  const ModelOptions options_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> ever_;
  uint64_t changes_ = 0;
  mutable std::map<std::pair<std::string, size_t>, Shown> shown_;
};

}  // namespace zarrfs::model
