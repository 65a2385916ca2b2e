#include "zarrcore/content/array_order.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace zarrfs {

bool ArrayOrder::TakeAhead(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const {
  const auto found = std::ranges::find(reader.ahead, chunk, &Ahead::chunk);
  if (found == reader.ahead.end()) return reader.is_crowd && TakeNear(reader, chunk, at);
  const auto before = static_cast<size_t>(found - reader.ahead.begin());
  if (found->is_fetched) --reader.fetched;
  reader.ahead.erase(found);
  reader.restarts = 0;
  const size_t axis = reader.loops.front().axis;
  ChunkCoordinates in_row = reader.at;
  in_row[axis] = at[axis];
  if (in_row != at && before > 0 && !reader.is_crowd) {
    LearnRow(reader, at);
  } else if (in_row != at && !reader.is_crowd) {
    (void)BeginLoop(reader, at);  // learns the next outer loop if the move to `at` begins one
  } else if (before > kMaxLate) {
    Forget(reader, before - kMaxLate);
  }
  reader.newest = chunk;
  reader.at = at;
  ++reader.steps;
  return true;
}

bool ArrayOrder::TakeNear(Reader& crowd, uint64_t chunk, const ChunkCoordinates& at) const {
  const uint64_t tip = NumberOf(crowd.tip);
  const uint64_t next = crowd.ahead.empty() ? tip + 1 : crowd.ahead.front().chunk;
  if (crowd.is_over && crowd.ahead.empty()) return false;
  if (chunk < next) return next - chunk <= kNear;
  if (chunk <= tip || chunk - tip > kNear) return false;
  // A crowd of threads that share a scan has a single prediction. If that prediction must restart
  // often, the threads do not share a scan.
  crowd.is_over = ++crowd.restarts > kMaxRestarts;
  crowd.size /= 2;
  if (crowd.is_over) {
    Forget(crowd, crowd.ahead.size());
    return false;
  }
  Restart(crowd, at);
  return true;
}

bool ArrayOrder::MakeCrowd(uint64_t chunk, bool is_expected) {
  if (std::ranges::find(recent_, chunk, &Recent::chunk) != recent_.end()) return false;
  recent_.push_back({chunk, is_expected});
  if (recent_.size() > kCrowd) recent_.pop_front();
  if (is_expected || recent_.size() < kCrowd / 2 ||
      std::ranges::count(recent_, false, &Recent::is_expected) < kUnexpected) {
    return false;
  }
  const auto [first, last] = std::ranges::minmax(recent_, {}, &Recent::chunk);
  const double span = static_cast<double>(last.chunk - first.chunk);
  if (span > kCrowdSpan * static_cast<double>(recent_.size())) return false;
  const auto half = static_cast<ptrdiff_t>(recent_.size() / 2);
  const auto sum = [](auto begin, auto end) {
    return std::accumulate(begin, end, uint64_t{0}, [&](uint64_t so_far, const Recent& each) {
      return so_far + each.chunk;
    });
  };
  const uint64_t before = sum(recent_.begin(), recent_.begin() + half);
  if (before >= sum(recent_.end() - half, recent_.end())) return false;
  readers_.clear();  // their loops were learned by chance from requests of the crowd
  Reader crowd{.newest = chunk, .steps = kMinSteps, .size = kCrowd, .is_crowd = true};
  grid_.Coordinates(last.chunk, crowd.at);
  crowd.tip = crowd.at;
  for (size_t axis = grid_.rank(); axis-- > 0;) crowd.loops.push_back({axis, 1, 0});
  readers_.push_front(std::move(crowd));
  return true;
}

void ArrayOrder::LearnRow(Reader& reader, const ChunkCoordinates& at) const {
  const uint64_t end = reader.at[reader.loops.front().axis];
  const bool is_known = reader.loops.front().last == end;
  // If the innermost loop ended twice in a row at the same coordinate, that is its end. The chunks
  // that were predicted after that end are then discarded.
  const bool is_again = std::exchange(reader.row_end, end) == end;
  const bool is_turn = BeginLoop(reader, at) || ((is_known || is_again) && TurnLoop(reader, at));
  if (!is_turn && (is_known || !is_again)) return;
  reader.loops.front().last = end;
  Restart(reader, at);
}

void ArrayOrder::Restart(Reader& reader, const ChunkCoordinates& at) {
  Forget(reader, reader.ahead.size());
  reader.tip = at;
  reader.is_over = false;
}

void ArrayOrder::Forget(Reader& reader, size_t count) {
  for (; count > 0; --count) {
    if (reader.ahead.front().is_fetched) --reader.fetched;
    reader.ahead.pop_front();
  }
}

std::optional<int64_t> ArrayOrder::StepsTo(const Reader& reader, const ChunkCoordinates& at) const {
  const Loop& loop = reader.loops.front();
  for (size_t d = 0; d < grid_.rank(); ++d) {
    if (d != loop.axis && at[d] != reader.at[d]) return std::nullopt;
  }
  const auto way = static_cast<int64_t>(at[loop.axis]) - static_cast<int64_t>(reader.at[loop.axis]);
  if (way % loop.step != 0 || std::abs(way / loop.step) > kMaxJump) return std::nullopt;
  return way / loop.step;
}

std::optional<ArrayOrder::Loop> ArrayOrder::LoopTo(const Reader& reader,
                                                   const ChunkCoordinates& at) const {
  std::optional<size_t> axis;
  for (size_t d = 0; d < grid_.rank(); ++d) {
    const auto loop = std::ranges::find(reader.loops, d, &Loop::axis);
    if (loop != reader.loops.end()) {
      if (at[d] != loop->begin || reader.at[d] == loop->begin) return std::nullopt;
    } else if (at[d] != reader.at[d]) {
      if (axis) return std::nullopt;
      axis = d;
    }
  }
  if (!axis) return std::nullopt;
  const auto step = static_cast<int64_t>(at[*axis]) - static_cast<int64_t>(reader.at[*axis]);
  return Loop{*axis, step, reader.at[*axis]};
}

void ArrayOrder::GoBeyond(Reader& reader, Loop& loop) {
  loop.last.reset();
  reader.is_box = false;
  reader.size = 0;
  reader.growth = kGrowthBeyond;
}

bool ArrayOrder::BeginLoop(Reader& reader, const ChunkCoordinates& at) const {
  const auto loop = LoopTo(reader, at);
  if (!loop || std::abs(loop->step) != 1) return false;
  for (Loop& inner : reader.loops) inner.last = reader.at[inner.axis];
  reader.loops.push_back(*loop);
  reader.unsure.reset();
  reader.is_box = false;
  reader.is_over = false;
  return true;
}

bool ArrayOrder::MakeSure(Reader& reader, const ChunkCoordinates& at) const {
  if (!reader.unsure) return false;
  ChunkCoordinates next = reader.at;
  for (const Loop& inner : reader.loops) {
    if (reader.at[inner.axis] == inner.begin) return false;
    next[inner.axis] = inner.begin;
  }
  if (!Move(*reader.unsure, next) || next != at) return false;
  for (Loop& inner : reader.loops) inner.last = reader.at[inner.axis];
  reader.loops.push_back(*reader.unsure);
  reader.unsure.reset();
  return true;
}

bool ArrayOrder::IsAtEnd(const Reader& reader, size_t loops) const {
  return std::ranges::none_of(std::span(reader.loops).first(loops), [&](const Loop& loop) {
    ChunkCoordinates next = reader.at;
    return Move(loop, next);
  });
}

ArrayOrder::Reader ArrayOrder::Begin(uint64_t chunk, const ChunkCoordinates& at) const {
  for (const Reader& other : readers_) {
    const auto loop = LoopTo(other, at);
    if (!loop || other.is_crowd || !IsAtEnd(other, other.loops.size())) continue;
    Reader reader{.newest = chunk, .at = at, .loops = other.loops, .unsure = loop};
    for (Loop& inner : reader.loops) inner.last = other.at[inner.axis];
    reader.steps = other.steps;
    reader.size = other.size;
    reader.tip = at;
    return reader;
  }
  return {.newest = chunk, .at = at, .tip = at};
}

std::optional<ArrayOrder::Box> ArrayOrder::BoxOf(const Reader& reader) const {
  if (reader.is_crowd || reader.loops.empty() || reader.steps <= kMinSteps) return std::nullopt;
  if (!IsAtEnd(reader, reader.loops.size() - 1)) return std::nullopt;
  Box box;
  for (const Loop& loop : reader.loops) {
    const auto length =
        static_cast<int64_t>(reader.at[loop.axis]) - static_cast<int64_t>(loop.begin);
    if (length / loop.step <= 0) return std::nullopt;
    box.push_back({loop.axis, loop.step, loop.begin, length});
  }
  return box;
}

std::optional<ArrayOrder::Box> ArrayOrder::UsualBox(const Loop& innermost) const {
  std::vector<Box> boxes;
  for (const Reader& reader : readers_) {
    auto box = BoxOf(reader);
    if (!box || box->front().axis != innermost.axis || box->front().step != innermost.step) {
      continue;
    }
    boxes.push_back(std::move(*box));
  }
  std::ranges::sort(boxes, std::greater{}, [](const Box& box) {
    return std::pair(box.size(), std::abs(box.back().length));
  });
  if (boxes.size() < kAlike) return std::nullopt;
  // Takes the kAlike-th largest box, because the box of a reader that has not finished yet is too
  // short along the outermost axis.
  Box usual = boxes[kAlike - 1];
  if (usual.size() != boxes.front().size()) return std::nullopt;
  // A box with a single axis predicts nothing, because threads that share a scan leave such boxes,
  // too.
  if (usual.size() == 1) return std::nullopt;
  for (const Box& box : boxes) {
    for (size_t i = 0; i < box.size(); ++i) {
      if (box[i].axis != usual[i].axis || box[i].step != usual[i].step) return std::nullopt;
      if (i + 1 == box.size()) break;
      if (std::abs(box[i].length) < std::abs(usual[i].length)) usual[i] = box[i];
    }
  }
  return usual;
}

void ArrayOrder::AdoptBox(Reader& reader) const {
  const auto box = UsualBox(reader.loops.front());
  if (!box) return;
  reader.loops.clear();
  bool is_aligned = true;
  for (const Side& side : *box) {
    const auto begin = static_cast<int64_t>(reader.at[side.axis]);
    const auto last = begin + side.length;
    Loop loop{side.axis, side.step, reader.at[side.axis]};
    if (last >= 0 && static_cast<uint64_t>(last) < grid_.counts()[side.axis]) {
      loop.last = static_cast<uint64_t>(last);
    }
    reader.loops.push_back(loop);
    is_aligned =
        is_aligned && (begin - static_cast<int64_t>(side.begin)) % (side.length + side.step) == 0;
  }
  reader.is_box = true;
  // A box that is aligned with the boxes before it counts as sequential reading. Otherwise, the
  // access may be random, so one more request in order is required before chunks are prefetched.
  if (is_aligned) reader.steps = kMinSteps;
  reader.steps = std::max(reader.steps, kMinSteps - 1);
  reader.size = kMaxAhead;
}

bool ArrayOrder::TurnLoop(Reader& reader, const ChunkCoordinates& at) const {
  for (size_t d = 0; d < grid_.rank(); ++d) {
    const bool is_known = std::ranges::find(reader.loops, d, &Loop::axis) != reader.loops.end();
    if (!is_known && at[d] != reader.at[d]) return false;
  }
  for (size_t outer = reader.loops.size(); outer-- > 1;) {
    Loop& loop = reader.loops[outer];
    if (at[loop.axis] == reader.at[loop.axis]) continue;
    const auto way =
        static_cast<int64_t>(at[loop.axis]) - static_cast<int64_t>(reader.at[loop.axis]);
    const auto inner = std::span(reader.loops).first(outer);
    const bool all_begin = std::ranges::all_of(inner, [&](const Loop& each) {
      return at[each.axis] == each.begin && reader.at[each.axis] != each.begin;
    });
    if (way != loop.step || !all_begin) return false;
    for (Loop& each : inner) each.last = reader.at[each.axis];
    if (reader.at[loop.axis] == loop.last) GoBeyond(reader, loop);
    return true;
  }
  return false;
}

bool ArrayOrder::Follow(Reader& reader, uint64_t chunk, const ChunkCoordinates& at) const {
  const bool is_first = reader.loops.empty();
  if (!is_first) {
    if (const auto steps = StepsTo(reader, at)) {
      if (*steps < 0) return true;  // the chunk was skipped earlier and is read late
      if (*steps != 1 && reader.steps < kMinSteps) return false;
      Loop& loop = reader.loops.front();
      const auto [low, high] = std::minmax(reader.at[loop.axis], at[loop.axis]);
      if (loop.last != at[loop.axis] && low <= loop.last && loop.last <= high) {
        GoBeyond(reader, loop);
      }
      ++reader.steps;
    } else if (TurnLoop(reader, at) || MakeSure(reader, at)) {
      ++reader.steps;
    } else if (!BeginLoop(reader, at)) {  // often chance, so `steps` is not incremented
      return false;
    }
  } else if (MakeSure(reader, at)) {
    ++reader.steps;
  } else if (!BeginLoop(reader, at)) {
    return false;
  } else {
    // Random access rarely requests two neighbours one after the other, so prefetching starts.
    reader.steps = &reader == &readers_.front() && IsInRow(reader.loops.front()) ? kMinSteps : 0;
    AdoptBox(reader);
  }
  // The prefetched chunks were not requested next, so halves the number of chunks to prefetch.
  if (reader.fetched > 0) reader.size = std::max<size_t>(reader.size / 2, 1);
  Restart(reader, at);
  reader.newest = chunk;
  reader.at = at;
  return true;
}

bool ArrayOrder::Move(const Loop& loop, ChunkCoordinates& at) const {
  const auto count = static_cast<int64_t>(grid_.counts()[loop.axis]);
  const auto next = static_cast<int64_t>(at[loop.axis]) + loop.step;
  if (next < 0 || next >= count || at[loop.axis] == loop.last) return false;
  at[loop.axis] = static_cast<uint64_t>(next);
  return true;
}

bool ArrayOrder::AdvanceGuessed(const Reader& reader, ChunkCoordinates& at) const {
  const Loop& inner = reader.loops.front();
  const int64_t step = inner.step > 0 ? 1 : -1;
  const size_t rank = grid_.rank();
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = inner.axis == 0 ? i : rank - 1 - i;
    const bool is_known = std::ranges::find(reader.loops, axis, &Loop::axis) != reader.loops.end();
    // Guesses that the next outer loop runs along the nearest axis for which no loop was learned.
    // The length of the guessed loop is unknown, so no loop outside it is guessed.
    if (!is_known && grid_.counts()[axis] > 1) return Move({axis, step, at[axis]}, at);
  }
  return false;
}

