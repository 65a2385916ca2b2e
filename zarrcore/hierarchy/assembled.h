// Assembled: a file that a view makes from whole arrays (a NetCDF or .npy file), and functions that
// read it. An Assembled is made from one version of its arrays.
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
  MemoryBudget::Share memory;  // the reservation for the header's memory; destroyed last
  AssembledFile file;
  std::vector<NodePtr> arrays;  // indexed by FilePart::array
  /// Identifies the header, the position of each element, and how chunks are found and decoded.
  /// Contents of chunks do not change the digest.
  Digest digest;
  /// The attributes of the file. The mode grants no more than the mode of any source document. The
  /// version is that of the source document that changed last.
  ObjectInfo info;

  std::map<std::string, Scan> scans;  // keyed by the path of the array

  mutable Freshness freshness;
};
using AssembledPtr = std::shared_ptr<const Assembled>;

/// Called with each chunk that is needed, and its array, before the chunk is used. If the call
/// fails, the read fails.
using CheckChunkOf =
    std::function<Result<void>(const Node& array, InnerIndex chunk, const Located& found)>;

/// Fills `out` with the bytes of the file from `offset` on. The file must have that many bytes. The
/// locations of chunks are at most `max_age` old. Fails if a chunk cannot be read. With `reuse`
/// kNever, each chunk is decoded once, even if it has many elements, and is not cached.
[[nodiscard]] Result<void> ReadAssembled(const Assembled& assembled, uint64_t offset,
                                         std::span<std::byte> out, ChunkReader& chunks, Age max_age,
                                         const CheckChunkOf& check, Reuse reuse = Reuse::kLikely);

/// A range of the file whose bytes are read together; see content/element_window.h.
struct AssembledWindow {
  uint64_t offset = 0;
  uint64_t size = 0;
  size_t array = 0;    // see FilePart::array
  uint64_t first = 0;  // the index of the window's first element in the array

  [[nodiscard]] uint64_t end() const { return offset + size; }
};
/// Returns the window that contains the byte at `offset`, or the next window if that byte belongs
/// to no array. nullopt after the last window, and if windows do not help. `enough` and `most`
/// limit the memory for a window, in bytes; see content/element_window.h.
[[nodiscard]] std::optional<AssembledWindow> WindowAt(const Assembled& assembled, uint64_t offset,
                                                      uint64_t enough, uint64_t most);

}  // namespace zarrfs
