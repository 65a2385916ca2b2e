#include "zarrcore/metadata/v2_codecs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "zarrcore/base/printable.h"
#include "zarrcore/metadata/metadata.h"

namespace zarrfs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kObjectFilters = {"vlen-utf8"sv, "vlen-bytes"sv};
constexpr std::array kElementFilters = {"delta"sv,  "fixedscaleoffset"sv, "quantize"sv,
                                        "astype"sv, "packbits"sv,         "bitround"sv};
// Compressors that encode elements directly to bytes, so the codec "bytes" is not needed.
constexpr std::array kNumberCompressors = {"pcodec"sv, "zfpy"sv};
constexpr std::array kByteFilters = {
    "zlib"sv,  "bz2"sv,    "lzma"sv,    "lz4"sv,        "shuffle"sv,
    "crc32"sv, "crc32c"sv, "adler32"sv, "fletcher32"sv, "jenkins_lookup3"sv};
// The default element size of numcodecs' shuffle.
constexpr int kShuffleElementSize = 4;
constexpr size_t kMaxBloscTypeSize = 255;

template <size_t kCount>
bool IsOneOf(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Json IntegerOr(const Json& configuration, const char* name, int64_t otherwise) {
  const Json& value = MemberOrNull(configuration, name);
  return value.is_number_integer() ? value : Json(otherwise);
}

// The configuration of blosc. Only writers need it; readers use the header of the compressed data.
Json BloscConfiguration(const Json& given, size_t item_size) {
  constexpr std::array kShuffles = {"noshuffle"sv, "shuffle"sv, "bitshuffle"sv};
  const Json shuffle = IntegerOr(given, "shuffle", 1);
  // With shuffle -1, the item size selects the shuffle.
  std::string_view shuffle_name = item_size == 1 ? "bitshuffle" : "shuffle";
  if (shuffle == 0 || shuffle == 1 || shuffle == 2) shuffle_name = kShuffles[shuffle.get<size_t>()];
  const Json& cname = MemberOrNull(given, "cname");
  return Json{{"typesize", item_size > kMaxBloscTypeSize ? size_t{1} : item_size},
              {"cname", cname.is_string() ? cname : Json("lz4")},
              {"clevel", IntegerOr(given, "clevel", 5)},
              {"shuffle", shuffle_name},
              {"blocksize", IntegerOr(given, "blocksize", 0)}};
}

class ChainMaker {
 public:
  ChainMaker(const V2Dtype& dtype, std::string_view key) : key_(key), elements_(dtype) {
    chain_.codecs = Json::array();
    chain_.data_type = dtype.data_type;
  }

  void Transpose(size_t rank) {
    Json order = Json::array();
    for (size_t axis = rank; axis-- > 0;) order.push_back(axis);
    (void)Append("transpose", Json{{"order", std::move(order)}});
  }

  // Converts an entry of "filters", or the "compressor", and adds it to the chain.
  Result<void> Add(const Json& codec) {
    const std::string* const id_member = TextOf(MemberOrNull(codec, "id"));
    if (id_member == nullptr) {
      return Fail(ErrorCode::kDamaged, "{}: expected a codec with an id, found {}", key_,
                  Excerpt(codec));
    }
    const std::string& id = *id_member;
    Json configuration = codec;
    configuration.erase("id");
    if (!in_bytes_ && elements_.is_object()) return AddObjectFilter(id);
    if (IsOneOf(kElementFilters, id)) return AddElementFilter(id, std::move(configuration));
    if (IsOneOf(kNumberCompressors, id) && !in_bytes_) {
      in_bytes_ = true;
      return Append("numcodecs." + id, std::move(configuration));
    }
    if (!in_bytes_) AddBytes();
    // The output of this codec is bytes, so the next codec gets elements of 1 byte.
    const size_t item_size = std::exchange(elements_.item_size, 1);
    if (id == "blosc") return Append("blosc", BloscConfiguration(configuration, item_size));
    if (id == "gzip") return Append("gzip", Json{{"level", IntegerOr(configuration, "level", 1)}});
    if (id == "zstd") {
      const Json& checksum = MemberOrNull(configuration, "checksum");
      return Append("zstd", Json{{"level", IntegerOr(configuration, "level", 0)},
                                 {"checksum", checksum == true}});
    }
    if (!IsOneOf(kByteFilters, id)) return Unknown(id);
    if (id == "shuffle") {
      configuration["elementsize"] = IntegerOr(configuration, "elementsize", kShuffleElementSize);
    }
    return Append("numcodecs." + id, std::move(configuration));
  }

  Result<V2Codecs> Finish() && {
    if (!in_bytes_ && elements_.is_object()) {
      return Fail(ErrorCode::kUnsupported, "{}: dtype \"|O\" without a filter that encodes objects",
                  key_);
    }
    if (!in_bytes_) AddBytes();
    return std::move(chain_);
  }

 private:
  Result<void> Append(std::string_view name, Json configuration) {
    Json codec = Json{{"name", name}};
    // zarr-python requires numcodecs' own codecs to have a configuration, even an empty one.
    if (!configuration.empty() || name.starts_with("numcodecs.")) {
      codec["configuration"] = std::move(configuration);
    }
    chain_.codecs.push_back(std::move(codec));
    return {};
  }

  void AddBytes() {
    Json configuration = Json::object();
    if (!elements_.big.empty()) {
      Json runs = Json::array();
      for (const ByteRun& run : elements_.big) runs.push_back({run.first, run.end});
      configuration["big"] = std::move(runs);
      (void)Append(kMixedEndian, std::move(configuration));
      in_bytes_ = true;
      return;
    }
    if (elements_.byte_order != '|') {
      configuration["endian"] = elements_.byte_order == '>' ? "big" : "little";
    }
    (void)Append("bytes", std::move(configuration));
    in_bytes_ = true;
  }

  tl::unexpected<Error> Unknown(std::string_view id) const {
    return Fail(ErrorCode::kUnsupported, "{}: codec '{}' is not known", key_, AsciiExcerpt(id));
  }

  Result<void> AddObjectFilter(std::string_view id) {
    if (!IsOneOf(kObjectFilters, id)) {
      return Fail(ErrorCode::kUnsupported, "{}: dtype \"|O\" with the codec '{}' is not known",
                  key_, AsciiExcerpt(id));
    }
    in_bytes_ = true;
    elements_.item_size = 1;
    chain_.data_type = id == "vlen-utf8" ? "string" : "variable_length_bytes";
    return Append(id, Json::object());
  }

  Result<void> AddElementFilter(std::string_view id, Json configuration) {
    if (in_bytes_) {
      return Fail(ErrorCode::kUnsupported,
                  "{}: the filter '{}' after one that makes bytes is not known", key_, id);
    }
    if (id == "packbits") {
      if (elements_.number != "b1") return OnOthers(id, "\"|b1\"");
      elements_.number = "u1";
    } else if (id == "bitround") {
      if (!elements_.number.starts_with('f')) return OnOthers(id, "floats");
    } else {
      const bool is_astype = id == "astype";
      const char* const decoded = is_astype ? "decode_dtype" : "dtype";
      const char* const encoded = is_astype ? "encode_dtype" : "astype";
      // In numcodecs, an omitted encoded type means the decoded type, except in the filter
      // "astype".
      const Json& decoded_text = MemberOrNull(configuration, decoded);
      const Json& encoded_text = MemberOrNull(configuration, encoded);
      const auto from = ParseNumber(id, decoded, decoded_text);
      if (!from) return Fail(from);
      const auto to =
          encoded_text.is_null() && !is_astype ? from : ParseNumber(id, encoded, encoded_text);
      if (!to) return Fail(to);
      // If the decoded type is not the type of the elements, the filter would misinterpret their
      // bytes.
      if (from->number != elements_.number || from->byte_order != elements_.byte_order) {
        return OnOthers(id, Excerpt(decoded_text));
      }
      elements_ = *to;
    }
    return Append(fmt::format("numcodecs.{}", id), std::move(configuration));
  }

  tl::unexpected<Error> OnOthers(std::string_view id, std::string_view wanted) const {
    return Fail(ErrorCode::kUnsupported,
                "{}: the filter '{}' of {} on elements of another type is not known", key_, id,
                wanted);
  }

  Result<V2Dtype> ParseNumber(std::string_view id, const char* member, const Json& text) const {
    auto type = ParseV2Dtype(text, key_);
    if (!type || type->number.empty()) {
      return Fail(text.is_string() ? ErrorCode::kUnsupported : ErrorCode::kDamaged,
                  "{}: filter '{}': expected a number such as \"<i4\" as {}, found {}", key_, id,
                  member, Excerpt(text));
    }
    return type;
  }

  const std::string_view key_;
  V2Dtype elements_;  // the type of the elements that the next codec will encode
  bool in_bytes_ = false;
  V2Codecs chain_;
};

}  // namespace

