// ElementNumbers: converts elements of arrays to numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "zarrcore/metadata/data_type.h"

namespace zarrfs::ctl {

class ElementNumbers {
 public:
  /// Returns the conversion for a data type; nullopt for types that are not numbers: strings,
  /// structs, complex numbers, raw bytes. `type` must outlive the result.
  [[nodiscard]] static std::optional<ElementNumbers> Of(const DataType& type);

  /// Returns the number in a decoded element. The result is NaN for NaN and "not a time".
  [[nodiscard]] double operator()(const std::byte* element) const {
    return load_ != nullptr ? load_(element) : LoadNarrow(element);
  }

  /// Compares two elements exactly, even if they are equal as doubles.
  [[nodiscard]] bool IsLess(const std::byte* a, const std::byte* b) const;

  /// Returns the exact number as text: "271.25", "-3", "true".
  [[nodiscard]] std::string Text(const std::byte* element) const;

  /// True for floating-point elements, whose type can represent a mean.
  [[nodiscard]] bool is_float() const { return is_float_; }
  [[nodiscard]] size_t item_size() const { return type_->item_size; }

 private:
  using Load = double (*)(const std::byte*);
  ElementNumbers(const DataType& type, Load load, bool is_float)
      : type_(&type), load_(load), is_float_(is_float) {}
  [[nodiscard]] double LoadNarrow(const std::byte* element) const;

  const DataType* type_;
  Load load_;  // null for numbers of less than a byte, and for small floats
  bool is_float_;
};

}  // namespace zarrfs::ctl
