// Input: the objects of a store, each with a line "--- KEY" before its bytes. Does what a
// mount does for its readers: finds every node, lists every folder, and reads every document and
// chunk file of every view.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzzing.h"
#include "tests/unit/support/fake_store.h"
#include "zarrcore/array/chunk_cursor.h"
#include "zarrcore/content/chunk_reader.h"
#include "zarrcore/hierarchy/consolidated.h"

namespace zarrfs {
namespace {

constexpr int kMaxDepth = 4;
constexpr int kMaxChunks = 64;
constexpr uint64_t kMaxDecoded = 256u << 10;  // maximum size of chunks that are decoded, in bytes
constexpr std::string_view kStart = "\n--- ";

std::shared_ptr<FakeStore> MakeStore(std::string_view input) {
  auto store = std::make_shared<FakeStore>();
  while (!input.empty()) {
    std::string_view bytes = CutAt(input, kStart);
    const std::string_view key = CutAt(bytes, "\n");
    if (!key.empty() && key.size() < 200 && IsValidKey(key)) store->Put(key, bytes);
  }
  return store;
}

class Walk {
 public:
  explicit Walk(std::shared_ptr<const Store> store)
      : hierarchy_(std::move(store), HierarchyOptions{.index_cache_bytes = 1u << 20}, {}) {}

  void Visit(const std::string& path, int depth) {
    const auto node = hierarchy_.Get(path, Age{0});
    if (!node || depth > kMaxDepth) return;
    RequireOk(hierarchy_.Get(path, kAnyAge), "a node that was found to be found again");
    if ((*node)->group() != nullptr) VisitGroup(*node, depth);
    if ((*node)->chunks != nullptr) VisitArray(**node);
  }

 private:
  void VisitGroup(const NodePtr& node, int depth) {
    for (size_t view = 0; view < AllViews().size(); ++view) {
      if (node->views[view].consolidated.empty()) continue;
      const auto all = consolidated_.Get(node, view, Age{0});
      if (all && !(*all)->is_too_large) {
        const auto text = consolidated_.Text(node, view, (*all)->text_number);
        RequireOk(text, "the text of a consolidated document");
        Require((*text)->size() == (*all)->size, "a text of the promised size");
      }
    }
    const auto children = hierarchy_.Children(*node, Age{0});
    if (!children) return;
    for (const std::string& child : children->value) Visit(JoinKey(node->path, child), depth + 1);
  }

  void VisitArray(const Node& node) {
    const ChunkSource& source = *node.chunks;
    if (source.layout().inner_grid.size() == 0) return;
    (void)source.AnyChunk({}, kAnyAge);
    const auto outers = source.ListOuter({});
    if (!outers) return;
    for (const OuterIndex outer : *outers) {
      ChunkCursor cursor(source, outer);
      while (const ListedChunk* next = cursor.Next()) {
        const auto located = source.Locate(next->chunk, kAnyAge);
        Require(next->location.has_value() == (located && located->location),
                "listing and lookup to agree on a chunk", node.path);
        // Listing only requests the size of a chunk, so next->location may have no open object.
        if (next->location) VisitChunk(node, next->chunk, *located->location);
        if (--chunks_left_ <= 0) return;
      }
    }
  }

  void VisitChunk(const Node& node, InnerIndex chunk, const ChunkLocation& location) {
    const uint64_t size = location.shard->info.size();
    // A shard that was decoded as a whole may be longer than the stored object.
    Require(location.shard->is_in_memory ||
                (location.offset <= size && location.length <= size - location.offset),
            "a chunk inside its object", node.path);
    if (LargestDecoded(node) > kMaxDecoded) return;
    std::array<std::byte, 4096> buffer;
    for (size_t view = 0; view < AllViews().size(); ++view) {
      const std::optional<ArrayView>& shown = node.views[view].array;
      if (!shown) continue;
      const ChunkFile file{*node.chunks, shown->encoding, static_cast<uint32_t>(view), chunk,
                           location};
      const auto file_size = reader_.Size(file);
      const auto piece = reader_.Read(file, 0, buffer);
      if (!file_size || !piece) continue;
      Require(piece->bytes.size() == std::min<uint64_t>(*file_size, buffer.size()),
              "a read of the promised size", node.path);
      if (shown->fill_chunk != nullptr) (void)shown->fill_chunk->Size();
    }
  }

  // The maximum size of a decoded chunk over all views, in bytes.
  static uint64_t LargestDecoded(const Node& node) {
    const auto& pipeline = node.chunks->layout().inner_pipeline;
    uint64_t largest = pipeline ? pipeline->decoded_size() : 0;
    for (const NodeView& view : node.views) {
      if (view.array) largest = std::max(largest, view.array->encoding.size);
    }
    return largest;
  }

  const Hierarchy hierarchy_;
  MadeTexts texts_;
  const ConsolidatedDocuments consolidated_{hierarchy_, texts_};
  ChunkReader reader_{1u << 20};
  int chunks_left_ = kMaxChunks;
};

}  // namespace
}  // namespace zarrfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = zarrfs::Text(data, size);
  if (!input.starts_with(zarrfs::kStart.substr(1))) return -1;  // keeps the input out of the corpus
  input.remove_prefix(zarrfs::kStart.size() - 1);
  zarrfs::Walk(zarrfs::MakeStore(input)).Visit("", 0);
  return 0;
}
