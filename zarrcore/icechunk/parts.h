// Objects of an IcechunkStore that are parts of the repository's files: documents in a snapshot,
// inline chunks in a manifest, native chunks in a chunk object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The attributes of a part of `size` bytes. Owner, mode and times are those of its file. `what`
/// distinguishes parts of the same file.
[[nodiscard]] ObjectInfo IcechunkInfoOfPart(ObjectInfo file, uint64_t size, std::string_view what);

/// The attributes of a folder: those of the file that lists the folder's contents. Users who may
/// read the file may also search the folder.
[[nodiscard]] ObjectInfo IcechunkInfoOfFolder(ObjectInfo file);

/// A part with the given bytes. `owner` keeps them in memory.
[[nodiscard]] std::shared_ptr<const Object> MakePartInMemory(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const void> owner,
                                                             std::string_view bytes);

/// The part of `whole` that begins at `begin` and has the size in `info`.
[[nodiscard]] std::shared_ptr<const Object> MakePartOfObject(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const Object> whole,
                                                             uint64_t begin);

/// The part of the object `whole` of `container` that begins at `begin`. The object never changes,
/// and is requested on the first read.
[[nodiscard]] std::shared_ptr<const Object> MakePartToRead(ObjectInfo info, std::string key,
                                                           std::shared_ptr<const Store> container,
                                                           std::string whole, uint64_t begin);

/// The error for `key` if its object `whole` cannot be read. A missing object is kIo, because the
/// key exists.
[[nodiscard]] Error IcechunkErrorOfObject(std::string_view key, std::string_view whole,
                                          const Error& error);
/// kIo unless an object of `size` bytes contains the part, which ends at `end`.
[[nodiscard]] Result<void> CheckIcechunkPart(std::string_view key, std::string_view whole,
                                             uint64_t size, uint64_t end);

/// Clips `range` to an object of `size` bytes and to a buffer of `room` bytes.
[[nodiscard]] ByteRange PartAskedFor(const ByteRange& range, uint64_t size, size_t room);

/// Reads `range`, as clipped by PartAskedFor(), into `out`.
[[nodiscard]] Result<ReadAnswer> ReadFrom(std::shared_ptr<const Object> object,
                                          const ByteRange& range, std::span<std::byte> out);

}  // namespace zarrfs
