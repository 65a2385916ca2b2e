#include "zarrcore/view/v2_chain.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "zarrcore/codec/blosc.h"
#include "zarrcore/codec/configuration.h"
#include "zarrcore/codec/convert.h"
#include "zarrcore/codec/stored_as.h"
#include "zarrcore/view/v2_types.h"

namespace zarrfs {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

// A compressor whose only parameter is used by encoders alone: the parameter's name, range and
// default.
struct OneParameter {
  std::string_view id;
  const char* parameter;
  int64_t minimum;
  int64_t maximum;
  int64_t otherwise;
};
constexpr std::array kOneParameter = {
    OneParameter{"gzip", "level", 0, 9, 5},
    OneParameter{"zlib", "level", 0, 9, 1},  // jzarr refuses -1, zlib's default
    OneParameter{"zstd", "level", -131072, 22, 0},
    OneParameter{"bz2", "level", 1, 9, 1},
    OneParameter{"lz4", "acceleration", -kMaxInt, kMaxInt, 1},
};

// If `codec` is a checksum, records in `chain` that chunk files leave it out, and returns true.
Result<bool> CutChecksum(const CodecSpec& codec, V2Chain& chain) {
  const auto checksum = Checksum::Of(codec);
  if (!checksum) return Fail(checksum);
  if (!*checksum) return false;
  ((*checksum)->at_start() ? chain.cut_front : chain.cut_back) += kChecksumBytes;
  chain.checksums.insert(chain.checksums.begin(), **checksum);
  return true;
}

// Returns the v2 "compressor" for a bytes-to-bytes codec; nullopt if v2 has none. Except for lzma,
// copies only the members that zarr-python 2 knows, because it refuses others.
std::optional<Json> Compressor(const CodecSpec& codec) {
  const std::string_view name = codec.plain_name();
  for (const auto& [id, parameter, minimum, maximum, otherwise] : kOneParameter) {
    if (name != id) continue;
    return Json{{"id", id},
                {parameter, EncoderMember(codec, parameter, minimum, maximum, otherwise)}};
  }
  if (name == "lzma") {
    Json json = {{"id", "lzma"}};
    for (const auto& [key, value] : codec.configuration.items()) {
      if (key != "id") json[key] = value;
    }
    return json;
  }
  if (name == "blosc") {
    // Only writers need blosc's parameters. Readers use the header of the compressed data.
    const BloscParameters parameters = BloscParametersOf(codec, 1);
    return Json{{"id", "blosc"},
                {"cname", parameters.compressor},
                {"clevel", parameters.level},
                {"shuffle", parameters.shuffle},
                {"blocksize", parameters.block_size}};
  }
  return std::nullopt;
}

// Returns the v2 "order" for chunks whose axes are transposed to `axes`: 'C' if the axes longer
// than 1 keep their order, 'F' if their order is reversed; otherwise nullopt.
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

// Translates the codecs of a chain to v2, one after the other.
class Translator {
 public:
  Translator(const ArrayLayout& layout, const DataType& type, const ReaderProfile& profile,
             const CompressorSet& compressors)
      : layout_(layout), profile_(profile), compressors_(compressors), type_(type) {
    axes_.resize(layout.inner_chunk_shape.size());
    std::iota(axes_.begin(), axes_.end(), size_t{0});
  }

  Result<void> Add(const CodecSpec& codec) {
    return in_bytes_ ? AddToBytes(codec) : AddToArray(codec);
  }

  Result<V2Chain> Finish() && {
    if (!in_bytes_) {
      return Fail(ErrorCode::kUnsupported,
                  "a chain without the codec 'bytes' cannot be represented in Zarr v2");
    }
    const auto order = MemoryOrder(axes_, layout_.inner_chunk_shape);
    if (!order) {
      return Fail(ErrorCode::kUnsupported,
                  "a transpose that is neither C nor F order cannot be represented in Zarr v2");
    }
    chain_.order = *order;
    if (chain_.order == 'F' && !profile_.takes_fortran_order) {
      return Fail(ErrorCode::kUnsupported, "order F is not supported by this view's readers");
    }
    if (chain_.byte_order == '>' && !profile_.takes_big_endian) {
      return Fail(ErrorCode::kUnsupported,
                  "big-endian elements are not supported by this view's readers");
    }
    // If a filter has an invalid configuration, layout_.inner_pipeline is an error that says so.
    const bool is_text = type_.item_size == 0;  // strings have no inner_pipeline
    if (has_filters_ && !is_text && !layout_.inner_pipeline) return Fail(layout_.inner_pipeline);
    chain_.filtered_item_size = type_.item_size;
    return std::move(chain_);
  }

 private:
  static tl::unexpected<Error> NotTranslated(const CodecSpec& codec) {
    return Fail(ErrorCode::kUnsupported, "codec '{}' cannot be represented in Zarr v2", codec.name);
  }

