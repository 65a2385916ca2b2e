// What all metadata files of an Icechunk repository begin with, and their content: a flatbuffer.
//
//   12 bytes "ICE🧊CHUNK" │ 24 the writer's name │ version │ type │ compression │
//   content …
//
// (Chunks have no header.) The content is decompressed in memory taken from ProcessMemory().
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

/// Newest version of the specification that is read.
inline constexpr uint8_t kIcechunkVersion = 2;

struct IcechunkFile {
  MemoryBudget::Share memory;  // of `content`
  std::string key;             // for messages
  std::string content;
  uint8_t version = 0;  // of the specification
  ObjectInfo info;      // of the file in the store
};

/// Whether `stored`, the begin of a file, may be that of an Icechunk file.
[[nodiscard]] bool IsIcechunkFile(std::string_view stored);

/// Decodes all bytes of a file. kDamaged if they are no whole file of this type, kUnsupported if
/// its version is newer. Otherwise fails like MemoryBudget::Take(). Does not set `info`.
[[nodiscard]] Result<IcechunkFile> DecodeIcechunkFile(std::string_view key, std::string stored,
                                                      IcechunkFileType type);

/// What is stored as a file.
struct StoredIcechunkFile {
  MemoryBudget::Share memory;  // of `bytes`
  std::string bytes;
  ObjectInfo info;
};

/// All bytes of the file `key`, or the first ones of an object that is no file of Icechunk. One
/// request for most files, whose size is not known before. Fails like ReadWhole() and
/// MemoryBudget::Take().
[[nodiscard]] Result<StoredIcechunkFile> ReadStoredIcechunkFile(const Store& container,
                                                                const std::string& key);

/// Reads and decodes the file `key`; fails like both.
[[nodiscard]] Result<IcechunkFile> ReadIcechunkFile(const Store& container, const std::string& key,
                                                    IcechunkFileType type);

/// The table at the root of `file`, with every offset in it verified. kDamaged if one is wrong.
template <typename Table>
[[nodiscard]] Result<const Table*> IcechunkTable(const IcechunkFile& file) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.content.data());
  const size_t size = file.content.size();
  // The library's own limits are for small messages: a table takes at least 4 bytes, so this one
  // refuses only files in which tables are used twice, whose verification could take for ever.
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  flatbuffers::Verifier verifier(bytes, size, kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(size / 4 + 1));
  if (!verifier.VerifyBuffer<Table>(nullptr)) {
    return Fail(ErrorCode::kDamaged, "{}: damaged: an offset in it is wrong", file.key);
  }
  return flatbuffers::GetRoot<Table>(bytes);
}

}  // namespace zarrfs
