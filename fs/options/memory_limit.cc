#include "fs/options/memory_limit.h"

#include <malloc.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "fs/fuse/waiting_room.h"
#include "zarrcore/base/memory_budget.h"

namespace zarrfs {
namespace {

constexpr uint64_t kDefaultLeast = uint64_t{512} << 20;
constexpr uint64_t kDefaultMost = uint64_t{4} << 30;

// The program itself, its libraries, lists of names, and buffers that are reserved and not used.
constexpr uint64_t kMargin = uint64_t{512} << 20;
// Those of libraries, those that notify and attend, and those that fetch ahead.
constexpr uint64_t kOtherThreads = 64;

// A sanitizer's own memory is beyond any limit.
#ifdef ZARRFS_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint64_t StackSize() {
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

// What is freed goes back to the system, or to others, not to one thread's share.
void SetAllocator() {
#ifdef __GLIBC__
  constexpr int kArenas = 4;
  // Buffers of this size and more are mapped by themselves. (Others are used again: the faults for
  // new pages take a good part of the time that decoding takes.)
  constexpr int kMapped = 16 << 20;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, 2 * kMapped);
#endif
}

}  // namespace

std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                          std::string_view membership) {
  // "0::/system.slice/zarrfs.service", among lines of version 1.
  constexpr std::string_view kVersion2 = "0::/";
  size_t at = membership.starts_with(kVersion2) ? 0 : membership.find("\n0::/");
  if (at == membership.npos) return std::nullopt;
  if (at != 0) ++at;
  std::string_view path = membership.substr(at + kVersion2.size());
  path = path.substr(0, path.find('\n'));
  std::optional<uint64_t> least;
  for (;;) {
    const std::string text = ReadText(root / path / "memory.max");
    char* end = nullptr;
    if (const uint64_t limit = std::strtoull(text.c_str(), &end, 10); end != text.c_str()) {
      least = std::min(limit, least.value_or(limit));
    }
    if (path.empty()) return least;
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
}

uint64_t DefaultMemory() {
  uint64_t memory = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                    static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (const auto limit = ControlGroupLimit("/sys/fs/cgroup", ReadText("/proc/self/cgroup"))) {
    memory = std::min(memory, *limit);
  }
  return std::clamp(memory / 4, kDefaultLeast, kDefaultMost);
}

void LimitMemory(uint64_t bytes, uint32_t threads) {
  static const bool is_set = (SetAllocator(), true);
  static_cast<void>(is_set);
  ProcessMemory().SetLimit(bytes);
  if (kIsSanitized) return;
  // (There are two waiting rooms.)
  const uint64_t stacks = StackSize() * (threads + 2 * kLeastWaitingThreads + kOtherThreads);
  const uint64_t beside = kMargin + MemoryBudget::kSlack + stacks;
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  const rlim_t wanted = bytes < RLIM_INFINITY - beside ? bytes + beside : RLIM_INFINITY;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_DATA, &limit) != 0) {
    spdlog::debug("memory is not limited: {}", std::strerror(errno));
  }
}

}  // namespace zarrfs
