// AppendList: a list that grows at its end and is read without a lock.
//
// Elements lie in blocks, each twice as large as the one before, so that none ever moves. Append()
// is for one thread at a time; everything else is thread-safe.
#ifndef FS_TREE_APPEND_LIST_H_
#define FS_TREE_APPEND_LIST_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

namespace zarrfs {

template <typename T>
class AppendList {
 public:
  void Append(const T& value) {
    const size_t index = size_.load(std::memory_order_relaxed);
    const size_t block = BlockOf(index);
    if (index == FirstOf(block)) blocks_[block] = std::make_unique<T[]>(kFirstBlock << block);
    blocks_[block][index - FirstOf(block)] = value;
    size_.store(index + 1, std::memory_order_release);
  }

  [[nodiscard]] size_t size() const { return size_.load(std::memory_order_acquire); }

  /// `index` < size().
  [[nodiscard]] const T& operator[](size_t index) const {
    const size_t block = BlockOf(index);
    return blocks_[block][index - FirstOf(block)];
  }

  /// The last element whose `key` is not above `value`, or null. Elements are sorted by it.
  template <typename Key>
  [[nodiscard]] const T* LastUpTo(Key T::*key, const Key& value) const {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if ((*this)[middle].*key <= value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == 0 ? nullptr : &(*this)[low - 1];
  }

 private:
  static constexpr size_t kFirstBlock = 64;
  static size_t BlockOf(size_t index) { return std::bit_width(index / kFirstBlock + 1) - 1; }
  static size_t FirstOf(size_t block) { return ((size_t{1} << block) - 1) * kFirstBlock; }

  std::atomic<size_t> size_ = 0;
  std::array<std::unique_ptr<T[]>, 48> blocks_;
};

}  // namespace zarrfs

#endif  // FS_TREE_APPEND_LIST_H_