  Result<void> AddToArray(const CodecSpec& codec) {
    if (codec.name == "transpose") {
      const auto order = TransposeOrder(codec, axes_.size());
      if (!order) return Fail(order);
      // v2 transposes ("order") before it applies filters, so a transpose after a filter has no v2
      // form.
      if (has_filters_) return NotTranslated(codec);
      std::vector<size_t> composed(axes_.size());
      for (size_t j = 0; j < axes_.size(); ++j) composed[j] = axes_[(*order)[j]];
      axes_ = std::move(composed);
    } else if (codec.name == "bytes") {
      const Json endian = codec.configuration.value("endian", Json("little"));
      if (endian != "little" && endian != "big") {
        return Fail(ErrorCode::kUnsupported, "endian {} cannot be represented in Zarr v2",
                    Excerpt(endian));
      }
      chain_.byte_order = endian == "big" ? '>' : '<';
      if (has_filters_ && endian == "big") return NotTranslated(codec);  // see AddElementFilter()
      in_bytes_ = true;
    } else if (codec.name == "vlen-utf8" || codec.name == "vlen-bytes") {
      chain_.filters = Json::array({Json{{"id", codec.name}}});
      in_bytes_ = true;
    } else if (codec.name == "numcodecs.delta" || codec.name == "numcodecs.fixedscaleoffset") {
      return AddElementFilter(codec);
    } else if (codec.name != "bitround" && codec.name != "numcodecs.bitround") {
      // bitround needs no translation: it rounds values when they are written, and does nothing
      // when they are read.
      return NotTranslated(codec);
    }
    return {};
  }

  Result<void> AddToBytes(const CodecSpec& codec) {
    const auto is_checksum = CutChecksum(codec, chain_);
    if (!is_checksum) return Fail(is_checksum);
    if (*is_checksum) {
      has_checksums_ = true;
      return {};
    }
    auto compressor = Compressor(codec);
    const bool is_shuffle = codec.name == "numcodecs.shuffle";
    if (!compressor && !is_shuffle) return NotTranslated(codec);
    if (has_checksums_) {
      return Fail(ErrorCode::kUnsupported,
                  "a checksum before '{}' cannot be represented in Zarr v2", codec.name);
    }
    if (compressor) return SetCompressor(std::move(*compressor));
    // A shuffle is a filter in v2, and v2 encoders apply all filters before the compressor.
    const Json& size = MemberOrNull(codec.configuration, "elementsize");
    const bool is_valid = size.is_number_integer() && ParseInteger(size, 31, false);
    if (!chain_.compressor.is_null() || !is_valid) return NotTranslated(codec);
    return AddFilter(codec, Json::object());
  }

  // Adds a filter that encodes elements as another type, such as delta. The filter names both types
  // as little-endian, like the stored bytes.
  Result<void> AddElementFilter(const CodecSpec& codec) {
    const auto stored = StoredType(codec, type_);
    if (!stored) return Fail(stored);
    if (!IsIntegerOrFloat(type_) || !IsIntegerOrFloat(*stored)) return NotTranslated(codec);
    const auto dtype = V2TypeOf(type_, '<');
    const auto astype = V2TypeOf(*stored, '<');
    if (!dtype || !astype) return NotTranslated(codec);
    type_ = *stored;
    return AddFilter(codec, Json{{"dtype", *dtype}, {"astype", *astype}});
  }

  Result<void> AddFilter(const CodecSpec& codec, Json members) {
    const std::string_view id = codec.plain_name();
    const bool is_known = std::ranges::find(profile_.filters, id) != profile_.filters.end();
    if (!is_known || compressors_ != kAllCompressors) {
      return Fail(ErrorCode::kUnsupported, "filter '{}' is not supported by this view's readers",
                  id);
    }
    Json filter = {{"id", id}};
    for (const char* const member : {"elementsize", "offset", "scale"}) {
      const auto found = codec.configuration.find(member);
      if (found != codec.configuration.end()) filter[member] = *found;
    }
    filter.update(members);
    if (chain_.filters.is_null()) chain_.filters = Json::array();
    chain_.filters.push_back(std::move(filter));
    has_filters_ = true;
    return {};
  }

  Result<void> SetCompressor(Json compressor) {
    if (!chain_.compressor.is_null()) {
      return Fail(ErrorCode::kUnsupported, "two compressors cannot be represented in Zarr v2");
    }
    const std::string& id = compressor["id"].get_ref<const std::string&>();
    const bool is_in_profile =
        std::ranges::find(profile_.compressors, id) != profile_.compressors.end();
    if (!is_in_profile || !Has(compressors_, id)) {
      return Fail(ErrorCode::kUnsupported,
                  "compressor '{}' is not supported by this view's readers", id);
    }
    if (!profile_.takes_snappy_in_blosc && MemberOrNull(compressor, "cname") == "snappy") {
      return Fail(ErrorCode::kUnsupported, "snappy is not supported by this view's readers");
    }
    chain_.has_zstd = id == "zstd";
    chain_.compressor = std::move(compressor);
    return {};
  }

  const ArrayLayout& layout_;
  const ReaderProfile& profile_;
  const CompressorSet& compressors_;
  DataType type_;  // the type of the elements after the codecs translated so far
  std::vector<size_t> axes_;
  V2Chain chain_;
  bool in_bytes_ = false;
  bool has_filters_ = false;  // true if a filter was added, other than vlen-utf8 and vlen-bytes
  bool has_checksums_ = false;
};

}  // namespace

Result<V2Chain> ToV2Chain(const ArrayLayout& layout, const DataType& type,
                          const ReaderProfile& profile, const CompressorSet& compressors) {
  Translator translator(layout, type, profile, compressors);
  for (const CodecSpec& codec : layout.inner_codecs) {
    if (const auto added = translator.Add(codec); !added) return Fail(added);
  }
  return std::move(translator).Finish();
}

}  // namespace zarrfs
