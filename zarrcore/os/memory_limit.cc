#include "zarrcore/os/memory_limit.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "zarrcore/base/memory_budget.h"

namespace zarrfs {
namespace {

constexpr uint64_t kDefaultLeast = uint64_t{128} << 20;
constexpr uint64_t kDefaultMost = uint64_t{4} << 30;
constexpr uint64_t kMaxMebibytes = uint64_t{1} << 32;

// Memory in bytes that the budget does not count: the program itself, its libraries, lists of
// names, and reserved but unused buffers.
constexpr uint64_t kMargin = uint64_t{512} << 20;
// The number of threads in addition to those that read the store: threads of libraries, notifiers
// and prefetching.
constexpr uint64_t kOtherThreads = 64;

// Sanitizers allocate more memory than any sensible limit, so LimitMemory() sets no RLIMIT_DATA.
#ifdef ZARRFS_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads the limit in the file named `file` in the folder `path` and in each of its parents up to
// `root`. Returns the lowest limit; nullopt if there is none.
std::optional<uint64_t> LeastAbove(const std::filesystem::path& root, std::string_view path,
                                   const char* file) {
  std::optional<uint64_t> least;
  for (;;) {
    const std::string text = ReadText(root / path / file);
    char* end = nullptr;
    if (const uint64_t limit = std::strtoull(text.c_str(), &end, 10); end != text.c_str()) {
      least = std::min(limit, least.value_or(limit));
    }
    if (path.empty()) return least;
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == path.npos ? 0 : slash);
  }
}

uint64_t StackSize() {
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return size;
}

// Makes malloc return freed memory to the system or to other threads instead of keeping it in a
// pool per thread.
void SetAllocator() {
#ifdef __GLIBC__
  constexpr int kArenas = 4;
  // malloc maps buffers of this size or more separately. Smaller buffers are reused, because page
  // faults for new memory take a large part of the decoding time.
  constexpr int kMapped = 16 << 20;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, 2 * kMapped);
#endif
}

}  // namespace

std::optional<uint64_t> ControlGroupLimit(const std::filesystem::path& root,
                                          std::string_view membership) {
  std::optional<uint64_t> least;
  while (!membership.empty()) {
    const std::string_view line = membership.substr(0, membership.find('\n'));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
    // A line for a control group is "0::/system.slice/zarrfs.service" in version 2, and
    // "4:memory:/slurm/uid_1000/job_7" in version 1.
    const size_t controllers = line.find(':') + 1;
    const size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0 || !line.substr(path).starts_with('/')) continue;
    const std::string named = fmt::format(",{},", line.substr(controllers, path - 1 - controllers));
    std::optional<uint64_t> limit;
    if (named == ",,") limit = LeastAbove(root, line.substr(path + 1), "memory.max");
    if (named.find(",memory,") != named.npos) {
      limit = LeastAbove(root / "memory", line.substr(path + 1), "memory.limit_in_bytes");
    }
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

std::optional<uint64_t> SlurmLimit(const std::function<const char*(const char*)>& environment) {
  const auto number = [&](const char* name) -> uint64_t {
    const char* const text = environment(name);
    uint64_t value = 0;
    if (text == nullptr) return 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, value);
    return error == std::errc() && stop == end && value < kMaxMebibytes ? value : 0;
  };
  uint64_t mebibytes = number("SLURM_MEM_PER_NODE");
  if (mebibytes == 0) mebibytes = number("SLURM_MEM_PER_CPU") * number("SLURM_CPUS_ON_NODE");
  if (mebibytes == 0 || mebibytes >= kMaxMebibytes) return std::nullopt;
  return mebibytes << 20;
}

uint64_t AvailableMemory() {
  uint64_t memory = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                    static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const auto& limit : {ControlGroupLimit("/sys/fs/cgroup", ReadText("/proc/self/cgroup")),
                            SlurmLimit([](const char* name) { return std::getenv(name); })}) {
    if (limit) memory = std::min(memory, *limit);
  }
  return memory;
}

uint64_t DefaultMemory() { return std::clamp(AvailableMemory() / 4, kDefaultLeast, kDefaultMost); }

std::string MemoryWarning(uint64_t memory, uint64_t available) {
  if (memory <= available / 2) return "";
  return fmt::format(
      "memory={}M is more than half of the {}M that this process may use: the kernel may kill it",
      memory >> 20, available >> 20);
}

Result<void> LimitMemory(uint64_t bytes, uint64_t threads) {
  static const bool is_set = (SetAllocator(), true);
  static_cast<void>(is_set);
  ProcessMemory().SetLimit(bytes);
  if (kIsSanitized) return {};
  const uint64_t stacks = StackSize() * (threads + kOtherThreads);
  const uint64_t beside = kMargin + MemoryBudget::kSlack + stacks;
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  const rlim_t wanted = bytes < RLIM_INFINITY - beside ? bytes + beside : RLIM_INFINITY;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_DATA, &limit) != 0) {
    return Fail(FromErrno(errno),
                "RLIMIT_DATA cannot be set, so only memory in the budget is limited: {}",
                ErrnoText(errno));
  }
  return {};
}

}  // namespace zarrfs
