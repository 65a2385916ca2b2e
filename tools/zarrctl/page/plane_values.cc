#include "tools/zarrctl/page/plane_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "tools/zarrctl/memory.h"
#include "tools/zarrctl/page/numbers.h"
#include "zarrcore/base/at_once.h"
#include "zarrcore/base/mutex.h"
#include "zarrcore/base/waiting.h"
#include "zarrcore/content/chunk_reader.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kMaxChunkFailures = 5;
constexpr int kMaxReads = 3;    // maximum attempts to read a chunk that is being replaced
constexpr size_t kThreads = 8;  // several, so they wait for a slow store concurrently

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Returns the values that represent missing data, according to the array's attributes.
std::vector<double> MaskedValues(const ArrayMetadata& metadata, const ElementNumbers& numbers) {
  std::vector<double> masked;
  for (const char* name : {"_FillValue", "missing_value"}) {
    const auto found = metadata.attributes.find(name);
    if (found == metadata.attributes.end()) continue;
    const auto value = DecodeFillAttribute(*found, metadata.data_type);
    if (value && value->size() == numbers.item_size()) masked.push_back(numbers(value->data()));
  }
  return masked;
}

class PlaneReader {
 public:
  PlaneReader(const ArrayMetadata& metadata, const ChunkSource& source, const Plane& plane,
              const PlaneRequest& request, const std::function<bool()>& is_over)
      : metadata_(metadata),
        source_(source),
        plane_(plane),
        request_(request),
        is_over_(is_over),
        numbers_(*ElementNumbers::Of(metadata.data_type)),
        masked_(MaskedValues(metadata, numbers_)),
        is_exact_(!numbers_.is_float() && numbers_.item_size() == 8) {
    made_.width =
        static_cast<uint32_t>(std::min<uint64_t>(plane.columns.size(), request.most_columns));
    made_.height =
        plane.row_axis
            ? static_cast<uint32_t>(std::min<uint64_t>(plane.rows.size(), request.most_rows))
            : 1;
    const size_t places = size_t{made_.width} * made_.height;
    made_.states.resize(places, PlaneValues::State::kEmpty);
    made_.channels.resize(plane.channel_count());
    counts_.resize(made_.channels.size());
    for (size_t i = 0; i < made_.channels.size(); ++i) {
      PlaneValues::Grid& grid = made_.channels[i];
      if (plane.row_axis) {
        grid.values.resize(places, kNoNumber);
        if (request.has_means) counts_[i].resize(places, 0);
      } else {
        grid.low.resize(places, kNoNumber);
        grid.high.resize(places, kNoNumber);
      }
    }
  }

