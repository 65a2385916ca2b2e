#include "fs/tree/prefetch.h"

#include <chrono>
#include <thread>
#include <utility>

namespace zarrfs {

void Prefetch::Start(Offer offer) {
  offer_ = std::move(offer);
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(kMaxFileBytes);
  may_start_ = true;
}

void Prefetch::Stop() {
  may_start_ = false;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (is_busy_ && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Prefetch::AfterRead(const Target& chunk, const ChunkLocation& location, size_t size) {
  if (!may_start_ || location.length > kMaxFileBytes || location.length > size) return;
  const ArrayRange& range = *chunk.range;
  const auto& part = range.views[chunk.view];
  const auto& layout = range.chunks->layout();
  if (part.encoding.kind == ChunkEncoding::Kind::kDecoded || !layout.is_sharded()) return;
  const uint64_t place =
      location.outer * layout.inner_per_outer_count + range.chunks->SlotOf(chunk.chunk);
  const size_t count = order_.OnRead(part.files, place);
  // (One read may be under way: the reader has gone on.)
  if (count == 0 || reading_ > 1 || is_busy_.exchange(true)) return;
  if (may_start_) Fill(chunk, location, count);  // perhaps no longer, since a moment ago
  is_busy_ = false;
}

void Prefetch::Fill(const Target& target, const ChunkLocation& location, size_t count) {
  const ArrayRange& range = *target.range;
  const auto& part = range.views[target.view];
  const auto& layout = range.chunks->layout();
  ChunkCoordinates folder{};
  size_t level = 0;  // of the folder that the file is in
  if (part.naming.nested() && range.rank() > 0) {
    layout.inner_grid.Coordinates(target.chunk, folder);
    level = range.rank() - 1;
  }
  const uint64_t begin = location.outer * layout.inner_per_outer_count;
  const uint64_t slot = range.chunks->SlotOf(target.chunk);
  const uint64_t place = begin + slot;
  uint64_t last = place;
  size_t files = 0;
  size_t bytes = 0;
  bool is_end = false;
  bool is_refused = false;
  auto cursor =
      ChunkCursor(*range.chunks, location.outer,
                  {.prefix = {folder.data(), level}, .from = slot + 1, .max_age = kAnyAge});
  while (files < count && bytes < kMaxBytes && reading_ <= 1 && may_start_) {
    const auto next = cursor.Next();
    if (!next) break;
    is_end = !*next;
    if (is_end) break;
    const ListedChunk& listed = **next;
    // The reader asks for the next file this moment: that request is faster.
    if (begin + listed.slot <= order_.NextPlace(part.files, place)) continue;
    if (!listed.location || listed.location->length > kMaxFileBytes) break;
    const auto epoch =
        range.epochs->Known(listed.location->outer, listed.location->shard->fingerprint);
    if (!epoch) break;
    const auto piece = contents_.ReadChunk(range, target.view, listed.chunk, *listed.location, 0,
                                           {buffer_.get(), kMaxFileBytes});
    if (!piece) break;  // whoever reads it gets the reason
    is_refused = !offer_(MakeId(part.files + listed.chunk, *epoch), piece->bytes);
    if (is_refused) break;
    last = begin + listed.slot;
    ++files;
    bytes += piece->bytes.size();
  }
  if ((is_refused && files == 0) || reading_ > 1) {
    order_.Pause(part.files, place);
  } else {
    order_.OnPrefetched(part.files, place, last, is_end);
  }
}

}  // namespace zarrfs
