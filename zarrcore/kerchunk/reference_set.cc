#include "zarrcore/kerchunk/reference_set.h"

#include <algorithm>
#include <array>
#include <functional>

#include "zarrcore/base/checked.h"
#include "zarrcore/base/printable.h"
#include "zarrcore/icechunk/virtual_prefix.h"

namespace zarrfs {
namespace {

using Kind = KerchunkReference::Kind;

constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

// Appends a number, seven bits per byte, lowest bits first. The top bit of a byte is set if another
// byte follows.
void Put(std::string& bytes, uint64_t number) {
  constexpr uint64_t kMore = 0x80;
  for (; number >= kMore; number >>= 7) bytes += static_cast<char>(number | kMore);
  bytes += static_cast<char>(number);
}

uint64_t Take(std::string_view bytes, size_t& at) {
  uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    number |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80U) return number;
  }
}

// A record in Builder::records_.
struct Unsorted {
  std::string_view key;
  std::string_view value;  // the record's kind and numbers, followed by all later records
};

Unsorted RecordAt(std::string_view records, size_t at) {
  const auto length = static_cast<size_t>(Take(records, at));
  return {records.substr(at, length), records.substr(at + length)};
}

// Returns the length, in bytes, of the kind and numbers with which Unsorted::value begins.
size_t ValueLength(std::string_view value) {
  size_t at = 1;
  const auto kind = static_cast<Kind>(value[0]);
  const int numbers = kind == Kind::kInline ? 2 : kind == Kind::kRange ? 3 : 1;
  for (int i = 0; i < numbers; ++i) (void)Take(value, at);
  return at;
}

size_t SharedLength(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return static_cast<size_t>(end - a.begin());
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Calls `literal` and `name` for the parts of a location: "{{u}}/a.nc" has the name "u" and the
// literal "/a.nc".
template <typename OnLiteral, typename OnName>
Result<void> ForEachPart(std::string_view location, OnLiteral literal, OnName name) {
  while (!location.empty()) {
    const size_t open = location.find(kOpen);
    literal(location.substr(0, open));
    if (open == location.npos) return {};
    const size_t close = location.find(kClose, open);
    if (close == location.npos) {
      return Fail(ErrorCode::kDamaged, "{}: a template without its end", AsciiExcerpt(location));
    }
    const size_t begin = open + kOpen.size();
    auto named = name(Trimmed(location.substr(begin, close - begin)));
    if (!named) return named;
    location.remove_prefix(close + kClose.size());
  }
  return {};
}

}  // namespace

// --- The builder ---

Result<void> KerchunkReferenceSet::Builder::Add(std::string_view key, Kind kind,
                                                std::span<const uint64_t> numbers) {
  if (key.empty() || !IsValidKey(key)) {
    return Fail(ErrorCode::kDamaged, "\"{}\": not a valid key", AsciiExcerpt(key));
  }
  positions_.push_back(records_.size());
  Put(records_, key.size());
  records_ += key;
  records_ += static_cast<char>(kind);
  for (const uint64_t number : numbers) Put(records_, number);
  return {};
}

std::string_view KerchunkReferenceSet::Builder::LocationAt(uint64_t number) const {
  const Part& part = locations_[static_cast<size_t>(number)];
  return std::string_view(bytes_).substr(static_cast<size_t>(part.begin),
                                         static_cast<size_t>(part.length));
}

uint64_t KerchunkReferenceSet::Builder::NumberOf(std::string_view location) {
  if (!locations_.empty() && LocationAt(latest_) == location) return latest_;
  if (const auto found = numbers_.find(location); found != numbers_.end()) {
    latest_ = *found;
    return latest_;
  }
  latest_ = locations_.size();
  locations_.push_back({bytes_.size(), location.size()});
  bytes_ += location;
  numbers_.insert(latest_);
  return latest_;
}

uint64_t KerchunkReferenceSet::Builder::bytes() const {
  constexpr uint64_t kNode = 64;   // the size of a node in the tree numbers_
  constexpr uint64_t kAtOnce = 2;  // an array that grows is copied, so it exists twice
  constexpr uint64_t kTemplate = 128;
  return kAtOnce * (records_.capacity() + positions_.capacity() * sizeof(uint64_t) +
                    bytes_.capacity() + locations_.capacity() * sizeof(Part) +
                    numbers_.size() * kNode + template_bytes_ + templates_.size() * kTemplate);
}

