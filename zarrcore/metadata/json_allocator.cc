#include "zarrcore/metadata/json_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "zarrcore/base/mutex.h"

namespace zarrfs::internal {
namespace {

// The addresses of the shared mappings in use; null for free entries. The table has a fixed size,
// so adding an address needs no memory.
struct Mappings {
  Mutex mutex;
  std::array<void*, 256> at GUARDED_BY(mutex) = {};
  std::atomic<size_t> count = 0;
};
constinit Mappings mappings;

// Replaces the address `instead` in the table with `memory`; either may be null. False if the table
// does not contain `instead`.
bool Replace(void* instead, void* memory) {
  const MutexLock lock(mappings.mutex);
  const auto found = std::ranges::find(mappings.at, instead);
  if (found == mappings.at.end()) return false;
  *found = memory;
  memory != nullptr ? ++mappings.count : --mappings.count;
  return true;
}

}  // namespace

void* AllocateJsonValues(size_t bytes) {
  if (void* const memory = ::operator new(bytes, std::nothrow)) return memory;
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (!Replace(nullptr, mapped)) {
    munmap(mapped, bytes);
    throw std::bad_alloc();
  }
  return mapped;
}

void FreeJsonValues(void* memory, size_t bytes) noexcept {
  if (mappings.count.load(std::memory_order_relaxed) > 0 && Replace(memory, nullptr)) {
    munmap(memory, bytes);
  } else {
    ::operator delete(memory);
  }
}

}  // namespace zarrfs::internal