  PlaneValues Read() {
    const std::vector<ChunkCoordinates> chunks = Chunks();
    AtOnce(chunks.size(), std::max<size_t>(kThreads, std::thread::hardware_concurrency()),
           [&](size_t number) { TakeChunk(chunks[number]); });
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < counts_.size(); ++i) {
      for (size_t at = 0; at < counts_[i].size(); ++at) {
        if (counts_[i][at] > 0) made_.channels[i].values[at] /= counts_[i][at];
      }
    }
    return std::move(made_);
  }

 private:
  using ElementsPtr = std::shared_ptr<const Bytes>;
  // The part of a chunk that is in the plane.
  struct Part {
    Range rows;
    Range columns;
    // The position, in the chunk, of the part's first element in the chunk's first channel.
    uint64_t first = 0;
    uint64_t row_stride = 0;
    uint64_t column_stride = 0;
    uint64_t channel_stride = 0;
    std::vector<size_t> channels;  // indexes of plane_.channels
  };

  [[nodiscard]] const std::vector<uint64_t>& chunk_shape() const {
    return source_.layout().inner_chunk_shape;
  }

  [[nodiscard]] std::vector<ChunkCoordinates> Chunks() const {
    ChunkCoordinates first{};
    for (size_t axis = 0; axis < plane_.at.size(); ++axis) {
      first[axis] = plane_.at[axis] / chunk_shape()[axis];
    }
    const auto along = [&](std::optional<size_t> axis, Range range) {
      std::vector<uint64_t> numbers;
      if (!axis) return std::vector<uint64_t>{0};
      for (uint64_t at = range.begin / chunk_shape()[*axis]; at * chunk_shape()[*axis] < range.end;
           ++at) {
        numbers.push_back(at);
      }
      return numbers;
    };
    std::set<uint64_t> of_channels{0};
    if (plane_.channel_axis) {
      of_channels.clear();
      for (const uint64_t channel : plane_.channels) {
        of_channels.insert(channel / chunk_shape()[*plane_.channel_axis]);
      }
    }
    std::vector<ChunkCoordinates> chunks;
    for (const uint64_t channel : of_channels) {
      for (const uint64_t row : along(plane_.row_axis, plane_.rows)) {
        for (const uint64_t column : along(plane_.column_axis, plane_.columns)) {
          ChunkCoordinates chunk = first;
          if (plane_.channel_axis) chunk[*plane_.channel_axis] = channel;
          if (plane_.row_axis) chunk[*plane_.row_axis] = row;
          chunk[plane_.column_axis] = column;
          chunks.push_back(chunk);
        }
      }
    }
    return chunks;
  }

  [[nodiscard]] Part PartOf(const ChunkCoordinates& chunk) const {
    Part part;
    uint64_t stride = 1;
    std::vector<uint64_t> strides(chunk_shape().size());
    for (size_t axis = strides.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= chunk_shape()[axis];
    }
    const auto common = [&](size_t axis, Range range) {
      const uint64_t begin = chunk[axis] * chunk_shape()[axis];
      const Range both{std::max(range.begin, begin),
                       std::min(range.end, begin + chunk_shape()[axis])};
      part.first += (both.begin - begin) * strides[axis];
      return both;
    };
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      if (axis == plane_.column_axis || axis == plane_.row_axis || axis == plane_.channel_axis) {
        continue;
      }
      part.first += plane_.at[axis] % chunk_shape()[axis] * strides[axis];
    }
    part.columns = common(plane_.column_axis, plane_.columns);
    part.column_stride = strides[plane_.column_axis];
    part.rows = plane_.rows;
    if (plane_.row_axis) {
      part.rows = common(*plane_.row_axis, plane_.rows);
      part.row_stride = strides[*plane_.row_axis];
    }
    if (!plane_.channel_axis) {
      part.channels = {0};
      return part;
    }
    const size_t axis = *plane_.channel_axis;
    part.channel_stride = strides[axis];
    for (size_t i = 0; i < plane_.channels.size(); ++i) {
      if (plane_.channels[i] / chunk_shape()[axis] == chunk[axis]) part.channels.push_back(i);
    }
    return part;
  }

  // Returns the decoded elements of a chunk; null if the chunk is not stored.
  Result<ElementsPtr> ElementsOf(InnerIndex chunk) {
    for (int attempt = 1;; ++attempt) {
      const auto found = source_.Locate(chunk, attempt == 1 ? kAnyAge : Age{0});
      if (!found) return Fail(found);
      if (!found->location) return ElementsPtr();
      auto elements = reader_.Elements(source_, chunk, *found->location, Reuse::kNever);
      const bool is_replaced = !elements && elements.error().code == ErrorCode::kStale;
      if (!is_replaced || attempt == kMaxReads) return elements;
      source_.Forget(found->location->outer);
    }
  }

  void TakeChunk(const ChunkCoordinates& chunk) {
    const Part part = PartOf(chunk);
    if (is_over_()) {
      const MutexLock lock(mutex_);
      ++made_.not_looked_at;
      return Mark(part, PlaneValues::State::kNotLookedAt);
    }
    const InnerIndex number{source_.layout().inner_grid.Linear({chunk.data(), plane_.at.size()})};
    // The lambda frees the decoded chunk before it returns. After that, another thread may get the
    // memory budget to itself.
    const Result<void> taken = WithinMemory([&]() -> Result<void> {
      const AbandonedIf abandoned(is_over_);
      const auto elements = ElementsOf(number);
      if (!elements) return Fail(elements);
      const MutexLock lock(mutex_);
      if (*elements != nullptr) {
        ++made_.stored;
        Take(part, (*elements)->data(), numbers_.item_size());
        return {};
      }
      ++made_.not_stored;
      if (!metadata_.undefined_fill && metadata_.fill_value.size() == numbers_.item_size()) {
        Take(part, metadata_.fill_value.data(), 0);
      }
      return {};
    });
    if (taken) return;
    const MutexLock lock(mutex_);
    if (taken.error().code == ErrorCode::kWouldBlock && is_over_()) {
      ++made_.not_looked_at;
      return Mark(part, PlaneValues::State::kNotLookedAt);
    }
    if (made_.failed++ < kMaxChunkFailures) made_.failures.push_back(taken.error());
    Mark(part, PlaneValues::State::kDamaged);
  }

  // Returns the index of the grid cell that contains an element, along one axis.
  static uint64_t Place(uint64_t element, Range range, uint32_t places) {
    return (element - range.begin) * places / range.size();
  }
  static bool IsFirst(uint64_t element, Range range, uint32_t places) {
    return element == range.begin ||
           Place(element, range, places) != Place(element - 1, range, places);
  }

  void Mark(const Part& part, PlaneValues::State state) REQUIRES(mutex_) {
    if (part.columns.size() == 0 || part.rows.size() == 0) return;
    const uint64_t last_row = Place(part.rows.end - 1, plane_.rows, made_.height);
    const uint64_t last_column = Place(part.columns.end - 1, plane_.columns, made_.width);
    for (uint64_t y = Place(part.rows.begin, plane_.rows, made_.height); y <= last_row; ++y) {
      for (uint64_t x = Place(part.columns.begin, plane_.columns, made_.width); x <= last_column;
           ++x) {
        made_.states[y * made_.width + x] = state;
      }
    }
  }

  // Adds the elements of a chunk that lie in the plane. `item`: the distance between elements in
  // bytes; 0 to use one element for all.
  void Take(const Part& part, const std::byte* elements, size_t item) REQUIRES(mutex_) {
    for (const size_t channel : part.channels) {
      uint64_t first = part.first;
      if (plane_.channel_axis) {
        const uint64_t length = chunk_shape()[*plane_.channel_axis];
        first += plane_.channels[channel] % length * part.channel_stride;
      }
      for (uint64_t row = part.rows.begin; row < part.rows.end; ++row) {
        const uint64_t from = first + (row - part.rows.begin) * part.row_stride;
        TakeRow(channel, row, part.columns, elements + from * item, part.column_stride * item);
      }
    }
  }

  void TakeRow(size_t channel, uint64_t row, Range columns, const std::byte* element, size_t stride)
      REQUIRES(mutex_) {
    PlaneValues::Grid& grid = made_.channels[channel];
    const uint64_t y = Place(row, plane_.rows, made_.height);
    const bool is_first_row = IsFirst(row, plane_.rows, made_.height);
    for (uint64_t column = columns.begin; column < columns.end; ++column, element += stride) {
      const double value = numbers_(element);
      if (!std::isfinite(value) || std::ranges::find(masked_, value) != masked_.end()) continue;
      TakeRange(grid, value, element);
      const size_t at = y * made_.width + Place(column, plane_.columns, made_.width);
      if (!plane_.row_axis) {
        grid.low[at] = std::fmin(grid.low[at], value);
        grid.high[at] = std::fmax(grid.high[at], value);
      } else if (request_.has_means) {
        grid.values[at] = counts_[channel][at]++ == 0 ? value : grid.values[at] + value;
      } else if (is_first_row && IsFirst(column, plane_.columns, made_.width)) {
        grid.values[at] = value;
      }
    }
  }

  void TakeRange(PlaneValues::Grid& grid, double value, const std::byte* element) REQUIRES(mutex_) {
    const auto keep = [&](FillBytes& kept) {
      kept.assign(element, element + numbers_.item_size());
    };
    if (!grid.has_range || value < grid.least) grid.least = value;
    if (!grid.has_range || value > grid.greatest) grid.greatest = value;
    grid.has_range = true;
    if (made_.least.empty() || value < least_ ||
        (is_exact_ && value == least_ && numbers_.IsLess(element, made_.least.data()))) {
      least_ = value;
      keep(made_.least);
    }
    if (made_.greatest.empty() || value > greatest_ ||
        (is_exact_ && value == greatest_ && numbers_.IsLess(made_.greatest.data(), element))) {
      greatest_ = value;
      keep(made_.greatest);
    }
  }

  const ArrayMetadata& metadata_;
  const ChunkSource& source_;
  const Plane& plane_;
  const PlaneRequest& request_;
  const std::function<bool()>& is_over_;
  const ElementNumbers numbers_;
  const std::vector<double> masked_;
  // True if doubles cannot represent all values of the type, so elements are compared exactly.
  const bool is_exact_;
  ChunkReader reader_{0};
  Mutex mutex_;
  PlaneValues made_ GUARDED_BY(mutex_);
  std::vector<std::vector<uint32_t>> counts_
      GUARDED_BY(mutex_);  // the number of elements in each cell, for means
  double least_ GUARDED_BY(mutex_) = 0;
  double greatest_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

PlaneValues ReadPlane(const ArrayMetadata& metadata, const ChunkSource& source, const Plane& plane,
                      const PlaneRequest& request, const std::function<bool()>& is_over) {
  return PlaneReader(metadata, source, plane, request, is_over).Read();
}

}  // namespace zarrfs::ctl
