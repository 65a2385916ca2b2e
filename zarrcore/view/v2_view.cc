#include "zarrcore/view/v2_view.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/codec/vlen.h"
#include "zarrcore/codec/widen.h"
#include "zarrcore/metadata/nczarr.h"
#include "zarrcore/metadata/ome.h"
#include "zarrcore/store/store.h"
#include "zarrcore/view/gdal_crs.h"
#include "zarrcore/view/pass_through.h"
#include "zarrcore/view/v2_attributes.h"
#include "zarrcore/view/v2_chain.h"
#include "zarrcore/view/v2_fill.h"
#include "zarrcore/view/v2_types.h"

namespace zarrfs {
namespace {

// Maximum size in bytes of an array of strings that is shown as one chunk.
constexpr uint64_t kMaxTextFile = uint64_t{1} << 30;

tl::unexpected<Error> NotShown(const DataType& type) {
  return Fail(ErrorCode::kUnsupported, "data type '{}' is not supported by this view's readers",
              type.name);
}

TypeUse UseOf(const DataType& type, const ReaderProfile& profile) {
  if (type.kind == DataKind::kStruct) {
    for (const StructField& field : type.fields) {
      if (UseOf(field.type, profile) != TypeUse::kAsIs) return TypeUse::kRefused;
    }
  }
  if (type.kind == DataKind::kFloat && type.item_size == 2 && !profile.takes_float16) {
    return TypeUse::kWide;
  }
  if (type.kind == DataKind::kUint && type.item_size == 8 && !profile.takes_uint64) {
    return TypeUse::kRefused;
  }
  return profile.types[static_cast<size_t>(type.kind)];
}

// True if widening (codec/widen.h) changes the bytes of elements of `type`, not only the name of
// their type.
bool ChangesBytes(const DataType& type) {
  return type.kind == DataKind::kNarrowInt || type.kind == DataKind::kNarrowUint ||
         type.kind == DataKind::kNarrowFloat || type.kind == DataKind::kNarrowComplex ||
         type.kind == DataKind::kFloat;
}

// True if a masked fill value would hide data that xarray does not mask in the v3 array. xarray
// opens any v3 array with dimension_names, even if all are null. Also true if the fill value is
// undefined, because .zarray must then state no fill value.
bool HasNamedDimensions(const ArrayMetadata& metadata) {
  return metadata.undefined_fill || metadata.rank() == 0 || metadata.dimension_names;
}

char Separator(const ChunkKeyEncoding& encoding, const ViewContext& context) {
  if (context.forced_separator != '\0') return context.forced_separator;
  if (encoding.kind == ChunkKeyEncoding::Kind::kV2) return encoding.separator;
  return context.below_ome ? '/' : '.';
}

// Returns kUnsupported if the reader does not support the array's shape.
Result<void> TakeShape(const ArrayMetadata& metadata, const ArrayLayout& layout,
                       const ReaderProfile& profile) {
  const uint64_t most = profile.largest_extent;
  const bool has_more = std::ranges::any_of(metadata.shape, [&](uint64_t n) { return n > most; });
  if (has_more || CheckedProduct(layout.inner_chunk_shape).value_or(UINT64_MAX) > most) {
    return Fail(ErrorCode::kUnsupported, "more than {} elements along an axis or in a chunk", most);
  }
  if (!profile.takes_empty_dimensions &&
      std::ranges::find(metadata.shape, 0) != metadata.shape.end()) {
    return Fail(ErrorCode::kUnsupported, "empty dimension");
  }
  return {};
}

// Returns the number of elements along each axis of a chunk file. If the reader does not accept
// chunks larger than the array, they are cut to the array's length.
std::vector<uint64_t> FileExtent(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                 const ReaderProfile& profile) {
  std::vector<uint64_t> extent = layout.inner_chunk_shape;
  for (size_t d = 0; d < extent.size() && !profile.takes_padding; ++d) {
    extent[d] = std::min(extent[d], std::max<uint64_t>(metadata.shape[d], 1));
  }
  return extent;
}

// Chooses how chunk files are made from stored chunks, and how the reader decodes the files.
// `type`: the type of the elements in the files. `must_decode`: see V2View::ShowArray().
Result<V2Chain> ChooseEncoding(const ArrayMetadata& metadata, const ArrayLayout& layout,
                               const DataType& type, const ReaderProfile& profile,
                               const CompressorSet& compressors, bool must_decode,
                               ChunkEncoding& encoding) {
  const DataType& stored = metadata.data_type;
  const std::vector<uint64_t> extent = FileExtent(metadata, layout, profile);
  auto chain = ToV2Chain(layout, stored, profile, compressors);
  if (chain && !encoding.is_wide && extent == layout.inner_chunk_shape && !must_decode) {
    encoding.cut_front = chain->cut_front;
    encoding.cut_back = chain->cut_back;
    encoding.checksums = chain->checksums;
    if (chain->has_zstd && profile.needs_plain_zstd) {
      encoding.kind = ChunkEncoding::Kind::kPatchedZstd;
      if (layout.inner_pipeline) {
        const uint64_t elements = CheckedProduct(layout.inner_chunk_shape).value_or(0);
        encoding.size = elements * chain->filtered_item_size;
      }
    }
    return chain;
  }
  if (!layout.inner_pipeline) {
    if (chain) return NotShown(stored);
    if (stored.item_size == 0) return chain;  // returns the error of ToV2Chain()
    return Fail(ErrorCode::kUnsupported, "{}", layout.inner_pipeline.error().message);
  }
  // The product does not overflow, because `extent` has at most as many elements as the chunk.
  encoding.size = CheckedProduct(extent).value_or(0) * type.item_size;
  const uint64_t largest = std::max(layout.inner_pipeline->decoded_size(), encoding.size);
  if (largest > kMaxChunkBytes) {
    return Fail(ErrorCode::kUnsupported, "chunks of {} bytes exceed the limit of {} for decoding",
                largest, kMaxChunkBytes);
  }
  encoding.kind = ChunkEncoding::Kind::kDecoded;
  if (extent != layout.inner_chunk_shape) encoding.extent = extent;
  return V2Chain{};
}

}  // namespace

Result<ArrayView> V2View::ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                    const ViewContext& context) const {
  if (profile_.passes_v2_through && metadata.is_stored_as_v2()) {
    return ShowStoredV2(metadata, layout, context);
  }
  if (metadata.grid_only) return tl::unexpected(*metadata.grid_only);
  if (metadata.data_type.kind == DataKind::kString && profile_.longest_text > 0) {
    return ShowTexts(metadata, layout, context);
  }
  return ShowArray(metadata, layout, context, /*must_decode=*/false);
}

