// ImmutableKeys: which objects of a source need not be asked for again, because they never change:
// in an Icechunk repository chunks, manifests and snapshots, whose names are random. What the
// source is, its own objects say, to the process that fetches them: no other one is believed.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace zarrfs {

/// Not thread-safe.
class ImmutableKeys {
 public:
  /// The object `key` of the source begins with `bytes`.
  void Learn(std::string_view key, std::span<const std::byte> bytes);

  /// Whether the object `key` never changes. False as long as nothing says so.
  [[nodiscard]] bool Has(std::string_view key) const;

 private:
  bool is_icechunk_ = false;
};

}  // namespace zarrfs
