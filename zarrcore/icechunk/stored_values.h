// Converts values of Icechunk's flatbuffers to types of zarrfs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "icechunk_generated.h"
#include "zarrcore/icechunk/object_id.h"

namespace zarrfs {

[[nodiscard]] inline IcechunkId IdOf(const icechunk::Id12& stored) {
  IcechunkId id{};
  std::copy(stored.bytes()->begin(), stored.bytes()->end(), id.begin());
  return id;
}

[[nodiscard]] inline IcechunkNodeId NodeIdOf(const icechunk::Id8& stored) {
  IcechunkNodeId id{};
  std::copy(stored.bytes()->begin(), stored.bytes()->end(), id.begin());
  return id;
}

// Converts a stored time in microseconds to nanoseconds since 1970.
[[nodiscard]] inline int64_t IcechunkTimeNs(uint64_t stored_us) {
  constexpr int64_t kNsInUs = 1000;
  constexpr uint64_t kMaxUs = INT64_MAX / kNsInUs;
  return static_cast<int64_t>(std::min(stored_us, kMaxUs)) * kNsInUs;
}

[[nodiscard]] inline std::string_view TextOf(const flatbuffers::String& text) {
  return {text.c_str(), text.size()};
}

[[nodiscard]] inline std::string_view TextOf(const flatbuffers::Vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace zarrfs
