// SharedDimensions: names of dimensions for netCDF-C.
//
// netCDF-C 4.9 identifies a dimension only by its name, in the whole store; later versions, within
// a group. If dimensions of two arrays had the same name and different lengths, netCDF-C would read
// one array with the shape of the other. So only dimensions of one length keep the plain name. For
// other lengths, the length is appended to the name.
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

/// The name, in all groups, of the dimension of scalars, which are shown as vectors of length 1 to
/// readers that do not support rank 0.
inline constexpr std::string_view kScalarDimension = "scalar";

/// The shape and dimension names of an array in the root group.
struct ArrayDimensions {
  std::string array;
  std::vector<uint64_t> shape;
  std::vector<std::string> names;  // one name per dimension; "" for a dimension without a name
  bool operator==(const ArrayDimensions&) const = default;
};

/// Maps the original name and the length of a dimension to the name that the view writes.
using SharedDimensions = std::map<std::pair<std::string, uint64_t>, std::string>;

/// Returns the name of a dimension in a .zattrs that is made without knowledge of other arrays. The
/// name ends in `_` and the length, so two dimensions with this name have the same length. `place`:
/// the dimension's index in its array.
[[nodiscard]] std::string NameWithLength(std::string_view name, size_t place, uint64_t length);

/// Returns the dimension names of `arrays` that look like results of NameWithLength() for another
/// length, such as "x_10" for a dimension of length 20.
[[nodiscard]] std::set<std::string> NamesLikeThoseWithLengths(
    std::span<const ArrayDimensions> arrays);

/// Returns the names to write for all dimensions of `arrays`, the arrays in the root group. If one
/// name has several lengths, one length keeps the plain name: that of the coordinate variable (an
/// array with this name, of rank 1), otherwise the length in most arrays, otherwise the smallest.
/// For other lengths, the length is appended to the name, and then `_` until the name is unique.
/// `nodes`: the names of all nodes in the root group. `below`: names from
/// NamesLikeThoseWithLengths() that occur in arrays of other groups.
[[nodiscard]] SharedDimensions ShareDimensions(std::span<const ArrayDimensions> arrays,
                                               std::span<const std::string> nodes,
                                               const std::set<std::string>& below);

/// Returns the dimension names to write for an array. nullopt if ShareDimensions() was called
/// without this array.
[[nodiscard]] std::optional<std::vector<std::string>> NamesOf(const ArrayDimensions& array,
                                                              const SharedDimensions& shared);

}  // namespace zarrfs
