// FirstBytes: a cache of the first bytes of objects in a slow store that were opened and will
// probably be read soon. With it, opening and reading a small object takes one request.
//
// Bytes stay cached until they have been read to their end, or are evicted. A reader gets bytes
// only of the version that it requests, and only if it accepts the age of the answer
// (base/answer_age.h). Unread bytes waste bandwidth, so opening an object spends credit, and
// reading it earns the credit back. If a program opens objects only for their sizes, opening an
// object soon requests no first bytes. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "zarrcore/base/credit.h"
#include "zarrcore/base/lru_cache.h"
#include "zarrcore/base/memory_budget.h"
#include "zarrcore/store/store.h"

namespace zarrfs {

class FirstBytes {
 public:
  /// The maximum number of bytes that are requested when an object is opened.
  static constexpr size_t kMaxBytes = 1u << 20;
  /// The maximum number of cached bytes, and the credit: the maximum number of requested bytes that
  /// are still unread.
  static constexpr size_t kAllBytes = 16u << 20;

  /// The buffer of one request. The destructor returns the credit if Keep() was not called.
  class Request {
   public:
    Request(Request&& other) noexcept;
    Request& operator=(Request&&) = delete;
    ~Request();

    [[nodiscard]] std::span<std::byte> buffer() const { return {bytes_.get(), kMaxBytes}; }
    /// Caches the first `length` bytes of the buffer as the first bytes of `object`. `asked_ns`,
    /// `changed_ns`: when the bytes were requested and the object was changed; see IsAccepted().
    void Keep(const std::string& key, const Object& object, size_t length, int64_t asked_ns,
              std::optional<int64_t> changed_ns);

   private:
    friend class FirstBytes;
    Request(FirstBytes& of, size_t spent)
        : of_(&of), spent_(spent), bytes_(std::make_unique_for_overwrite<std::byte[]>(kMaxBytes)) {}

    FirstBytes* of_;
    const size_t spent_;
    std::unique_ptr<std::byte[]> bytes_;
  };

  /// Begins a request for an object and its first bytes. nullopt if the credit is used up, because
  /// too many cached bytes were not read.
  [[nodiscard]] std::optional<Request> Begin();

  /// Copies the cached bytes of this version of the object from `offset` on to `out`. Returns their
  /// number; 0 if none are cached, or the caller does not accept their age.
  [[nodiscard]] size_t Read(const std::string& key, const Version& version, uint64_t offset,
                            std::span<std::byte> out);

  /// Must be called when an object of `size` bytes that was opened without its first bytes is read.
  /// Earns credit, because its first bytes would have been useful.
  void OnReadWithout(uint64_t size) {
    if (size <= kMaxBytes) credit_.Earn(size);
  }

  void Evict(size_t bytes) { kept_.Evict(bytes); }

 private:
  struct Kept {
    Version version;
    int64_t asked_ns;
    std::optional<int64_t> changed_ns;
    std::unique_ptr<std::byte[]> bytes;
    size_t length;
    MemoryBudget::Share memory;
  };

  // Evicts bytes that are too old for any reader.
  void Sweep(int64_t now_ns);

  Credit credit_{kAllBytes};
  // The credit that the next Begin() spends: the number of bytes that the last request returned, at
  // most kMaxBytes.
  std::atomic<size_t> expected_ = kMaxBytes;
  std::atomic<int64_t> swept_ns_ = 0;
  LruCache<std::string, Kept> kept_{kAllBytes, 1};
};

}  // namespace zarrfs
