#include "fs/tree/assembled_files.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/base/waiting.h"

namespace zarrfs {
namespace {

// The number of milliseconds that CheckStep() waits for the store to report a change before it
// fails.
constexpr int kMaxWaits = 1000;

// Returns the number with which this process begins to count versions. It is random, so two
// processes do not use the same version numbers.
uint64_t FirstNumber() {
  std::random_device random;
  return uint64_t{random()} << 32;
}

tl::unexpected<Error> Changed(std::string_view path) {
  return Fail(ErrorCode::kStale, "{}: changed since the file was opened", path);
}

// Allocates a buffer in huge pages, because faulting in each small page of a large buffer would
// take a large part of the decoding time.
Bytes MakeBytes(size_t size) {
  Bytes bytes;
  bytes.reserve(size);
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t from = CeilDiv(begin, kHugePage) * kHugePage;
  const uintptr_t to = (begin + size) / kHugePage * kHugePage;
  if (from < to) (void)madvise(bytes.data() + (from - begin), to - from, MADV_HUGEPAGE);
#endif
  bytes.resize(size);
  return bytes;
}

bool IsWatched(const Store& store) { return Moment::Now(store).validity().is_known(); }

}  // namespace

struct AssembledFiles::State {
  std::string path;
  uint64_t number = 0;
  // The number of the oldest version that Get() accepts. Newer versions were made only because a
  // name expired.
  uint64_t since = 0;
  Digest digest;
  // The change counters of the arrays (see ChangesOf()) when the version was made.
  std::vector<uint64_t> changes;
  int64_t made_ns = 0;                  // the wall clock time before the first request to a source
  std::atomic<int64_t> read_ns = 0;     // when chunks were first read; 0 if no chunk was read yet
  std::atomic<bool> is_polled = false;  // true if a source may change without a report
  // The value of AssembledFiles::counted_ when `changes` were last found up to date.
  std::atomic<uint64_t> counted = 0;
  // The latest change_count() of the store at which the sources of the file were known to be
  // unchanged.
  std::atomic<uint64_t> step = 0;
};

AssembledFiles::AssembledFiles(Nodes& nodes, const Timeouts& timeouts, const TreeOptions& options)
    : nodes_(nodes),
      timeouts_(timeouts),
      is_for_others_(options.is_for_others && !options.umask),
      immutable_(options.immutable),
      last_number_(FirstNumber()) {}

uint64_t AssembledFiles::ChangesAt(std::string_view path) const {
  uint64_t changes = all_changes_;
  for (;; path = FolderOf(path)) {
    if (const NodeRecord* const record = nodes_.table().Find(path)) changes += record->changes;
    if (path.empty()) return changes;
  }
}

Result<std::vector<uint64_t>> AssembledFiles::ChangesOf(const Assembled& file) {
  std::vector<uint64_t> changes;
  for (const NodePtr& array : file.arrays) {
    // Makes the record of the array, if it has none. From now on, changes of the array and its
    // chunks are counted in it.
    const auto record = nodes_.table().RecordOfArray(array->path);
    if (!record) return Fail(record);
    changes.push_back(ChangesAt(array->path));
  }
  return changes;
}

bool AssembledFiles::IsExpired(const State& state, const Assembled& file) const {
  if (immutable_ || !state.is_polled) return false;
  const double age = static_cast<double>(RealNowNs() - state.made_ns) * 1e-9;
  return age < 0 || age >= timeouts_.Name(file.info.version.ctime_ns, {});
}

Result<AssembledFiles::Version> AssembledFiles::Current(const CurrentNode& node, size_t view) {
  const int64_t now_ns = RealNowNs();
  const uint64_t step = nodes_.store().change_count();
  const bool is_watched = IsWatched(nodes_.store());
  const auto file = nodes_.files().Assemble(node.record->path, view, nodes_.check_age());
  if (!file) return Fail(file);
  const uint64_t counted = counted_;
  auto changes = ChangesOf(**file);
  if (!changes) return Fail(changes);
  const MutexLock lock(mutex_);
  StatePtr& state = states_[node.record->DocumentId(view, 0, 0)];
  const bool is_same =
      state != nullptr && state->digest == (*file)->digest && state->changes == *changes;
  if (!is_same || IsExpired(*state, **file)) {
    auto made = std::make_shared<State>();
    made->path = node.record->path;
    made->number = ++last_number_;
    made->since = is_same ? state->since : made->number;
    made->digest = (*file)->digest;
    made->changes = std::move(*changes);
    made->made_ns = now_ns;
    made->is_polled = !is_watched;
    made->counted = counted;
    made->step = step;
    state = std::move(made);
  }
  return Version{state->number, *file, state};
}

Result<AssembledFiles::Version> AssembledFiles::Get(const NodeRecord& record, size_t view,
                                                    uint64_t number) {
  StatePtr state;
  {
    const MutexLock lock(mutex_);
    const auto found = states_.find(record.DocumentId(view, 0, 0));
    if (found != states_.end()) state = found->second;
  }
  if (state == nullptr || number < state->since || number > state->number) {
    return Changed(record.path);
  }
  const auto file = nodes_.files().Assemble(record.path, view, nodes_.check_age());
  if (!file) return Fail(file);
  if (state->digest != (*file)->digest) return Changed(record.path);
  if (const uint64_t counted = counted_; state->counted != counted) {
    const auto changes = ChangesOf(**file);
    if (!changes) return Fail(changes);
    if (*changes != state->changes) return Changed(record.path);
    state->counted = counted;
  }
  return Version{number, *file, std::move(state)};
}

bool AssembledFiles::IsNewer(State& state, int64_t ctime_ns) const {
  const int64_t now_ns = RealNowNs();
  if (ctime_ns > now_ns) state.is_polled = true;  // another clock is ahead
  if (state.is_polled || immutable_ || nodes_.store().ChangesInSteps()) return false;
  int64_t since_ns = 0;
  const bool is_first = state.read_ns.compare_exchange_strong(since_ns, now_ns);
  if (is_first) since_ns = now_ns;
  // A file's timestamp lags behind the clock by up to the store's timestamp granularity.
  if (ctime_ns <= since_ns - nodes_.store().TimestampGranularityNs()) return false;
  if (!is_first) return true;
  // The source changed just before the first read. Waits, so that later changes get a different
  // timestamp.
  (void)WaitOutRacy(nodes_.store());
  state.read_ns = RealNowNs();
  return false;
}

tl::unexpected<Error> AssembledFiles::Stale(const State& state, const Node& array) {
  if (NodeRecord* const record = nodes_.table().Find(array.path)) CountChange(*record);
  return Changed(state.path);
}

void AssembledFiles::Observe(State& state, std::string_view key, Validity validity) {
  if (state.is_polled || validity.is_known()) return;
  // A very recent change may not have been reported yet, even if the object is watched.
  if (nodes_.store().Watch(FolderOf(key)) == 0) state.is_polled = true;
}

Result<void> AssembledFiles::CheckStored(const Version& version, const Node& array,
                                         const Located& located) {
  State& state = *version.state;
  const ChunkLocation& found = *located.location;
  const ObjectInfo& object = found.shard->info;
  if (object.may_change_elsewhere) state.is_polled = true;
  if (!located.validity.is_known()) {
    Observe(state, array.chunks->ObjectKey(found.outer), located.validity);
  }
  if (IsNewer(state, object.version.ctime_ns)) return Stale(state, array);
  const ObjectInfo& file = version.file->info;
  const bool has_same_owner = object.uid == file.uid && object.gid == file.gid;
  const bool is_as_open =
      (file.mode & 0444 & ~object.mode) == 0 && (has_same_owner || (object.mode & 0444) == 0444);
  if (is_for_others_ && !is_as_open) {
    return Fail(ErrorCode::kPermissionDenied,
                "{}: its permissions admit fewer readers than those of the file assembled from it",
                array.chunks->ObjectKey(found.outer));
  }
  return {};
}

Result<void> AssembledFiles::CheckMissing(const Version& version, const Node& array,
                                          InnerIndex chunk, const Located& found) {
  State& state = *version.state;
  if (const auto gone = nodes_.WhyGone(array)) return tl::unexpected(*gone);
  if (immutable_) return {};
  const std::string key = array.chunks->ObjectKey(array.chunks->OuterOf(chunk));
  Observe(state, key, found.validity);
  if (state.is_polled) return {};
  // The chunk may have been deleted a moment ago. This changes the timestamp of the nearest
  // existing folder above its object.
  for (std::string_view folder = FolderOf(key);; folder = FolderOf(folder)) {
    const auto info = nodes_.store().Stat(folder);
    if (info && IsNewer(state, info->version.ctime_ns)) return Stale(state, array);
    if (info) return {};
    if (info.error().code != ErrorCode::kNotFound) return Fail(info);
    if (folder.size() <= array.path.size()) return Stale(state, array);
  }
}

Result<void> AssembledFiles::CheckStep(const Version& version) {
  const Store& store = nodes_.store();
  if (immutable_ || !store.ChangesInSteps()) return {};
  State& state = *version.state;
  const uint64_t now = store.change_count();
  if (state.step == now) return {};
  // change_count() grows before the store reports what has changed. The report follows immediately.
  for (int waits = 0; step_ < now; ++waits) {
    if (!MayWait())
      return Fail(ErrorCode::kWouldBlock, "{}: the store is changing now", state.path);
    if (waits == kMaxWaits) return Changed(state.path);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto changes = ChangesOf(*version.file);
  if (!changes) return Fail(changes);
  if (*changes != state.changes) return Changed(state.path);
  state.step = now;
  return {};
}

Result<size_t> AssembledFiles::Read(const Version& version, uint64_t offset,
                                    std::span<std::byte> buffer, ChunkReader& chunks) {
  const uint64_t size = version.file->file.size;
  if (offset >= size) return size_t{0};
  const auto out = buffer.first(std::min<uint64_t>(buffer.size(), size - offset));
  const auto check = [&](const Node& array, InnerIndex chunk, const Located& found) {
    return Check(version, array, chunk, found);
  };
  const auto read = ReadAssembled(*version.file, offset, out, chunks, nodes_.check_age(), check);
  if (!read) return Fail(read);
  if (const auto is_of_step = CheckStep(version); !is_of_step) return Fail(is_of_step);
  return out.size();
}

bool AssembledFiles::MayKeep(const Version& version) const {
  return immutable_ || !version.state->is_polled;
}

Result<ChunkReader::Made> AssembledFiles::Assemble(const Version& version,
                                                   const AssembledWindow& window,
                                                   ChunkReader& chunks) {
  auto memory = ProcessMemory().Take(window.size);
  if (!memory) return Fail(memory);
  ChunkReader::Made made{MakeBytes(window.size), std::move(*memory)};
  std::atomic<bool> is_racy = false;
  const auto check = [&](const Node& array, InnerIndex chunk, const Located& found) {
    if (found.location && array.chunks->IsRacy(*found.location->shard)) is_racy = true;
    return Check(version, array, chunk, found);
  };
  const auto read = ReadAssembled(*version.file, window.offset, made.bytes, chunks,
                                  nodes_.check_age(), check, Reuse::kNever);
  if (!read) return Fail(read);
  if (const auto is_of_step = CheckStep(version); !is_of_step) return Fail(is_of_step);
  if (is_racy || !MayKeep(version)) {
    return Fail(ErrorCode::kStale, "{}: changed a moment ago", version.state->path);
  }
  return made;
}

void AssembledFiles::CountChange(NodeRecord& record) {
  ++record.changes;
  ++counted_;
}

void AssembledFiles::OnChange(const Changes& changes) {
  if (changes.all) {
    ++all_changes_;
    ++counted_;
  }
  for (const std::string& key : changes.keys) {
    NodeRecord* const owner = nodes_.OwnerOf(key);
    // Children of a group are either nodes, whose changes are counted in their own records, or
    // documents.
    if (owner != nullptr && (owner->was_array || owner->path == key)) CountChange(*owner);
  }
  for (const std::string& folder : changes.folders) {
    if (NodeRecord* const owner = nodes_.OwnerOf(folder)) CountChange(*owner);
  }
  if (changes.was_announced) step_ = nodes_.store().change_count();
}

}  // namespace zarrfs
