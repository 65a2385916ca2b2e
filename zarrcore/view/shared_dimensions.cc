#include "zarrcore/view/shared_dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace zarrfs {
namespace {

struct Use {
  bool is_of_coordinate = false;
  size_t arrays = 0;
};

// Returns the lengths that each dimension name has in `arrays`, and how each length is used.
std::map<std::string, std::map<uint64_t, Use>> UsesOf(std::span<const ArrayDimensions> arrays) {
  std::map<std::string, std::map<uint64_t, Use>> uses;
  for (const ArrayDimensions& array : arrays) {
    std::set<std::pair<std::string_view, uint64_t>> counted;
    for (size_t d = 0; d < array.shape.size(); ++d) {
      if (array.names[d].empty() || !counted.emplace(array.names[d], array.shape[d]).second) {
        continue;
      }
      Use& use = uses[array.names[d]][array.shape[d]];
      ++use.arrays;
      if (array.shape.size() == 1 && array.names[d] == array.array) use.is_of_coordinate = true;
    }
  }
  return uses;
}

uint64_t LengthOfPlainName(const std::string& name, const std::map<uint64_t, Use>& lengths) {
  if (name == kScalarDimension) return 1;
  // max_element returns the first of equal elements, which is the smallest length here.
  return std::ranges::max_element(lengths, {},
                                  [](const auto& each) {
                                    const Use& use = each.second;
                                    return std::tuple(use.is_of_coordinate, use.arrays);
                                  })
      ->first;
}

// True if `name` ends in `_` and a number other than `length`.
bool EndsInOtherLength(std::string_view name, uint64_t length) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == name.size() || name[digits - 1] != '_') return false;
  return name[digits] != '0' && name.substr(digits) != std::to_string(length);
}

}  // namespace

std::string NameWithLength(std::string_view name, size_t place, uint64_t length) {
  if (name.empty()) return fmt::format("dim_{}_{}", place, length);
  return fmt::format("{}_{}", name, length);
}

std::set<std::string> NamesLikeThoseWithLengths(std::span<const ArrayDimensions> arrays) {
  std::set<std::string> names;
  for (const auto& [name, lengths] : UsesOf(arrays)) {
    if (EndsInOtherLength(name, LengthOfPlainName(name, lengths))) names.insert(name);
  }
  return names;
}

SharedDimensions ShareDimensions(std::span<const ArrayDimensions> arrays,
                                 std::span<const std::string> nodes,
                                 const std::set<std::string>& below) {
  const auto uses = UsesOf(arrays);
  SharedDimensions shared;
  std::set<std::string> taken(nodes.begin(), nodes.end());
  std::set<std::string> without_plain = below;  // names that always get a length appended
  for (const ArrayDimensions& array : arrays) {
    for (size_t d = 0; d < array.shape.size(); ++d) {
      if (!array.names[d].empty()) continue;
      const std::string made = NameWithLength("", d, array.shape[d]);
      taken.insert(made);
      if (const auto given = uses.find(made); given != uses.end()) {
        const uint64_t plain = LengthOfPlainName(made, given->second);
        if (plain != array.shape[d]) without_plain.insert(made);
      }
    }
  }
  for (const auto& [name, lengths] : uses) {
    taken.insert(name);
    const uint64_t plain = LengthOfPlainName(name, lengths);
    if (lengths.contains(plain) && !without_plain.contains(name)) shared[{name, plain}] = name;
  }
  for (const auto& [name, lengths] : uses) {
    for (const auto& [length, use] : lengths) {
      if (shared.contains({name, length})) continue;
      std::string with_length = NameWithLength(name, 0, length);
      while (!taken.insert(with_length).second) with_length += '_';
      shared[{name, length}] = std::move(with_length);
    }
  }
  return shared;
}

std::optional<std::vector<std::string>> NamesOf(const ArrayDimensions& array,
                                                const SharedDimensions& shared) {
  std::vector<std::string> names;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    if (array.names[d].empty()) {
      names.push_back(NameWithLength("", d, array.shape[d]));
      continue;
    }
    const auto found = shared.find({array.names[d], array.shape[d]});
    if (found == shared.end()) return std::nullopt;
    names.push_back(found->second);
  }
  return names;
}

}  // namespace zarrfs
