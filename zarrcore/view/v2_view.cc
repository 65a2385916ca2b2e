#include "zarrcore/view/v2_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>

#include "zarrcore/store/store.h"
#include "zarrcore/view/v2_types.h"

namespace zarrfs {
namespace {

constexpr uint64_t kChecksumBytes = 4;

// Bytes of checksum that stand before and after the encoded chunk.
struct ChecksumPlace {
  uint64_t front = 0;
  uint64_t back = 0;
};

std::optional<ChecksumPlace> Checksum(const CodecSpec& codec) {
  const auto location = codec.configuration.find("location");
  const bool said_end = location != codec.configuration.end() && *location == "end";
  const bool said_start = location != codec.configuration.end() && *location == "start";
  if (codec.name == "crc32c" || codec.name == "numcodecs.crc32c" ||
      codec.name == "numcodecs.fletcher32" || codec.name == "numcodecs.jenkins_lookup3") {
    if (said_start) return ChecksumPlace{kChecksumBytes, 0};
    return ChecksumPlace{0, kChecksumBytes};
  }
  if (codec.name == "numcodecs.crc32" || codec.name == "numcodecs.adler32") {
    if (said_end) return ChecksumPlace{0, kChecksumBytes};
    return ChecksumPlace{kChecksumBytes, 0};
  }
  return std::nullopt;
}

// The v2 "compressor" of a bytes -> bytes codec; extra members would break zarr-python 2.
std::optional<Json> Compressor(const CodecSpec& codec) {
  const Json& given = codec.configuration;
  const auto member = [&](const char* name, Json otherwise) {
    const auto found = given.find(name);
    return found == given.end() ? std::move(otherwise) : *found;
  };
  std::string_view name = codec.name;
  if (name.starts_with("numcodecs.")) name.remove_prefix(10);
  if (name == "gzip") return Json{{"id", "gzip"}, {"level", member("level", 5)}};
  if (name == "zlib") return Json{{"id", "zlib"}, {"level", member("level", 1)}};
  if (name == "zstd") return Json{{"id", "zstd"}, {"level", member("level", 0)}};
  if (name == "bz2") return Json{{"id", "bz2"}, {"level", member("level", 1)}};
  if (name == "lz4") return Json{{"id", "lz4"}, {"acceleration", member("acceleration", 1)}};
  if (name == "lzma") {
    Json json = {{"id", "lzma"}};
    for (const auto& [key, value] : given.items()) json[key] = value;
    return json;
  }
  if (name == "blosc") {
    // The frame's own header is what readers decode by; these are for writers.
    Json shuffle = member("shuffle", "noshuffle");
    if (shuffle.is_string()) {
      shuffle = shuffle == "bitshuffle" ? 2 : shuffle == "shuffle" ? 1 : 0;
    }
    return Json{{"id", "blosc"},
                {"cname", member("cname", "lz4")},
                {"clevel", member("clevel", 5)},
                {"shuffle", std::move(shuffle)},
                {"blocksize", member("blocksize", 0)}};
  }
  return std::nullopt;
}

// What v2 can say of a codec chain.
struct V2Chain {
  char byte_order = '<';
  char order = 'C';
  Json compressor;
  Json filters;
  uint64_t cut_front = 0;
  uint64_t cut_back = 0;
};

// C if the axes longer than 1 keep their order, F if they are reversed.
std::optional<char> MemoryOrder(const std::vector<size_t>& axes,
                                const std::vector<uint64_t>& chunk_shape) {
  std::vector<size_t> long_axes;
  for (const size_t axis : axes) {
    if (chunk_shape[axis] > 1) long_axes.push_back(axis);
  }
  if (std::ranges::is_sorted(long_axes)) return 'C';
  if (std::ranges::is_sorted(long_axes, std::ranges::greater{})) return 'F';
  return std::nullopt;
}

Result<V2Chain> ToV2(const ArrayLayout& layout) {
  V2Chain chain;
  const auto& chunk_shape = layout.inner_chunk_shape;
  std::vector<size_t> axes(chunk_shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  bool in_bytes = false;
  bool checksums = false;
  for (const CodecSpec& codec : layout.inner_codecs) {
    if (!in_bytes) {
      if (codec.name == "transpose") {
        const auto order = TransposeOrder(codec, axes.size());
        if (!order) return Fail(order);
        std::vector<size_t> composed(axes.size());
        for (size_t j = 0; j < axes.size(); ++j) composed[j] = axes[(*order)[j]];
        axes = std::move(composed);
      } else if (codec.name == "bytes") {
        const Json endian = codec.configuration.value("endian", Json("little"));
        if (endian != "little" && endian != "big") {
          return Fail(ErrorCode::kUnsupported, "endian {} is not translated to v2",
                      Excerpt(endian));
        }
        chain.byte_order = endian == "big" ? '>' : '<';
        in_bytes = true;
      } else if (codec.name == "vlen-utf8") {
        chain.filters = Json::array({Json{{"id", "vlen-utf8"}}});
        in_bytes = true;
      } else if (codec.name != "bitround" && codec.name != "numcodecs.bitround") {
        // (bitround changes what is written, not how it is read.)
        return Fail(ErrorCode::kUnsupported, "codec '{}' is not translated to v2", codec.name);
      }
    } else if (const auto checksum = Checksum(codec)) {
      chain.cut_front += checksum->front;
      chain.cut_back += checksum->back;
      checksums = true;
    } else if (auto compressor = Compressor(codec)) {
      if (checksums) {
        return Fail(ErrorCode::kUnsupported,
                    "a checksum before the compressor '{}' is not translated to v2", codec.name);
      }
      if (!chain.compressor.is_null()) {
        return Fail(ErrorCode::kUnsupported, "two compressors are not translated to v2");
      }
      chain.compressor = std::move(*compressor);
    } else {
      return Fail(ErrorCode::kUnsupported, "codec '{}' is not translated to v2", codec.name);
    }
  }
  if (!in_bytes) {
    return Fail(ErrorCode::kUnsupported,
                "a chain without the codec 'bytes' is not translated to v2");
  }
  const auto order = MemoryOrder(axes, chunk_shape);
  if (!order) {
    return Fail(ErrorCode::kUnsupported,
                "a transpose that is neither C nor F order is not translated to v2");
  }
  chain.order = *order;
  return chain;
}

// Whether the chunks can be served as their elements instead.
bool CanBeDecoded(const ArrayLayout& layout) {
  return layout.inner_pipeline && layout.inner_pipeline->decoded_size() <= kMaxChunkBytes;
}

// xarray, GDAL and netCDF-C need a name for each dimension; the same name must not have two
// lengths.
Json DimensionNames(const ArrayMetadata& metadata) {
  const auto given = metadata.attributes.find("_ARRAY_DIMENSIONS");
  if (given != metadata.attributes.end() && given->is_array() && given->size() == metadata.rank() &&
      std::ranges::all_of(*given,
                          [](const Json& name) { return name.is_string() && !NonFinite(name); })) {
    return *given;
  }
  Json names = Json::array();
  std::map<std::string, uint64_t> lengths;
  for (size_t d = 0; d < metadata.rank(); ++d) {
    const uint64_t length = metadata.shape[d];
    std::string name;
    if (metadata.dimension_names) name = (*metadata.dimension_names)[d].value_or("");
    if (name.empty()) name = fmt::format("dim_{}_{}", d, length);
    while (lengths.emplace(name, length).first->second != length) {
      name = fmt::format("{}_{}_{}", name, d, length);
    }
    names.push_back(std::move(name));
  }
  return names;
}

class V2ViewImplementation final : public View {
 public:
  std::string_view name() const override { return "v2"; }

  Result<ArrayView> ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                              const ViewContext& context) const override {
    auto chain = ToV2(layout);
    const bool decoded = !chain && CanBeDecoded(layout);
    if (decoded) chain = V2Chain{};
    if (!chain) return Fail(chain);
    const auto type = V2TypeOf(metadata.data_type, chain->byte_order);
    if (!type) return Fail(type);
    const bool is_text = metadata.data_type.kind == DataKind::kString;
    if (is_text ? chain->filters.is_null() : metadata.data_type.item_size == 0) {
      return Fail(ErrorCode::kUnsupported, "data type '{}' is not translated to v2",
                  metadata.data_type.name);
    }

    ArrayView view;
    view.decoded = decoded;
    view.cut_front = chain->cut_front;
    view.cut_back = chain->cut_back;
    // (GDAL 3.6 dies on a scalar with any other separator; its one chunk is "0" either way.)
    view.naming.separator = metadata.rank() == 0 ? '.' : Separator(metadata.key_encoding, context);

    Json zarray;
    zarray["zarr_format"] = 2;
    zarray["shape"] = metadata.shape;
    zarray["chunks"] = layout.inner_chunk_shape;
    zarray["dtype"] = *type;
    zarray["compressor"] = chain->compressor;
    zarray["fill_value"] = V2FillOf(metadata.fill_value, metadata.data_type, chain->byte_order);
    zarray["order"] = std::string(1, chain->order);
    zarray["filters"] = chain->filters;
    zarray["dimension_separator"] = std::string(1, view.naming.separator);
    view.documents.push_back({".zarray", DumpJson(zarray)});

    Json zattrs = metadata.attributes;
    zattrs["_ARRAY_DIMENSIONS"] = DimensionNames(metadata);
    view.documents.push_back({".zattrs", DumpJson(zattrs)});
    return view;
  }

  std::vector<Document> ShowGroup(const GroupMetadata& metadata) const override {
    return {{".zgroup", DumpJson(Json{{"zarr_format", 2}})},
            {".zattrs", DumpJson(metadata.attributes)}};
  }

  std::string_view ConsolidatedName(const GroupMetadata&) const override { return ".zmetadata"; }

  // zarr-python 2, "Consolidating metadata".
  std::string Consolidate(std::span<const NodeBelow> nodes) const override {
    std::string text = "{\n\"zarr_consolidated_format\": 1,\n\"metadata\": {";
    std::string_view comma;
    for (const NodeBelow& node : nodes) {
      for (const Document& document : node.documents) {
        text += fmt::format("{}\n{}: {}", comma, JsonText(JoinKey(node.path, document.name)),
                            document.bytes);
        text.pop_back();  // the newline
        comma = ",";
      }
    }
    return text + "\n}\n}\n";
  }

  bool AllowsNodeName(std::string_view node) const override { return !node.starts_with(".z"); }

 private:
  static char Separator(const ChunkKeyEncoding& encoding, const ViewContext& context) {
    if (context.forced_separator != '\0') return context.forced_separator;
    if (encoding.kind == ChunkKeyEncoding::Kind::kV2) return encoding.separator;
    return context.below_ome ? '/' : '.';
  }
};

}  // namespace

const View& V2View() {
  static const V2ViewImplementation view;
  return view;
}

}  // namespace zarrfs
