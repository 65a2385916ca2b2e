#include "zarrcore/content/element_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "zarrcore/base/at_once.h"
#include "zarrcore/base/mutex.h"

namespace zarrfs {
namespace {

// Maximum attempts to read a chunk whose stored object is replaced while it is read.
constexpr int kMaxReadAttempts = 3;

// Moves `at` to the next position within [from, to) along the first `axes` axes, in C order.
// Returns false after the last position.
bool MoveOn(ChunkCoordinates& at, const ChunkCoordinates& from, const ChunkCoordinates& to,
            size_t axes) {
  for (size_t d = axes; d-- > 0;) {
    if (++at[d] < to[d]) return true;
    at[d] = from[d];
  }
  return false;
}

// Maximum number of threads that decode the chunks of one range; never more than the number of
// processors.
constexpr unsigned kMaxThreads = 4;

void Repeat(std::span<const std::byte> element, std::span<std::byte> out) {
  if (std::ranges::all_of(element, [](std::byte byte) { return byte == std::byte{0}; })) {
    std::ranges::fill(out, std::byte{0});
    return;
  }
  std::ranges::copy(element, out.begin());
  for (size_t have = element.size(); have < out.size();) {
    const size_t more = std::min(have, out.size() - have);
    std::memcpy(out.data() + have, out.data(), more);
    have += more;
  }
}

}  // namespace

ElementReader::ElementReader(const ArrayMetadata& array, const ChunkSource& source,
                             ChunkReader& chunks, Age max_age, CheckChunk check,
                             const DataType* texts, Reuse reuse)
    : array_(array),
      source_(source),
      chunks_(chunks),
      max_age_(max_age),
      check_(std::move(check)),
      texts_(texts),
      reuse_(reuse),
      item_size_(texts != nullptr ? texts->item_size : array.data_type.item_size),
      fill_(array.fill_value) {
  if (texts_ != nullptr) {
    fill_.resize(item_size_);
    if (!StoreText(array.fill_value, TextItemsOf(*texts_), fill_)) fill_.clear();
  }
  uint64_t stride = 1;
  for (size_t d = array_.rank(); d-- > 0; stride *= array_.shape[d]) strides_[d] = stride;
}

Result<void> ElementReader::Read(uint64_t first, std::span<std::byte> out) const {
  const uint64_t count = out.size() / item_size_;
  return count == 0 ? Result<void>() : ReadRange(0, first, first + count, {}, out);
}

// Splits the range [first, end) along `axis` and reads the parts: a part of the first index, all
// elements of the following indexes, and a part of the last index. `first` and `end` count elements
// from the position that `box` fixes on the preceding axes.
Result<void> ElementReader::ReadRange(size_t axis, uint64_t first, uint64_t end, Box box,
                                      std::span<std::byte> out) const {
  if (axis == array_.rank()) return ReadBox(box, out);
  const uint64_t stride = strides_[axis];
  const auto take = [&](uint64_t elements) {
    const auto part = out.first(elements * item_size_);
    out = out.subspan(part.size());
    return part;
  };
  const auto part_of_step = [&](uint64_t until) {
    box.from[axis] = first / stride;
    box.to[axis] = box.from[axis] + 1;
    const uint64_t step = box.from[axis] * stride;
    auto read = ReadRange(axis + 1, first - step, until - step, box, take(until - first));
    first = until;
    return read;
  };
  if (first % stride != 0) {
    const uint64_t until = std::min(end, (first / stride + 1) * stride);
    if (auto read = part_of_step(until); !read) return read;
  }
  if (const uint64_t whole = end / stride; first / stride < whole) {
    box.from[axis] = first / stride;
    box.to[axis] = whole;
    for (size_t d = axis + 1; d < array_.rank(); ++d) {
      box.from[d] = 0;
      box.to[d] = array_.shape[d];
    }
    if (auto read = ReadBox(box, take(whole * stride - first)); !read) return read;
    first = whole * stride;
  }
  return first < end ? part_of_step(end) : Result<void>();
}

Result<void> ElementReader::ReadBox(const Box& box, std::span<std::byte> out) const {
  const auto& chunk_shape = source_.layout().inner_chunk_shape;
  Box chunks;
  for (size_t d = 0; d < array_.rank(); ++d) {
    chunks.from[d] = box.from[d] / chunk_shape[d];
    chunks.to[d] = (box.to[d] - 1) / chunk_shape[d] + 1;
  }
  if (reuse_ == Reuse::kNever) return ReadAtOnce(chunks, box, out);
  ChunkCoordinates chunk = chunks.from;
  do {
    if (auto read = ReadChunk(chunk, box, out); !read) return read;
  } while (MoveOn(chunk, chunks.from, chunks.to, array_.rank()));
  return {};
}

Result<void> ElementReader::ReadAtOnce(const Box& chunks, const Box& box,
                                       std::span<std::byte> out) const {
  static const size_t threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
  uint64_t count = 1;
  for (size_t d = 0; d < array_.rank(); ++d) count *= chunks.to[d] - chunks.from[d];
  Mutex mutex;
  Result<void> all;  // guarded by `mutex`
  std::atomic<bool> has_failed = false;
  AtOnce(count, threads, [&](size_t number) {
    if (has_failed) return;
    ChunkCoordinates chunk = chunks.from;
    for (size_t d = array_.rank(); d-- > 0;) {
      const uint64_t length = chunks.to[d] - chunks.from[d];
      chunk[d] += number % length;
      number /= length;
    }
    auto read = ReadChunk(chunk, box, out);
    if (read || has_failed.exchange(true)) return;
    const MutexLock lock(mutex);
    all = std::move(read);
  });
  return all;
}

Result<std::shared_ptr<const Bytes>> ElementReader::ElementsOf(InnerIndex chunk) const {
  for (int attempt = 1;; ++attempt) {
    const auto found = source_.Locate(chunk, attempt == 1 ? max_age_ : Age{0});
    if (!found) return Fail(found);
    if (check_) {
      if (const auto checked = check_(chunk, *found); !checked) return Fail(checked);
    }
    if (!found->location) return nullptr;
    auto elements = texts_ != nullptr
                        ? chunks_.Texts(source_, chunk, *found->location, *texts_, reuse_)
                        : chunks_.Elements(source_, chunk, *found->location, reuse_);
    const bool is_replaced = !elements && elements.error().code == ErrorCode::kStale;
    if (!is_replaced || attempt == kMaxReadAttempts) return elements;
    source_.Forget(found->location->outer);
  }
}

Result<void> ElementReader::ReadChunk(const ChunkCoordinates& chunk, const Box& box,
                                      std::span<std::byte> out) const {
  const auto& layout = source_.layout();
  const size_t rank = array_.rank();
  const size_t item = item_size_;
  const auto elements = ElementsOf(InnerIndex{layout.inner_grid.Linear({chunk.data(), rank})});
  if (!elements) return Fail(elements);
  if (*elements == nullptr && fill_.empty()) {
    return Fail(ErrorCode::kStale, "{}: the fill value is longer than every string",
                source_.folder());
  }

  // The intersection of box and chunk, and the position of the box's first element in the array.
  Box common;
  uint64_t first_of_box = 0;
  for (size_t d = 0; d < rank; ++d) {
    const uint64_t begin = chunk[d] * layout.inner_chunk_shape[d];
    common.from[d] = std::max(box.from[d], begin);
    common.to[d] = std::min(box.to[d], begin + layout.inner_chunk_shape[d]);
    first_of_box += box.from[d] * strides_[d];
  }
  // If an axis is covered completely, in the array and in the chunk, the elements of consecutive
  // indexes of the preceding axis are contiguous and form one run.
  size_t axes = rank;
  uint64_t run = 1;
  for (bool is_whole = true; axes > 0 && is_whole;) {
    --axes;
    const uint64_t length = common.to[axes] - common.from[axes];
    run *= length;
    is_whole = length == array_.shape[axes] && length == layout.inner_chunk_shape[axes];
  }
  ChunkCoordinates at = common.from;
  do {
    uint64_t in_chunk = 0;
    uint64_t in_box = 0;
    for (size_t d = 0; d < rank; ++d) {
      const uint64_t begin = chunk[d] * layout.inner_chunk_shape[d];
      in_chunk = in_chunk * layout.inner_chunk_shape[d] + (at[d] - begin);
      in_box += at[d] * strides_[d];
    }
    const auto to = out.subspan((in_box - first_of_box) * item, run * item);
    if (*elements == nullptr) {
      Repeat(fill_, to);
    } else {
      std::memcpy(to.data(), (*elements)->data() + in_chunk * item, to.size());
    }
  } while (MoveOn(at, common.from, common.to, axes));
  return {};
}

}  // namespace zarrfs
