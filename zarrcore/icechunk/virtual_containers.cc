#include "zarrcore/icechunk/virtual_containers.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/repository.h"

namespace zarrfs {
namespace {

constexpr std::string_view kScheme = "vcc://";
// If locations name unknown containers, the configuration is read again at most this often.
constexpr auto kPause = std::chrono::seconds(1);

std::string TextIn(const flexbuffers::Map& map, const char* key) {
  const flexbuffers::Reference value = map[key];
  return value.IsString() ? value.AsString().str() : std::string();
}

}  // namespace

Result<IcechunkPrefixes> ParseIcechunkConfig(std::string_view config) {
  if (config.size() > kMaxIcechunkConfig) {
    return Fail(ErrorCode::kTooLarge, "repo: its configuration has {} bytes, more than {}",
                config.size(), kMaxIcechunkConfig);
  }
  IcechunkPrefixes prefixes;
  if (config.empty()) return prefixes;
  // Copy the configuration into aligned memory, which readers of FlexBuffers rely on.
  const std::vector<uint8_t> bytes(config.begin(), config.end());
  std::vector<uint8_t> tracker;
  if (!flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &tracker)) {
    return Fail(ErrorCode::kDamaged, "repo: damaged: its configuration is not in FlexBuffers");
  }
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes);
  if (!root.IsMap()) return prefixes;
  const flexbuffers::Reference containers = root.AsMap()["virtual_chunk_containers"];
  if (!containers.IsMap()) return prefixes;
  const flexbuffers::Vector values = containers.AsMap().Values();
  for (size_t at = 0; at < values.size(); ++at) {
    const flexbuffers::Reference value = values[at];
    if (!value.IsMap()) continue;
    std::string name = TextIn(value.AsMap(), "name");
    if (!name.empty()) prefixes.emplace(std::move(name), TextIn(value.AsMap(), "url_prefix"));
  }
  return prefixes;
}

bool IcechunkContainers::IsNamed(std::string_view location) {
  return location.starts_with(kScheme);
}

Result<std::string> IcechunkContainers::Resolve(std::string location) const {
  if (!IsNamed(location)) return location;
  const std::string_view rest = std::string_view(location).substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view name = rest.substr(0, slash);
  auto prefix = Find(name);
  if (!prefix) {
    if (const auto read = ReadAgain(); !read) return Fail(read);
    prefix = Find(name);
  }
  if (!prefix) {
    return Fail(ErrorCode::kUnsupported,
                "the configuration of the repository has no virtual chunk container named '{}'",
                AsciiExcerpt(name));
  }
  if (!prefix->ends_with('/')) {
    return Fail(ErrorCode::kUnsupported,
                "the virtual chunk container '{}' has the prefix '{}', which must end in '/'",
                AsciiExcerpt(name), AsciiExcerpt(*prefix));
  }
  return *prefix + std::string(rest.substr(std::min(slash + 1, rest.size())));
}

std::optional<std::string> IcechunkContainers::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = prefixes_.find(name);
  return found == prefixes_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> IcechunkContainers::ReadAgain() const {
  {
    const MutexLock lock(mutex_);
    if (read_ && Clock::now() - *read_ < kPause) return {};
  }
  const auto config = ReadIcechunkConfig(*repository_);
  if (!config) return Fail(config);
  auto prefixes = ParseIcechunkConfig(*config);
  if (!prefixes) return Fail(prefixes);
  const MutexLock lock(mutex_);
  read_ = Clock::now();
  prefixes_.merge(*std::move(prefixes));
  return {};
}

}  // namespace zarrfs
