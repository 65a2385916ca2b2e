#include "zarrcore/view/npy_view.h"

#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/codec/widen.h"
#include "zarrcore/view/v2_types.h"

namespace zarrfs {
namespace {

constexpr size_t kHeaderAlignment = 64;
constexpr size_t kMaxHeader1 = 0xffff;  // maximum length of the header in .npy version 1.0
constexpr uint64_t kMaxFileSize = uint64_t{1} << 62;

Result<ElementForm> FormOf(const DataType& type) {
  const bool is_narrow = type.kind >= DataKind::kNarrowInt && type.kind <= DataKind::kNarrowComplex;
  if (is_narrow) {
    if (auto wide = WideTypeOf(type)) return ElementForm{.type = *wide, .is_wide = true};
  }
  if (type.item_size > 0) return ElementForm{.type = type};
  return Fail(ErrorCode::kUnsupported, "data type '{}': .npy needs elements of a fixed size",
              type.name);
}

// Returns `text` as a Python string literal, with control characters escaped.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string DescriptionOf(const Json& dtype) {
  if (dtype.is_string()) return Quoted(dtype.get_ref<const std::string&>());
  std::string fields;
  for (const Json& field : dtype) {
    fields += fmt::format("({}, {}), ", Quoted(field[0].get_ref<const std::string&>()),
                          DescriptionOf(field[1]));
  }
  return fmt::format("[{}]", fields);
}

std::string ShapeText(const std::vector<uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Result<std::string> HeaderOf(const ArrayMetadata& array, const ElementForm& form) {
  const auto dtype = V2TypeOf(form.type, '<');
  if (!dtype) return Fail(dtype);
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}",
                                 DescriptionOf(*dtype), ShapeText(array.shape));
  const bool is_ascii = std::string_view(text).find_first_of("\x7f") == std::string::npos &&
                        std::ranges::none_of(text, [](char c) { return (c & 0x80) != 0; });
  // A .npy header consists of a magic number, two bytes of version, the length of the dictionary in
  // 2 or 4 bytes, and the dictionary.
  const auto padded = [&](size_t before) {
    const size_t whole = (before + text.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment;
    return whole * kHeaderAlignment - before;
  };
  const bool is_short = is_ascii && padded(10) <= kMaxHeader1;
  const size_t length = padded(is_short ? 10 : 12);
  std::string header = "\x93NUMPY";
  header += is_short ? '\1' : is_ascii ? '\2' : '\3';
  header += '\0';
  for (int i = 0; i < (is_short ? 2 : 4); ++i) header += static_cast<char>(length >> 8 * i & 0xff);
  text.resize(length - 1, ' ');
  return header + text + '\n';
}

class NpyViewImplementation final : public View {
 public:
  std::string_view name() const override { return "npy"; }
  std::string_view readers() const override { return "one .npy file for each array"; }

  bool is_listed() const override { return false; }
  FileOf file_of() const override { return FileOf::kArrays; }
  std::string_view suffix() const override { return ".npy"; }

  Result<ArrayView> ShowArray(const ArrayMetadata& metadata, const ArrayLayout& layout,
                              const ViewContext& /*context*/) const override {
    if (metadata.grid_only) return tl::unexpected(*metadata.grid_only);
    const auto form = FormOf(metadata.data_type);
    if (!form) return Fail(form);
    if (!layout.inner_pipeline) return Fail(layout.inner_pipeline);
    const auto size = CheckedProduct(metadata.shape, form->item_size());
    if (!size || *size > kMaxFileSize) {
      return Fail(ErrorCode::kTooLarge, "the array has too many bytes for one file");
    }
    return ArrayView{};
  }

  Result<AssembledFile> Assemble(const FileSource& source) const override {
    const ArrayMetadata& array = *source.arrays.front().metadata;
    auto form = FormOf(array.data_type);
    if (!form) return Fail(form);
    auto header = HeaderOf(array, *form);
    if (!header) return Fail(header);
    const uint64_t elements = CheckedProduct(array.shape).value_or(0);
    AssembledFile file{std::move(*header), {}, 0};
    file.parts.push_back({file.header.size(), elements, 0, std::move(*form)});
    file.size = file.header.size() + file.parts.back().size();
    return file;
  }

  GroupView ShowGroup(const GroupMetadata& /*metadata*/,
                      const ViewContext& /*context*/) const override {
    return {};
  }
  std::string_view ArrayDocumentName() const override { return ""; }
  std::string_view ConsolidatedName(const GroupMetadata& /*metadata*/) const override { return ""; }
  std::string Consolidate(std::span<const NodeBelow> /*nodes*/) const override { return ""; }
  bool AllowsNodeName(std::string_view /*node*/) const override { return true; }
};

}  // namespace

const View& NpyView() {
  static const NpyViewImplementation view;
  return view;
}

}  // namespace zarrfs