bool ArrayOrder::AdvanceLearned(const Reader& reader, ChunkCoordinates& at) const {
  for (const Loop& loop : reader.loops) {
    if (Move(loop, at)) return true;
    at[loop.axis] = loop.begin;
  }
  return false;
}

bool ArrayOrder::Advance(const Reader& reader, ChunkCoordinates& at) const {
  if (AdvanceLearned(reader, at)) return true;
  return !reader.is_box && !reader.unsure && AdvanceGuessed(reader, at);
}

ArrayOrder::Next ArrayOrder::Extend(Reader& reader, size_t window, const IsHere& is_here) const {
  Next next;
  window = std::clamp<size_t>(window, 1, kMaxAhead);
  // Prefetches more only after a quarter of the prefetched chunks, and at least two, were
  // requested.
  const size_t few = std::min<size_t>(std::max<size_t>(reader.size / 4, 2), reader.size);
  if (reader.steps < kMinSteps || reader.is_over || reader.fetched + few > reader.size) return next;
  reader.size = std::min(std::max(reader.growth * reader.size, kFirst), window);
  for (size_t tries = kGrowth * reader.size; tries > 0 && reader.fetched < reader.size; --tries) {
    if (reader.ahead.size() >= kMaxAhead) break;
    ChunkCoordinates tip = reader.tip;
    reader.is_over = !Advance(reader, tip);
    if (reader.is_over) break;
    reader.tip = tip;
    const uint64_t number = NumberOf(reader.tip);
    const bool is_fetched = !is_here(InnerIndex{number});
    reader.ahead.push_back({number, is_fetched});
    if (!is_fetched) continue;
    ++reader.fetched;
    next.chunks.push_back(InnerIndex{number});
  }
  if (next.chunks.empty() || reader.is_over) return next;
  ChunkCoordinates tip = reader.tip;
  while (next.later.size() < kMaxLater && AdvanceLearned(reader, tip)) {
    next.later.push_back(InnerIndex{NumberOf(tip)});
  }
  return next;
}

ArrayOrder::Next ArrayOrder::OnWanted(InnerIndex chunk, size_t window, const IsHere& is_here) {
  const uint64_t number = ToNumber(chunk);
  ChunkCoordinates at{};
  grid_.Coordinates(number, at);
  const auto is_it = [&](const auto& takes) {
    const auto found = std::ranges::find_if(readers_, takes);
    if (found == readers_.end()) return false;
    std::rotate(readers_.begin(), found, found + 1);
    return true;
  };
  const bool is_expected = is_it([&](Reader& reader) { return reader.newest == number; }) ||
                           is_it([&](Reader& reader) { return TakeAhead(reader, number, at); });
  if (MakeCrowd(number, is_expected) || is_expected ||
      is_it([&](Reader& reader) { return Follow(reader, number, at); })) {
    return Extend(readers_.front(), window, is_here);
  }
  if (readers_.size() == kReaders) readers_.pop_back();
  readers_.push_front(Begin(number, at));
  return Extend(readers_.front(), window, is_here);
}

}  // namespace zarrfs
