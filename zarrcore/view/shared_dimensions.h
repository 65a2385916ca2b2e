// SharedDimensions: names of dimensions for netCDF-C.
//
// netCDF-C 4.9 identifies a dimension by its name alone, in the whole store (later versions: in a
// group). Of two arrays whose dimensions have one name and two lengths, it would read one with the
// shape of the other. So only one length may have the plain name; names of dimensions of other
// lengths end in their length.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrfs {

/// The one dimension of an array of rank 0, in every group, for readers without scalars.
inline constexpr std::string_view kScalarDimension = "scalar";

/// An array of the root group.
struct ArrayDimensions {
  std::string array;
  std::vector<uint64_t> shape;
  std::vector<std::string> names;  // one for each; "" where there is none
  bool operator==(const ArrayDimensions&) const = default;
};

/// The name to write, by name and length.
using SharedDimensions = std::map<std::pair<std::string, uint64_t>, std::string>;

/// A dimension's name for a document that knows no other array: it ends in `_` and the length, so
/// it has one length everywhere. `place`: of the dimension in its array.
[[nodiscard]] std::string NameWithLength(std::string_view name, size_t place, uint64_t length);

/// Plain names of `arrays` that NameWithLength() could produce for another length.
[[nodiscard]] std::set<std::string> NamesLikeThoseWithLengths(
    std::span<const ArrayDimensions> arrays);

/// The names of all dimensions of the arrays in the root group. If one name has several lengths,
/// that of the coordinate variable (the array of this name, of rank 1) keeps the plain name; else
/// the one that most arrays have; else the smallest. The others get the length appended, then `_`
/// until the name is unique. `nodes`: the names of all nodes in the root group. `below`: those of
/// the names from NamesLikeThoseWithLengths() that occur in arrays of other groups.
[[nodiscard]] SharedDimensions ShareDimensions(std::span<const ArrayDimensions> arrays,
                                               std::span<const std::string> nodes,
                                               const std::set<std::string>& below);

/// The names to write for one of the arrays; nullopt if `shared` was made without it.
[[nodiscard]] std::optional<std::vector<std::string>> NamesOf(const ArrayDimensions& array,
                                                              const SharedDimensions& shared);

}  // namespace zarrfs
