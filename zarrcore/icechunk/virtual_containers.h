// IcechunkContainers: the virtual chunk containers of a repository, by their names. A location
// "vcc://NAME/a.nc" means the prefix of the container NAME, followed by "a.nc".
//
// The containers are in the configuration of the repository, which may also contain regions and
// credentials. Only names and prefixes are used. A prefix grants no access: the resulting location
// is checked like any other (virtual_prefix.h).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "zarrcore/base/mutex.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// Maximum size of a configuration, in bytes.
inline constexpr size_t kMaxIcechunkConfig = size_t{1} << 20;

/// Prefixes, keyed by the names of containers.
using IcechunkPrefixes = std::map<std::string, std::string, std::less<>>;

/// Parses the configuration in the file `repo`, which is a FlexBuffer. Omits containers without a
/// name. kDamaged if it is not a FlexBuffer; kTooLarge above kMaxIcechunkConfig.
[[nodiscard]] Result<IcechunkPrefixes> ParseIcechunkConfig(std::string_view config);

/// Resolves names of containers. Reads the configuration when a location names an unknown
/// container. The prefix of a known container never changes. Thread-safe.
class IcechunkContainers {
 public:
  explicit IcechunkContainers(std::shared_ptr<const Store> repository)
      : repository_(std::move(repository)) {}

  /// True for a location that names a container.
  [[nodiscard]] static bool IsNamed(std::string_view location);

  /// Replaces "vcc://NAME/" at the beginning of `location` with the prefix of the container NAME.
  /// Returns other locations unchanged. kUnsupported if the repository has version 1 or no
  /// container NAME, or if the prefix does not end in a slash. Otherwise returns the errors of
  /// ReadIcechunkConfig() and ParseIcechunkConfig().
  [[nodiscard]] Result<std::string> Resolve(std::string location) const;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] std::optional<std::string> Find(std::string_view name) const;
  [[nodiscard]] Result<void> ReadAgain() const;

  const std::shared_ptr<const Store> repository_;
  mutable Mutex mutex_;
  mutable IcechunkPrefixes prefixes_ GUARDED_BY(mutex_);
  mutable std::optional<Clock::time_point> read_ GUARDED_BY(mutex_);
};

}  // namespace zarrfs