Result<ArrayView> V2View::ShowStoredV2(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                       const ViewContext& context) const {
  const bool has_unknown = !metadata.grid_only && context.compressors != kAllCompressors &&
                           ToV2Chain(layout, metadata.data_type, profile_) &&
                           !ToV2Chain(layout, metadata.data_type, profile_, context.compressors);
  if (has_unknown) {
    ViewContext keeping = context;  // shows the store's own fill value
    keeping.fill = FillPolicy::kAsStored;
    if (auto shown = ShowArray(metadata, layout, keeping, /*must_decode=*/true)) return shown;
  }
  return PassThroughV2(metadata, context);
}

Result<ArrayView> V2View::ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                    const ViewContext& context, bool must_decode) const {
  const DataType& stored = metadata.data_type;
  const TypeUse use = UseOf(stored, profile_);
  if (use == TypeUse::kRefused) return NotShown(stored);
  if (const auto taken = TakeShape(metadata, layout, profile_); !taken) return Fail(taken);
  const DataType type = use == TypeUse::kWide ? *WideTypeOf(stored) : stored;
  ArrayView view;
  view.encoding.is_wide = use == TypeUse::kWide && ChangesBytes(stored);
  const auto chain = ChooseEncoding(metadata, layout, type, profile_, context.compressors,
                                    must_decode, view.encoding);
  if (!chain) return Fail(chain);
  if (type.item_size == 0 && chain->filters.is_null()) return NotShown(stored);
  const auto v2_type = V2TypeOf(type, chain->byte_order);
  if (!v2_type) return Fail(v2_type);
  // GDAL 3.6 crashes on a scalar with the separator '/'. The only chunk of a scalar is called "0"
  // regardless of the separator.
  view.naming.separator = metadata.rank() == 0 ? '.' : Separator(metadata.key_encoding, context);

  std::vector<std::string> notes;
  const auto given_attributes = [&] {
    notes.clear();
    Json given = WithValidFill(metadata.attributes, stored, notes);
    // If booleans are shown as numbers, _FillValue must be a number, too.
    if (const auto fill_value = given.find("_FillValue"); fill_value != given.end()) {
      if (type.kind != stored.kind && fill_value->is_boolean())
        *fill_value = int{*fill_value == true};
    }
    return profile_.has_cf_time ? WithCfTime(std::move(given), stored, notes) : given;
  };
  Json attributes = given_attributes();
  const FillBytes fill =
      view.encoding.is_wide ? Widen(metadata.fill_value, stored) : metadata.fill_value;
  const auto choose = [&](const ViewContext& how) {
    return ChooseV2Fill(fill, type, chain->byte_order, HasNamedDimensions(metadata), how, profile_,
                        attributes);
  };
  V2Fill chosen = choose(context);
  if (chosen.must_make_chunks && view.encoding.kind != ChunkEncoding::Kind::kDecoded) {
    if (const auto can = FillChunk::CanBeMade(metadata, layout); !can) {
      // The files for missing chunks cannot be encoded, so all chunks are shown decoded if
      // possible.
      if (layout.inner_pipeline && layout.inner_pipeline->decoded_size() <= kMaxChunkBytes) {
        return ShowArray(metadata, layout, context, /*must_decode=*/true);
      }
      ViewContext keeping = context;
      keeping.fill = FillPolicy::kAsStored;
      attributes = given_attributes();
      chosen = choose(keeping);
      chosen.must_make_chunks = false;
      chosen.notes.push_back(
          fmt::format("chunks that are not stored have no files: {}", can.error().message));
    }
  }
  view.notes = std::move(chosen.notes);
  view.notes.insert(view.notes.end(), notes.begin(), notes.end());
  if (chosen.must_make_chunks) {
    view.fill_chunk = std::make_shared<const FillChunk>(metadata, layout, view.encoding);
  }

  AddDocuments(metadata, layout, *chain, *v2_type, std::move(chosen.fill_value),
               std::move(attributes), context, view);
  return view;
}

