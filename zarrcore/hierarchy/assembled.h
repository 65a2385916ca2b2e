// Assembled: a file that a view makes from arrays of the store, in its current version, and its
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zarrcore/base/digest.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/result.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/hierarchy/node.h"
#include "zarrcore/hierarchy/scan.h"
#include "zarrcore/store/store.h"
#include "zarrcore/store/validity.h"
#include "zarrcore/view/assembled_file.h"

namespace zarrfs {

struct Assembled {
  MemoryBudget::Share memory;  // of the header; destroyed last
  AssembledFile file;
  std::vector<NodePtr> arrays;  // by FilePart::array
  /// Identifies the header, the position of each element, and how chunks are found and decoded:
  /// everything except the contents of chunks.
  Digest digest;
  ObjectInfo info;  // no more open than any of the documents; latest times

  std::map<std::string, Scan> scans;  // by the array's path

  mutable Freshness freshness;
};
using AssembledPtr = std::shared_ptr<const Assembled>;

/// Called with each chunk that is read, like CheckChunk.
using CheckChunkOf =
    std::function<Result<void>(const Node& array, InnerIndex chunk, const Located& found)>;

/// Fills `out` with bytes of the file from `offset` on; as many must exist. Each chunk is that of
/// the store at most `max_age` ago. Fails if one of these cannot be read. `reuse`: kNever decodes
/// each chunk once, regardless of its number of elements, and does not cache it.
[[nodiscard]] Result<void> ReadAssembled(const Assembled& assembled, uint64_t offset,
                                         std::span<std::byte> out, ChunkReader& chunks, Age max_age,
                                         const CheckChunkOf& check, Reuse reuse = Reuse::kLikely);

/// Bytes of the file that are best assembled together (content/element_window.h).
struct AssembledWindow {
  uint64_t offset = 0;
  uint64_t size = 0;
  size_t array = 0;    // FilePart::array
  uint64_t first = 0;  // element

  [[nodiscard]] uint64_t end() const { return offset + size; }
};
/// The window that contains the byte at `offset`, or the next one if the byte belongs to no array.
/// `enough`, `most`: bytes. nullopt if there is none.
[[nodiscard]] std::optional<AssembledWindow> WindowAt(const Assembled& assembled, uint64_t offset,
                                                      uint64_t enough, uint64_t most);

}  // namespace zarrfs