Result<void> KerchunkReferenceSet::Builder::AddInline(std::string_view key,
                                                      std::string_view bytes) {
  auto added = Add(key, Kind::kInline, std::array<uint64_t, 2>{bytes_.size(), bytes.size()});
  if (added) bytes_ += bytes;
  return added;
}

Result<void> KerchunkReferenceSet::Builder::AddWhole(std::string_view key,
                                                     std::string_view location) {
  return Add(key, Kind::kWhole, std::array<uint64_t, 1>{NumberOf(location)});
}

Result<void> KerchunkReferenceSet::Builder::AddRange(std::string_view key,
                                                     std::string_view location, uint64_t offset,
                                                     uint64_t length) {
  const auto end = CheckedAdd(offset, length);
  if (!end || *end > uint64_t{INT64_MAX}) {
    return Fail(ErrorCode::kDamaged, "{}: {} bytes at {} end beyond 2^63", AsciiExcerpt(key),
                length, offset);
  }
  return Add(key, Kind::kRange, std::array<uint64_t, 3>{NumberOf(location), offset, length});
}

void KerchunkReferenceSet::Builder::AddTemplate(std::string name, std::string value) {
  template_bytes_ += name.size() + value.size();
  templates_.emplace_back(std::move(name), std::move(value));
}

Result<std::shared_ptr<KerchunkReferenceSet>> KerchunkReferenceSet::Builder::Finish(
    MemoryBudget::Share memory) && {
  auto set = std::make_shared<KerchunkReferenceSet>();
  numbers_.clear();
  // If several templates have the same name, the last one counts, as in other JSON readers.
  const auto name_of = [](const auto& row) -> const std::string& { return row.first; };
  std::ranges::reverse(templates_);
  std::ranges::stable_sort(templates_, {}, name_of);
  templates_.erase(std::unique(templates_.begin(), templates_.end(),
                               [](const auto& a, const auto& b) { return a.first == b.first; }),
                   templates_.end());
  set->templates_ = std::move(templates_);
  set->locations_ = std::move(locations_);
  set->bytes_ = std::move(bytes_);
  for (const auto& [name, value] : set->templates_) {
    if (value.find(kOpen) == value.npos) continue;
    return Fail(ErrorCode::kUnsupported, "the template \"{}\" has arguments: {}",
                AsciiExcerpt(name), AsciiExcerpt(value));
  }
  for (const Part& location : set->locations_) {
    const auto has = [&](std::string_view name) -> Result<void> {
      if (std::ranges::binary_search(set->templates_, name, std::less<>(),
                                     [](const auto& row) { return std::string_view(row.first); })) {
        return {};
      }
      if (name.find_first_of("(|. ") != name.npos) {
        return Fail(ErrorCode::kUnsupported, "a template with arguments: {}", AsciiExcerpt(name));
      }
      return Fail(ErrorCode::kDamaged, "no template has the name \"{}\"", AsciiExcerpt(name));
    };
    auto expands = ForEachPart(
        set->BytesOf(location), [](std::string_view) {}, has);
    if (!expands) return Fail(expands);
  }

  const std::string_view unsorted = records_;
  std::ranges::stable_sort(positions_, std::less<>(),
                           [&](uint64_t at) { return RecordAt(unsorted, at).key; });
  std::string_view before;
  for (size_t i = 0; i < positions_.size(); ++i) {
    const Unsorted record = RecordAt(unsorted, positions_[i]);
    const bool is_replaced =
        i + 1 < positions_.size() && RecordAt(unsorted, positions_[i + 1]).key == record.key;
    if (is_replaced) continue;
    const bool begins_block = set->count_++ % kBlock == 0;
    if (begins_block) set->blocks_.push_back(set->records_.size());
    const size_t shared = begins_block ? 0 : SharedLength(before, record.key);
    Put(set->records_, shared);
    Put(set->records_, record.key.size() - shared);
    set->records_ += record.key.substr(shared);
    set->records_ += record.value.substr(0, ValueLength(record.value));
    before = record.key;
  }
  set->records_.shrink_to_fit();
  set->bytes_.shrink_to_fit();
  set->locations_.shrink_to_fit();
  memory.ShrinkTo(set->records_.size() + set->bytes_.size() +
                  set->blocks_.capacity() * sizeof(uint64_t) +
                  set->locations_.capacity() * sizeof(Part) + template_bytes_);
  set->memory_ = std::move(memory);
  return set;
}

