// PageBudget: limits the time, the memory and the size of a page. The page marks omitted parts as
// "not examined".
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace zarrfs::ctl {

struct PageLimits {
  uint64_t chunks = 64;  // the maximum number of chunks that are decoded for one picture
  uint64_t decoded_bytes = uint64_t{64} << 20;  // the maximum decoded size of these chunks
  uint64_t pictures = 200;                      // the maximum number of pictures of arrays
  uint64_t nodes = 20'000;           // the maximum number of groups and arrays in the tree
  uint64_t file_bytes = 20'000'000;  // the maximum size of the page
  std::chrono::steady_clock::duration time = std::chrono::seconds(60);
  // How long to wait, after `time` is over, for calls to the store that have not returned.
  std::chrono::steady_clock::duration last_answer = std::chrono::seconds(5);
};

class PageBudget {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  /// The page's time limit begins at construction.
  explicit PageBudget(
      const PageLimits& limits = {}, Clock now = [] { return std::chrono::steady_clock::now(); });

  [[nodiscard]] const PageLimits& limits() const { return limits_; }

  [[nodiscard]] bool is_over() const;
  /// Returns a function that returns true once the duration `part` from now is over, or the page's
  /// time limit is reached. So one slow array does not use up the time of others.
  [[nodiscard]] std::function<bool()> EndOf(std::chrono::steady_clock::duration part) const;

  /// Returns why no further picture may be made; "" if one may be made.
  [[nodiscard]] std::string WhyNoPicture() const;
  void CountPicture() { ++pictures_; }

  /// Reserves `bytes` of the page's size. Returns false if they do not fit. TakePicture() leaves
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
