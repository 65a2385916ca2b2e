#include "fs/tree/prefetch.h"

#include <chrono>
#include <thread>
#include <utility>

#include "zarrcore/array/chunk_cursor.h"

namespace zarrfs {

Prefetch::Prefetch(const Contents& contents) : contents_(contents) {
  if (contents.stored_ranges() == nullptr) return;
  ahead_.emplace(*contents.stored_ranges());
  contents.TellOfWanted([this](const ChunkFile& file) { ahead_->OnWanted(file); });
}

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
  const uint64_t place = ToNumber(location.outer) * layout.inner_per_outer_count +
                         ToNumber(range.chunks->SlotOf(chunk.chunk));
  const size_t count = order_.OnRead(part.files, place);
  // One other READ may be running: that of the same reader, which has received its reply and
  // continued.
  if (count == 0 || reading_ > 1 || is_busy_.exchange(true)) return;
  if (may_start_) Fill(chunk, location, count);  // Stop() may have been called in the meantime
  is_busy_ = false;
}

void Prefetch::Fill(const Target& target, const ChunkLocation& location, size_t count) {
  const ArrayRange& range = *target.range;
  const auto& part = range.views[target.view];
  const auto& layout = range.chunks->layout();
  ChunkCoordinates folder{};
  size_t level = 0;  // the number of coordinates that the file's folder fixes
  if (part.naming.nested() && range.rank() > 0) {
    layout.inner_grid.Coordinates(ToNumber(target.chunk), folder);
    level = range.rank() - 1;
  }
  const uint64_t begin = ToNumber(location.outer) * layout.inner_per_outer_count;
  const uint64_t slot = ToNumber(range.chunks->SlotOf(target.chunk));
  const uint64_t place = begin + slot;
  uint64_t last = place;
  size_t files = 0;
  size_t bytes = 0;
  bool is_end = false;
  bool is_refused = false;
  ChunkCursor cursor(*range.chunks, location.outer,
                     {.prefix = {folder.data(), level}, .from = Slot{slot + 1}});
  while (files < count && bytes < kMaxBytes && reading_ <= 1 && may_start_) {
    const ListedChunk* const next = cursor.Next();
    is_end = next == nullptr && cursor.status().has_value();
    if (next == nullptr) break;
    const uint64_t at = begin + ToNumber(next->slot);
    // Skips files up to the one that the reader is probably requesting now.
    if (at <= order_.NextPlace(part.files, place)) continue;
    if (!next->location || next->location->length > kMaxFileBytes) break;
    const auto epoch = range.KnownEpoch(*next->location);
    if (!epoch) break;
    const auto piece = contents_.ReadChunk(range, target.view, next->chunk, *next->location, 0,
                                           {buffer_.get(), kMaxFileBytes});
    if (!piece) break;  // the reader will get the error when it reads the file
    is_refused = !offer_(MakeId(range.PositionOf(target.view, next->chunk), *epoch), piece->bytes);
    if (is_refused) break;
    last = at;
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
