// PageBudget: limits the cost of a page. Omitted parts are marked on the page: "not looked at".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace zarrfs::ctl {

struct PageLimits {
  uint64_t chunks = 64;                         // decoded for one picture
  uint64_t decoded_bytes = uint64_t{64} << 20;  // of these chunks
  uint64_t pictures = 200;                      // of arrays
  uint64_t nodes = 20'000;                      // groups and arrays in the tree
  uint64_t file_bytes = 20'000'000;             // of the page
  std::chrono::steady_clock::duration time = std::chrono::seconds(60);
};

class PageBudget {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  /// The time runs from now on.
  explicit PageBudget(
      const PageLimits& limits = {}, Clock now = [] { return std::chrono::steady_clock::now(); });

  [[nodiscard]] const PageLimits& limits() const { return limits_; }

  [[nodiscard]] bool is_over() const;
  /// Returns a function that tells whether `part` of the time, from now on, or all of it is over,
  /// so that one array of a slow store does not use up the time of others.
  [[nodiscard]] std::function<bool()> EndOf(std::chrono::steady_clock::duration part) const;

  /// Why no further picture may be made; "" if one may.
  [[nodiscard]] std::string WhyNoPicture() const;
  void CountPicture() { ++pictures_; }

  /// Whether the page has room for `bytes` besides what it has; counts them if so. Pictures leave
  /// room for text.
  [[nodiscard]] bool TakeText(uint64_t bytes);
  [[nodiscard]] bool TakePicture(uint64_t bytes);

 private:
  [[nodiscard]] bool Take(uint64_t bytes, uint64_t limit);

  const PageLimits limits_;
  const Clock now_;
  const std::chrono::steady_clock::time_point end_;
  uint64_t pictures_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace zarrfs::ctl
