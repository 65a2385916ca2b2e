// A library for LD_PRELOAD that makes calls fail. See ../faults.h.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/endurance/faults.h"

namespace zarrfs {
namespace {

Faults* faults = nullptr;

__attribute__((constructor)) void Map() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&Map), &self) == 0) return;
  const int fd = open((std::string(self.dli_fname) + kFaultsSuffix).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* const page = mmap(nullptr, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) faults = static_cast<Faults*>(page);
  close(fd);
}

uint32_t Random() {
  thread_local uint64_t state =
      reinterpret_cast<uint64_t>(&state) ^ static_cast<uint64_t>(getpid());
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint32_t>(state >> 20);
}

// True if this call must have a fault, which is counted. `of`: the number of calls to which the
// rate refers.
bool Strikes(std::atomic<uint32_t> Faults::*rate, uint32_t of = 1024) {
  if (faults == nullptr) return false;
  const uint32_t often = (faults->*rate).load(std::memory_order_relaxed);
  if (often == 0 || Random() % of >= often || faults->process.load() != getpid()) return false;
  ++faults->made;
  return true;
}

// May delay a call that reads the store. True, with errno set, if the call must fail.
bool Trouble() {
  if (Strikes(&Faults::stalls)) usleep(Random() % 500'000);
  if (!Strikes(&Faults::io_errors)) return false;
  errno = EIO;
  return true;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

size_t Shortened(size_t size) {
  return size > 1 && Strikes(&Faults::short_reads) ? 1 + Random() % (size - 1) : size;
}

void* Allocate(size_t size, size_t alignment = 0) {
  constexpr uint32_t kOf = 1 << 20;
  void* const memory =
      Strikes(&Faults::no_memory, kOf) ? nullptr
      : alignment == 0
          ? std::malloc(std::max<size_t>(size, 1))
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace zarrfs

using zarrfs::Next;
using zarrfs::Trouble;

extern "C" {

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  static auto* const next = Next<ssize_t(int, void*, size_t, off_t)>("pread");
  return Trouble() ? -1 : next(fd, to, zarrfs::Shortened(size), offset);
}

ssize_t __pread_chk(int fd, void* to, size_t size, off_t offset, size_t /*room*/) {
  return pread(fd, to, size, offset);
}

dirent* readdir(DIR* folder) {
  static auto* const next = Next<dirent*(DIR*)>("readdir");
  return Trouble() ? nullptr : next(folder);
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  static auto* const next = Next<int(int, const char*, int, unsigned, struct statx*)>("statx");
  return Trouble() ? -1 : next(folder, path, flags, mask, status);
}

int fstat(int fd, struct stat* status) noexcept {
  static auto* const next = Next<int(int, struct stat*)>("fstat");
  return Trouble() ? -1 : next(fd, status);
}

long syscall(long number, ...) noexcept {
  static auto* const next = Next<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long words[6];
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2 && zarrfs::Strikes(&zarrfs::Faults::full_tables)) {
    errno = EMFILE;
    return -1;
  }
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"

// The standard operator delete frees this memory, because it comes from malloc().
void* operator new(size_t size) { return zarrfs::Allocate(size); }
void* operator new[](size_t size) { return zarrfs::Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  return zarrfs::Allocate(size, static_cast<size_t>(alignment));
}
