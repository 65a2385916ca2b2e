#include "zarrcore/open/probed_ranges.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {
namespace {

constexpr size_t kBytesOfProbed = 4u << 20;
// The maximum size in bytes of a shard index that a probe requests.
constexpr uint64_t kMaxRange = 4u << 10;

}  // namespace

ProbedRanges::ProbedRanges()
    : kept_(kBytesOfProbed, 1),
      holder_(ProcessMemory(), [this](uint64_t missing) { kept_.Evict(missing); }) {}

ByteRange ProbedRanges::RangeOf(const ArrayLayout& layout) {
  constexpr ByteRange kFirstByte = {0, 1, false};
  if (!layout.is_sharded() || layout.outers_differ()) return kFirstByte;
  const ShardingLevel& level = layout.levels.front();
  const uint64_t index = level.index.encoded_size();
  if (!level.around.empty() || index > kMaxRange) return kFirstByte;
  return level.index.at_end() ? ByteRange::Suffix(index + level.trailing_checksum)
                              : ByteRange::At(0, index);
}

Result<bool> ProbedRanges::Probe(const Store& store, const std::string& key, ByteRange range) {
  Bytes bytes(range.length);
  const int64_t asked_ns = SteadyNowNs();
  auto answer = store.Read(key, range, bytes);
  if (!answer && answer.error().code == ErrorCode::kNotFound) return false;
  if (!answer) return Fail(answer);
  if (range.length <= 1) return true;
  const size_t charge = sizeof(Kept) + 512 + 2 * key.capacity() + bytes.capacity();
  auto memory = ProcessMemory().Take(charge);
  if (!memory) return true;
  const ObjectInfo& info = answer->object->info();
  const auto changed_ns = IsRacy(store, info) ? std::nullopt : std::optional(info.version.ctime_ns);
  kept_.Put(key,
            std::make_shared<const Kept>(Kept{range, *std::move(answer), std::move(bytes), asked_ns,
                                              changed_ns, *std::move(memory)}),
            charge);
  return true;
}

std::optional<ReadAnswer> ProbedRanges::Take(std::string_view key, ByteRange range,
                                             std::span<std::byte> out) {
  const std::string name(key);
  const auto kept = kept_.Get(name);
  if (kept == nullptr) return std::nullopt;
  kept_.Erase(name, kept);
  const bool is_same = kept->range.offset == range.offset && kept->range.length == range.length &&
                       kept->range.from_end == range.from_end && out.size() >= range.length;
  if (!is_same || !IsAccepted(kept->asked_ns, kept->changed_ns)) return std::nullopt;
  NoteAnswer(kept->asked_ns);
  std::copy_n(kept->bytes.begin(), kept->answer.length, out.begin());
  return kept->answer;
}

}  // namespace zarrfs
