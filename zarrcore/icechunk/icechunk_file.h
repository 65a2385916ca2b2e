// Reads metadata files of an Icechunk repository. Each of these files consists of a header and a
// flatbuffer. Files of chunks have no header. The content is decompressed in memory reserved from
// ProcessMemory().
//
//   12 bytes "ICE🧊CHUNK" │ 24 the writer's name │ version │ type │ compression │
//   content …
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

enum class IcechunkFileType : uint8_t { kSnapshot = 1, kManifest = 2, kRepo = 6 };

inline constexpr size_t kIcechunkHeader = 39;

/// The newest supported version of the specification.
inline constexpr uint8_t kIcechunkVersion = 2;

struct IcechunkFile {
  MemoryBudget::Share memory;  // the memory for `content`
  std::string key;             // the key of the file, for messages
  std::string content;
  uint8_t version = 0;  // the version of Icechunk's specification
  ObjectInfo info;      // the attributes of the file in the store
};

/// True if `stored`, the first bytes of a file, begins like an Icechunk file.
[[nodiscard]] bool IsIcechunkFile(std::string_view stored);

/// Decodes a whole file. `reserved` is the memory that the caller has reserved for `stored`. Does
/// not set IcechunkFile::info. kDamaged if `stored` is incomplete, or not an Icechunk file of type
/// `type`; kUnsupported for an unknown version or compression; kTooLarge if the content exceeds the
/// size of a flatbuffer or the memory limit. Also returns the errors of MemoryBudget::Take().
[[nodiscard]] Result<IcechunkFile> DecodeIcechunkFile(std::string_view key, std::string stored,
                                                      IcechunkFileType type,
                                                      MemoryBudget::Share reserved = {});

/// The stored bytes of a file.
struct StoredIcechunkFile {
  MemoryBudget::Share memory;  // the memory for `bytes`
  std::string bytes;
  ObjectInfo info;
};

/// Reads the whole file `key`, or only its first bytes if it is not an Icechunk file. Most files
/// need one request, although their size is unknown. Returns the errors of Store::Read() and
/// MemoryBudget::Take(), and kTooLarge if the file exceeds the size of a flatbuffer.
[[nodiscard]] Result<StoredIcechunkFile> ReadStoredIcechunkFile(const Store& container,
                                                                const std::string& key);

/// Reads and decodes the file `key`. Returns the errors of ReadStoredIcechunkFile() and
/// DecodeIcechunkFile().
[[nodiscard]] Result<IcechunkFile> ReadIcechunkFile(const Store& container, const std::string& key,
                                                    IcechunkFileType type);

/// Verifies all offsets in `file`, and returns its root table. kDamaged if an offset is invalid.
template <typename Table>
[[nodiscard]] Result<const Table*> IcechunkTable(const IcechunkFile& file) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.content.data());
  const size_t size = file.content.size();
  // The default limits of flatbuffers are for small messages. A table takes at least 4 bytes, so
  // this limit on tables refuses only files that refer to a table more than once, which could take
  // forever to verify.
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  flatbuffers::Verifier verifier(bytes, size, kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(size / 4 + 1));
  if (!verifier.VerifyBuffer<Table>(nullptr)) {
    return Fail(ErrorCode::kDamaged, "{}: damaged: an offset in it is wrong", file.key);
  }
  return flatbuffers::GetRoot<Table>(bytes);
}

}  // namespace zarrfs
