// The allocator for lists of JSON values.
//
// To destroy a value, nlohmann's library allocates a stack of the values to destroy. An exception
// there would end the process. So if operator new fails, this allocator maps shared memory, which
// RLIMIT_DATA does not limit.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace zarrfs::internal {

[[nodiscard]] void* AllocateJsonValues(size_t bytes);
void FreeJsonValues(void* memory, size_t bytes) noexcept;

}  // namespace zarrfs::internal

template <>
class std::allocator<nlohmann::ordered_json> {
 public:
  using value_type = nlohmann::ordered_json;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <typename Other>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators must convert implicitly
  constexpr allocator(const allocator<Other>& /*other*/) noexcept {}

  [[nodiscard]] value_type* allocate(size_t count) {
    return static_cast<value_type*>(
        zarrfs::internal::AllocateJsonValues(count * sizeof(value_type)));
  }
  void deallocate(value_type* memory, size_t count) noexcept {
    zarrfs::internal::FreeJsonValues(memory, count * sizeof(value_type));
  }
  friend constexpr bool operator==(const allocator& /*a*/, const allocator& /*b*/) noexcept {
    return true;
  }
};
