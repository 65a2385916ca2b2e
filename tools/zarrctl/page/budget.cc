#include "tools/zarrctl/page/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zarrfs::ctl {
namespace {

// The share of the page that pictures may use, in percent. The rest is for text.
constexpr uint64_t kPicturePercent = 70;
// Bytes reserved for the head and the end of the page.
constexpr uint64_t kReserve = 64'000;

}  // namespace

PageBudget::PageBudget(const PageLimits& limits, Clock now)
    : limits_(limits), now_(std::move(now)), end_(now_() + limits.time) {}

bool PageBudget::is_over() const { return now_() >= end_; }

std::function<bool()> PageBudget::EndOf(std::chrono::steady_clock::duration part) const {
  return [this, end = std::min(now_() + part, end_)] { return now_() >= end; };
}

std::string PageBudget::WhyNoPicture() const {
  if (pictures_ >= limits_.pictures) {
    return fmt::format("the page has {} pictures already", limits_.pictures);
  }
  if (!is_over()) return "";
  return fmt::format("{} seconds have passed",
                     std::chrono::duration_cast<std::chrono::seconds>(limits_.time).count());
}

bool PageBudget::Take(uint64_t bytes, uint64_t limit) {
  if (bytes > limit || bytes_ > limit - bytes) return false;
  bytes_ += bytes;
  return true;
}

bool PageBudget::TakeText(uint64_t bytes) {
  return Take(bytes, limits_.file_bytes - std::min(kReserve, limits_.file_bytes));
}

bool PageBudget::TakePicture(uint64_t bytes) {
  return Take(bytes, limits_.file_bytes / 100 * kPicturePercent);
}

}  // namespace zarrfs::ctl