Result<V2Codecs> ParseV2Codecs(const Json& zarray, const V2Dtype& dtype, size_t rank,
                               std::string_view key) {
  for (const char* member : {"order", "compressor"}) {
    if (!zarray.contains(member)) {
      return Fail(ErrorCode::kDamaged, "{}: expected a member {}, found none", key, member);
    }
  }
  ChainMaker maker(dtype, key);
  // zarr-python also accepts lower case. For "A" (any order), numpy creates an array in C order.
  Json order = zarray["order"];
  if (order == "c" || order == "A" || order == "a") order = "C";
  if (order == "f") order = "F";
  if (order != "C" && order != "F") {
    return Fail(ErrorCode::kDamaged, "{}: order: expected \"C\" or \"F\", found {}", key,
                Excerpt(order));
  }
  if (order == "F" && rank > 1) maker.Transpose(rank);
  const Json& filters = MemberOrNull(zarray, "filters");
  if (!filters.is_null() && !filters.is_array()) {
    return Fail(ErrorCode::kDamaged, "{}: filters: expected a list or null, found {}", key,
                Excerpt(filters));
  }
  if (filters.is_array()) {
    for (const Json& filter : filters) {
      if (const auto added = maker.Add(filter); !added) return Fail(added);
    }
  }
  if (const Json& compressor = zarray["compressor"]; !compressor.is_null()) {
    if (const auto added = maker.Add(compressor); !added) return Fail(added);
  }
  return std::move(maker).Finish();
}

}  // namespace zarrfs
