// Objects of an IcechunkStore that are parts of files of the repository: documents in a snapshot,
// inline chunks in a manifest, native chunks in an object of chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "zarrcore/base/result.h"
#include "zarrcore/icechunk/snapshot.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

/// The attributes of a part of `size` bytes: owner, mode and times of its file. `what` tells it
/// from other parts of the same file.
[[nodiscard]] ObjectInfo IcechunkInfoOfPart(ObjectInfo file, uint64_t size, std::string_view what);

/// The attributes of a folder: those of the snapshot, searchable where that is readable.
[[nodiscard]] ObjectInfo IcechunkInfoOfFolder(const IcechunkSnapshot& snapshot);

/// The part whose bytes are `bytes`, which `owner` keeps in memory.
[[nodiscard]] std::shared_ptr<const Object> MakePartInMemory(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const void> owner,
                                                             std::string_view bytes);

/// The part of `whole` that begins at `begin` and has the size in `info`.
[[nodiscard]] std::shared_ptr<const Object> MakePartOfObject(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const Object> whole,
                                                             uint64_t begin);

/// The part of the object `whole` of `container` that begins at `begin`, which never changes and is
/// asked for when it is read first.
[[nodiscard]] std::shared_ptr<const Object> MakePartToRead(ObjectInfo info, std::string key,
                                                           std::shared_ptr<const Store> container,
                                                           std::string whole, uint64_t begin);

/// Why `key` cannot be read if its object `whole` cannot: that is there, or damaged.
[[nodiscard]] Error IcechunkErrorOfObject(std::string_view key, std::string_view whole,
                                          const Error& error);
/// kIo unless an object of `size` bytes has the part that ends at `end`.
[[nodiscard]] Result<void> CheckIcechunkPart(std::string_view key, std::string_view whole,
                                             uint64_t size, uint64_t end);

/// `range` of an object of `size` bytes, cut to `room` bytes.
[[nodiscard]] ByteRange PartAskedFor(const ByteRange& range, uint64_t size, size_t room);

/// Reads what PartAskedFor() says into `out`.
[[nodiscard]] Result<ReadAnswer> ReadFrom(std::shared_ptr<const Object> object,
                                          const ByteRange& range, std::span<std::byte> out);

}  // namespace zarrfs