void V2View::AddDocuments(const ArrayMetadata& metadata, const ArrayLayout& layout,
                          const V2Chain& chain, const Json& type, Json fill_value, Json attributes,
                          const ViewContext& context, ArrayView& view) const {
  const bool is_vector = metadata.rank() == 0 && !profile_.takes_scalars;
  Json zarray;
  zarray["zarr_format"] = 2;
  zarray["shape"] = is_vector ? std::vector<uint64_t>{1} : metadata.shape;
  zarray["chunks"] = is_vector ? std::vector<uint64_t>{1} : FileExtent(metadata, layout, profile_);
  zarray["dtype"] = type;
  zarray["compressor"] = chain.compressor;
  zarray["fill_value"] = std::move(fill_value);
  zarray["order"] = std::string(1, chain.order);
  zarray["filters"] = chain.filters;
  zarray["dimension_separator"] = std::string(1, view.naming.separator);
  // With "dtype": "bool", xarray would convert a masked value to true.
  if (profile_.is_netcdf && zarray["fill_value"].is_null()) {
    attributes = WithBoolType(std::move(attributes), metadata.data_type, view.notes);
  }
  view.documents.push_back({".zarray", Dump(zarray)});
  AddAttributes(metadata, type, std::move(attributes), context, view);
}

void V2View::AddAttributes(const ArrayMetadata& metadata, const Json& type, Json attributes,
                           const ViewContext& context, ArrayView& view) const {
  const bool is_vector = metadata.rank() == 0 && !profile_.takes_scalars;
  LeaveOutUnreadable(attributes, view.notes);
  const auto dimensions = attributes.find(kDimensionsAttribute);
  if (dimensions != attributes.end() && !AreDimensionNames(*dimensions, metadata.rank())) {
    view.notes.push_back(LeftOut(kDimensionsAttribute, *dimensions,
                                 fmt::format("list of {} names", metadata.rank())));
  }
  if (profile_.is_gdal && metadata.rank() >= 2) attributes = WithGdalCrs(std::move(attributes));
  if (profile_.needs_plain_attributes) attributes = PlainAttributes(attributes);
  if (profile_.needs_strict_json) MakeStrict(attributes);
  if (profile_.needs_typed_fill) TypeFillAttribute(attributes, type.get<std::string>());
  // GDAL warns about each resolution of an image if dimensions of the same name differ in length.
  const bool with_lengths = profile_.shares_dimensions || (profile_.is_gdal && context.below_ome);
  attributes[kDimensionsAttribute] =
      is_vector ? Json::array({kScalarDimension})
                : DimensionNames(metadata, profile_.needs_plain_names, with_lengths);
  view.documents.push_back({".zattrs", Dump(attributes)});
  if (profile_.shares_dimensions) {
    view.dimensions.shape = is_vector ? std::vector<uint64_t>{1} : metadata.shape;
    view.dimensions.names = is_vector ? std::vector<std::string>{std::string(kScalarDimension)}
                                      : PlainDimensionNames(metadata);
    // Arrays of OME groups are resolutions of one image, so their dimensions are not shared.
    if (context.is_in_root && !context.below_ome) view.attributes = std::move(attributes);
  }
}

void V2View::LeaveOutUnreadable(Json& attributes, std::vector<std::string>& notes) const {
  attributes = WithoutNczarr(std::move(attributes));
  if (const auto empty = attributes.find("");
      !profile_.takes_empty_names && empty != attributes.end()) {
    notes.emplace_back("attribute '' left out: this view's readers refuse an empty attribute name");
    attributes.erase(empty);
  }
  if (!profile_.is_netcdf) return;
  Json others = Json::object();
  for (auto& [name, value] : attributes.items()) {
    if (IsNczarrName(name)) {
      notes.push_back(LeftOut(name, value, "object"));
    } else {
      others.get_ref<Json::object_t&>().emplace_back(name, std::move(value));
    }
  }
  attributes = std::move(others);
}

