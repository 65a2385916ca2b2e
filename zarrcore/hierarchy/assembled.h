// Assembled: a file that a view makes of arrays of the store, as of now, and its bytes.
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
  MemoryBudget::Share memory;  // of the header (the last to be destroyed)
  AssembledFile file;
  std::vector<NodePtr> arrays;  // by FilePart::array
  /// Stands for the header, for where each element is, and for how chunks are found and decoded:
  /// for all but what the chunks hold.
  Digest digest;
  ObjectInfo info;  // owner and permissions: no more open than any of the documents; latest times

  std::map<std::string, Scan> scans;  // by the array's path

  mutable Freshness freshness;
};
using AssembledPtr = std::shared_ptr<const Assembled>;

/// Called with each chunk that is read, as CheckChunk is.
using CheckChunkOf =
    std::function<Result<void>(const Node& array, InnerIndex chunk, const Located& found)>;

/// Fills `out` with bytes of the file from `offset` on; there must be as many. Each chunk is that
/// of the store at most `max_age` ago. Fails if one of those cannot be read. `reuse`: kNever
/// decodes each chunk once, however many its elements are, and does not cache it.
[[nodiscard]] Result<void> ReadAssembled(const Assembled& assembled, uint64_t offset,
                                         std::span<std::byte> out, ChunkReader& chunks, Age max_age,
                                         const CheckChunkOf& check, Reuse reuse = Reuse::kLikely);

/// Bytes of the file that are best assembled at once (array/element_window.h).
struct AssembledWindow {
  uint64_t offset = 0;
  uint64_t size = 0;
  size_t array = 0;    // FilePart::array
  uint64_t first = 0;  // element

  [[nodiscard]] uint64_t end() const { return offset + size; }
};
/// The window that has the byte at `offset`, or, if that is of no array, the next one. `enough`,
/// `most`: bytes. nullopt if there is none.
[[nodiscard]] std::optional<AssembledWindow> WindowAt(const Assembled& assembled, uint64_t offset,
                                                      uint64_t enough, uint64_t most);

}  // namespace zarrfs
