#include "zarrcore/view/netcdf_header.h"

#include <algorithm>

namespace zarrfs {
namespace {

enum class Tag : uint32_t { kDimension = 0x0a, kVariable = 0x0b, kAttribute = 0x0c };

constexpr std::string_view kTypeNames[] = {"",       "int8",    "uint8",   "int16",
                                           "int32",  "float32", "float64", "uint8",
                                           "uint16", "uint32",  "int64",   "uint64"};

class HeaderWriter {
 public:
  explicit HeaderWriter(int version) : version_(version), text_("CDF") {
    text_ += static_cast<char>(version);
    Count(0);  // the number of records
  }

  void Big(uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0;) text_ += static_cast<char>(value >> 8 * i & 0xff);
  }
  // Writes a number of the type that the specification calls NON_NEG: 64 bits in CDF-5, 32 in
  // CDF-2.
  void Count(uint64_t value) { Big(value, version_ == 5 ? 8 : 4); }
  void Text(std::string_view text) {
    Count(text.size());
    Padded(text);
  }
  void Padded(std::string_view bytes) {
    text_ += bytes;
    text_.resize((text_.size() + 3) / 4 * 4, '\0');
  }
  // Writes the tag and the length of a list. The tag of an empty list is 0 (ABSENT).
  void List(Tag tag, size_t count) {
    Big(count == 0 ? 0 : static_cast<uint32_t>(tag), 4);
    Count(count);
  }
  void Attributes(const std::vector<NcAttribute>& attributes) {
    List(Tag::kAttribute, attributes.size());
    for (const NcAttribute& attribute : attributes) {
      Text(attribute.name);
      Big(static_cast<uint32_t>(attribute.type), 4);
      Count(attribute.values.size() / SizeOf(attribute.type));
      Padded(attribute.values);
    }
  }
  void Variable(const NcVariable& variable) {
    Text(variable.name);
    Count(variable.dimensions.size());
    for (const size_t dimension : variable.dimensions) Count(dimension);
    Attributes(variable.attributes);
    Big(static_cast<uint32_t>(variable.type), 4);
    const uint64_t size = (variable.size + 3) / 4 * 4;
    // In CDF-2, a size above 32 bits is written as the largest 32-bit number. Readers then compute
    // the size from the dimensions.
    Count(version_ == 5 ? size : std::min<uint64_t>(size, UINT32_MAX));
    Big(variable.begin, 8);
  }

  std::string&& Take() { return std::move(text_); }

 private:
  const int version_;
  std::string text_;
};

}  // namespace

size_t SizeOf(NcType type) { return type == NcType::kChar ? 1 : DataTypeOf(type).item_size; }

DataType DataTypeOf(NcType type) { return CoreType(kTypeNames[static_cast<size_t>(type)]); }

std::string NetcdfHeader::Encode(int version) const {
  HeaderWriter writer(version);
  writer.List(Tag::kDimension, dimensions.size());
  for (const NcDimension& dimension : dimensions) {
    writer.Text(dimension.name);
    writer.Count(dimension.length);
  }
  writer.Attributes(attributes);
  writer.List(Tag::kVariable, variables.size());
  for (const NcVariable& variable : variables) writer.Variable(variable);
  return writer.Take();
}

}  // namespace zarrfs
