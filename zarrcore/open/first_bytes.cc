#include "zarrcore/open/first_bytes.h"

#include <algorithm>
#include <utility>

#include "zarrcore/base/answer_age.h"
#include "zarrcore/base/clocks.h"

namespace zarrfs {
namespace {

// Maximum age of cached bytes, and the interval at which older bytes are evicted. Readers accept
// bytes up to half a minute old, unless ttl= is longer.
constexpr int64_t kMaxAgeNs = 60'000'000'000;
constexpr int64_t kSweepNs = 1'000'000'000;

}  // namespace

FirstBytes::Request::Request(Request&& other) noexcept
    : of_(std::exchange(other.of_, nullptr)),
      spent_(other.spent_),
      bytes_(std::move(other.bytes_)) {}

FirstBytes::Request::~Request() {
  if (of_ != nullptr) of_->credit_.Earn(spent_);
}

void FirstBytes::Request::Keep(const std::string& key, const Object& object, size_t length,
                               int64_t asked_ns, std::optional<int64_t> changed_ns) {
  FirstBytes& of = *std::exchange(of_, nullptr);
  of.expected_ = std::max<size_t>(length, 1);
  of.credit_.Earn(spent_);
  of.credit_.Owe(length);
  of.Sweep(SteadyNowNs());
  const size_t charge = sizeof(Kept) + 256 + 2 * key.capacity() + length;
  auto memory = ProcessMemory().Take(charge);
  if (!memory) return;
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
  std::ranges::copy(buffer().first(length), bytes.get());
  of.kept_.Put(key,
               std::make_shared<const Kept>(Kept{object.info().version, asked_ns, changed_ns,
                                                 std::move(bytes), length, *std::move(memory)}),
               charge);
}

std::optional<FirstBytes::Request> FirstBytes::Begin() {
  const size_t expected = expected_;
  if (!credit_.Spend(expected)) return std::nullopt;
  return Request(*this, expected);
}

size_t FirstBytes::Read(const std::string& key, const Version& version, uint64_t offset,
                        std::span<std::byte> out) {
  const auto kept = kept_.Get(key);
  if (kept == nullptr || offset >= kept->length || kept->version != version) return 0;
  if (!IsAccepted(kept->asked_ns, kept->changed_ns)) {
    kept_.Erase(key, kept);
    return 0;
  }
  const size_t length = std::min<uint64_t>(out.size(), kept->length - offset);
  std::copy_n(kept->bytes.get() + offset, length, out.data());
  if (offset + length < kept->length) return length;
  kept_.Erase(key, kept);
  // Only an object that was cached as a whole saves a request. A larger object needs another
  // request for its rest.
  if (kept->length == version.size) credit_.Earn(kept->length);
  return length;
}

void FirstBytes::Sweep(int64_t now_ns) {
  int64_t swept_ns = swept_ns_;
  if (now_ns - swept_ns < kSweepNs || !swept_ns_.compare_exchange_strong(swept_ns, now_ns)) return;
  kept_.EraseIf([&](const std::string& /*key*/, const Kept& kept) {
    return now_ns - kept.asked_ns > kMaxAgeNs;
  });
}

}  // namespace zarrfs
