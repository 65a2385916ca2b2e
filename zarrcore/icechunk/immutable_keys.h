// ImmutableKeys: determines which objects of a source never change and need not be requested again.
// In an Icechunk repository these are chunks, manifests and snapshots, whose names are random. The
// process that fetches objects recognizes a repository by the fetched bytes, and does not rely on
// other processes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace zarrfs {

/// Learns from fetched objects which keys never change. Not thread-safe.
class ImmutableKeys {
 public:
  /// Records that the object `key` of the source begins with `bytes`.
  void Learn(std::string_view key, std::span<const std::byte> bytes);

  /// True if the object `key` never changes. False if it may change.
  [[nodiscard]] bool Has(std::string_view key) const;

 private:
  bool is_icechunk_ = false;
};

}  // namespace zarrfs