// --- The set ---

std::string_view KerchunkReferenceSet::BytesOf(const Part& part) const {
  return std::string_view(bytes_).substr(static_cast<size_t>(part.begin),
                                         static_cast<size_t>(part.length));
}

std::string_view KerchunkReferenceSet::FirstKey(size_t block) const {
  auto at = static_cast<size_t>(blocks_[block]);
  (void)Take(records_, at);
  const auto length = static_cast<size_t>(Take(records_, at));
  return std::string_view(records_).substr(at, length);
}

KerchunkReferenceSet::Cursor::Cursor(const KerchunkReferenceSet& set, size_t block)
    : set_(&set),
      number_(block * kBlock),
      at_(block < set.blocks_.size() ? static_cast<size_t>(set.blocks_[block])
                                     : set.records_.size()) {
  if (*this) Decode();
}

void KerchunkReferenceSet::Cursor::Decode() {
  size_t at = at_;
  key_.resize(static_cast<size_t>(Take(set_->records_, at)));
  const auto length = static_cast<size_t>(Take(set_->records_, at));
  key_.append(set_->records_, at, length);
  value_ = at + length;
}

void KerchunkReferenceSet::Cursor::Next() {
  at_ = value_ + ValueLength(std::string_view(set_->records_).substr(value_));
  ++number_;
  if (*this) Decode();
}

KerchunkReference KerchunkReferenceSet::Cursor::reference() const {
  size_t at = value_;
  const auto next = [&] { return Take(set_->records_, at); };
  KerchunkReference reference{.kind = static_cast<Kind>(set_->records_[at++])};
  if (reference.kind == Kind::kInline) {
    const uint64_t begin = next();
    reference.bytes = set_->BytesOf({begin, next()});
    reference.length = reference.bytes.size();
    return reference;
  }
  reference.location = set_->BytesOf(set_->locations_[static_cast<size_t>(next())]);
  if (reference.kind == Kind::kRange) {
    reference.offset = next();
    reference.length = next();
  }
  return reference;
}

KerchunkReferenceSet::Cursor KerchunkReferenceSet::LowerBound(std::string_view key) const {
  // Finds the last block whose first key is not after `key`.
  size_t low = 0;
  size_t high = blocks_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (FirstKey(middle) <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  Cursor cursor(*this, low == 0 ? 0 : low - 1);
  while (cursor && cursor.key() < key) cursor.Next();
  return cursor;
}

std::optional<KerchunkReference> KerchunkReferenceSet::Find(std::string_view key) const {
  const Cursor cursor = LowerBound(key);
  if (!cursor || cursor.key() != key) return std::nullopt;
  return cursor.reference();
}

Result<std::string> KerchunkReferenceSet::LocationOf(const KerchunkReference& reference) const {
  std::string location;
  bool fits = true;
  const auto add = [&](std::string_view part) {
    fits = fits && part.size() <= kMaxVirtualLocation - location.size();
    if (fits) location += part;
  };
  const auto add_named = [&](std::string_view name) -> Result<void> {
    const auto row =
        std::ranges::lower_bound(templates_, name, std::less<>(),
                                 [](const auto& named) { return std::string_view(named.first); });
    add(row->second);  // Builder::Finish() has checked that the template exists
    return {};
  };
  if (auto expanded = ForEachPart(reference.location, add, add_named); !expanded) {
    return Fail(expanded);
  }
  if (fits) return location;
  return Fail(ErrorCode::kIo, "an address of more than {} bytes: {}", kMaxVirtualLocation,
              AsciiExcerpt(reference.location));
}

}  // namespace zarrfs