Result<ArrayView> V2View::ShowTexts(const ArrayMetadata& metadata, const ArrayLayout& layout,
                                    const ViewContext& context) const {
  if (const auto taken = TakeShape(metadata, layout, profile_); !taken) return Fail(taken);
  if (!layout.inner_texts) return Fail(layout.inner_texts);
  ArrayView view;
  view.has_texts = true;
  Json attributes = metadata.attributes;
  attributes.erase("_FillValue");  // so readers mask no string
  view.documents.emplace_back();
  AddAttributes(metadata, Json("|O"), std::move(attributes), context, view);
  view.documents.push_back({".zarray", ""});
  view.documents.push_back({ChunkNaming{}.Path(std::vector<uint64_t>(metadata.rank(), 0)), ""});
  return view;
}

Result<AssembledFile> V2View::Assemble(const FileSource& source) const {
  AssembledFile file;
  const ArrayMetadata& metadata = *source.arrays[0].metadata;
  const auto range = source.scan(0);
  if (!range) {
    file.notes.push_back(range.error().message);
    return file;
  }
  if (range->text_characters > profile_.longest_text) {
    file.notes.push_back(fmt::format("string of {} characters; this view's readers accept {}",
                                     range->text_characters, profile_.longest_text));
    return file;
  }
  const DataType type = TextType(TextItems::kUtf32, range->text_characters);
  const auto size = CheckedProduct(metadata.shape, type.item_size);
  if (!size || *size > kMaxTextFile) {
    file.notes.push_back(
        fmt::format("as one chunk, the array would exceed {} bytes", kMaxTextFile));
    return file;
  }
  file.parts.push_back({0, *CheckedProduct(metadata.shape), 0, {.type = type}});
  file.size = *size;
  file.document = Dump({{"zarr_format", 2},
                        {"shape", metadata.shape},
                        {"chunks", metadata.shape},
                        {"dtype", fmt::format("<U{}", range->text_characters)},
                        {"compressor", nullptr},
                        {"fill_value", nullptr},
                        {"order", "C"},
                        {"filters", nullptr},
                        {"dimension_separator", "."}});
  return file;
}

std::string V2View::ShareDimensions(const ArrayView& array,
                                    const std::vector<std::string>& names) const {
  Json attributes = array.attributes;
  attributes[kDimensionsAttribute] = names;
  return Dump(attributes);
}

GroupView V2View::ShowGroup(const GroupMetadata& metadata, const ViewContext& context) const {
  if (profile_.passes_v2_through && metadata.is_stored_as_v2()) {
    return {StoredV2(*metadata.stored, ".zgroup"), {}};
  }
  OmeAttributes shown{metadata.attributes, {}};
  if (profile_.shows_ome_04 && !context.keeps_ome) shown = AsOme04(std::move(shown.attributes));
  LeaveOutUnreadable(shown.attributes, shown.notes);
  if (profile_.needs_plain_attributes) shown.attributes = PlainAttributes(shown.attributes);
  if (profile_.needs_strict_json) MakeStrict(shown.attributes);
  return {{{".zgroup", Dump(Json{{"zarr_format", 2}})}, {".zattrs", Dump(shown.attributes)}},
          std::move(shown.notes)};
}

std::string_view V2View::ConsolidatedName(const GroupMetadata& metadata) const {
  const bool has_none =
      profile_.passes_v2_through && metadata.is_stored_as_v2() && !metadata.stored->has_zmetadata;
  return profile_.has_consolidated_metadata && !has_none ? ".zmetadata" : "";
}

// Writes the format of zarr-python 2; see "Consolidating metadata" in its documentation.
std::string V2View::Consolidate(std::span<const NodeBelow> nodes) const {
  std::string text = "{\n\"zarr_consolidated_format\": 1,\n\"metadata\": {";
  std::string_view comma;
  for (const NodeBelow& node : nodes) {
    for (const Document& document : node.documents) {
      text += fmt::format("{}\n{}: {}", comma, JsonText(JoinKey(node.path, document.name)),
                          InsideJson(document.bytes, JsonEncoding::kAscii));
      comma = ",";
    }
  }
  return text + "\n}\n}\n";
}

bool V2View::AllowsNodeName(std::string_view node) const {
  // Names that begin with a dot are hidden, because netCDF-C ignores them.
  const bool is_plain = PlainName(std::string(node)) == node && !node.starts_with('.');
  if (profile_.needs_plain_names && !is_plain) return false;
  return !node.starts_with(".z");
}

std::string V2View::Dump(const Json& json) const {
  return DumpJson(json, profile_.needs_utf8 ? JsonEncoding::kUtf8 : JsonEncoding::kAscii);
}

}  // namespace zarrfs
