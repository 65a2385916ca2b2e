// Elements of arrays as numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs::ctl {

class ElementNumbers {
 public:
  /// nullopt for types that are no numbers: text, structures, complex numbers, raw bytes. `type`
  /// outlives it.
  [[nodiscard]] static std::optional<ElementNumbers> Of(const DataType& type);

  /// Of an element as the codecs decode it; NaN for what is no number: NaN, "not a time".
  [[nodiscard]] double operator()(const std::byte* element) const {
    return load_ != nullptr ? load_(element) : LoadNarrow(element);
  }

  /// Exact, also where both are the same as doubles.
  [[nodiscard]] bool IsLess(const std::byte* a, const std::byte* b) const;

  /// Exact: "271.25", "-3", "true".
  [[nodiscard]] std::string Text(const std::byte* element) const;

  /// Whether the mean of two numbers is one that could be there.
  [[nodiscard]] bool is_float() const { return is_float_; }
  [[nodiscard]] size_t item_size() const { return type_->item_size; }

 private:
  using Load = double (*)(const std::byte*);
  ElementNumbers(const DataType& type, Load load, bool is_float)
      : type_(&type), load_(load), is_float_(is_float) {}
  [[nodiscard]] double LoadNarrow(const std::byte* element) const;

  const DataType* type_;
  Load load_;  // null for numbers of less than a byte, and small floats
  bool is_float_;
};

}  // namespace zarrfs::ctl
