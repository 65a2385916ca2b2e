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

/// Returns the attributes of a part of a file. The part has `size` bytes, and the owner, mode and
/// times of `file`. `what` makes its version differ from those of the file's other parts.
[[nodiscard]] ObjectInfo IcechunkInfoOfPart(ObjectInfo file, uint64_t size, std::string_view what);

/// The attributes of a folder: those of the file that lists the folder's contents. Users who may
/// read the file may also search the folder.
[[nodiscard]] ObjectInfo IcechunkInfoOfFolder(ObjectInfo file);

/// Makes an object from `bytes`, which `owner` keeps in memory.
[[nodiscard]] std::shared_ptr<const Object> MakePartInMemory(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const void> owner,
                                                             std::string_view bytes);

/// Makes an object from the part of `whole` that begins at offset `begin`. `info` has its size.
[[nodiscard]] std::shared_ptr<const Object> MakePartOfObject(ObjectInfo info, std::string key,
                                                             std::shared_ptr<const Object> whole,
                                                             uint64_t begin);

/// Like MakePartOfObject(), for the object with the key `whole` in `container`. That object never
/// changes, and is only requested at the first read.
[[nodiscard]] std::shared_ptr<const Object> MakePartToRead(ObjectInfo info, std::string key,
                                                           std::shared_ptr<const Store> container,
                                                           std::string whole, uint64_t begin);

/// Converts `error`, from reading the object `whole` that contains `key`, to an error for `key`.
/// kNotFound becomes kIo, because `key` itself exists.
[[nodiscard]] Error IcechunkErrorOfObject(std::string_view key, std::string_view whole,
                                          const Error& error);
/// Checks that the object `whole`, which has `size` bytes, contains a part that ends at offset
/// `end`. Otherwise kIo, with `key`.
[[nodiscard]] Result<void> CheckIcechunkPart(std::string_view key, std::string_view whole,
                                             uint64_t size, uint64_t end);

/// Clips `range` to an object of `size` bytes and to a buffer of `room` bytes.
[[nodiscard]] ByteRange PartAskedFor(const ByteRange& range, uint64_t size, size_t room);

/// Reads `range` of `object` into `out`, after clipping it with PartAskedFor().
[[nodiscard]] Result<ReadAnswer> ReadFrom(std::shared_ptr<const Object> object,
                                          const ByteRange& range, std::span<std::byte> out);

}  // namespace zarrfs
