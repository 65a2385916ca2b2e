// Measures how fast a list of files is read. Each file is opened, read to its end and closed, as a
// chunk reader does.
//
//   readfiles LIST [--threads N] [--shuffle SEED] [--checksum]
//
// LIST has one path per line. Prints one JSON object; median_ms and slowest_ms are times of single
// files. The checksum depends on the bytes of each file and the file's position in LIST, but not on
// the order of reading or the folder. So the same files below two mounts can be compared. Computing
// the checksum takes time.
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBufferSize = 1 << 20;

/// Continues a hash like 64-bit FNV-1a, but over words instead of bytes. Pads the last word with
/// zeros.
uint64_t Mix(uint64_t hash, const char* bytes, size_t size) {
  for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof(word), size - i));
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;  // so the high bits of a word also affect the low bits of the hash
  }
  return hash;
}

struct Tally {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};

/// Reads one file to its end. False, with errno set, on failure. `place`: its position in LIST.
bool ReadOne(const std::string& path, uint64_t place, bool with_checksum, std::vector<char>& buffer,
             Tally& tally) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  uint64_t hash = 0xcbf29ce484222325;
  uint64_t length = 0;
  ssize_t got = 0;
  size_t filled = 0;
  do {  // fills the buffer before hashing it, so words do not depend on the lengths of reads
    got = read(fd, buffer.data() + filled, kBufferSize - filled);
    filled += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got <= 0 || filled == kBufferSize) {
      if (with_checksum) hash = Mix(hash, buffer.data(), filled);
      length += filled;
      filled = 0;
    }
  } while (got > 0);
  const int error = errno;
  close(fd);
  errno = error;
  tally.bytes += length;
  tally.checksum += (hash ^ length) * (2 * place + 1);
  return got == 0;
}

int Usage() {
  std::fprintf(stderr, "usage: readfiles LIST [--threads N] [--shuffle SEED] [--checksum]\n");
  return 1;
}

}  // namespace

int main(int argc, char* argv[]) {
  const option kOptions[] = {{"threads", required_argument, nullptr, 't'},
                             {"shuffle", required_argument, nullptr, 's'},
                             {"checksum", no_argument, nullptr, 'c'},
                             {nullptr, 0, nullptr, 0}};
  size_t threads = 1;
  bool shuffle = false;
  bool with_checksum = false;
  uint64_t seed = 0;
  for (int flag; (flag = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (flag == 't') threads = std::max<size_t>(std::strtoul(optarg, nullptr, 10), 1);
    if (flag == 's') seed = std::strtoul(optarg, nullptr, 10), shuffle = true;
    if (flag == 'c') with_checksum = true;
    if (flag == '?') return Usage();
  }
  if (optind + 1 != argc) return Usage();

  std::vector<std::string> paths;
  std::ifstream list(argv[optind]);
  for (std::string line; std::getline(list, line);) paths.push_back(line);
  if (!list.eof() || paths.empty()) {
    std::fprintf(stderr, "%s: no list of files\n", argv[optind]);
    return 1;
  }
  std::vector<size_t> order(paths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (shuffle) std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));

  std::vector<Tally> tallies(threads);
  std::vector<std::vector<char>> buffers(threads, std::vector<char>(kBufferSize));
  std::vector<double> waits(paths.size());  // ms
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> readers;
  for (size_t t = 0; t < threads; ++t) {
    readers.emplace_back([&, t] {
      Tally tally;
      for (size_t i; !failed && (i = next++) < order.size();) {
        const auto begin = std::chrono::steady_clock::now();
        if (!ReadOne(paths[order[i]], order[i], with_checksum, buffers[t], tally)) {
          std::perror(paths[order[i]].c_str());
          failed = true;
        }
        const std::chrono::duration<double, std::milli> wait =
            std::chrono::steady_clock::now() - begin;
        waits[i] = wait.count();
      }
      tallies[t] = tally;
    });
  }
  for (std::thread& reader : readers) reader.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (failed) return 1;

  Tally sum;
  for (const Tally& tally : tallies) {
    sum.bytes += tally.bytes;
    sum.checksum += tally.checksum;
  }
  std::printf("{\"files\": %zu, \"bytes\": %" PRIu64
              ", \"seconds\": %.6f, \"files_per_s\": %.1f, \"mb_per_s\": %.1f",
              paths.size(), sum.bytes, took.count(),
              static_cast<double>(paths.size()) / took.count(),
              static_cast<double>(sum.bytes) / 1e6 / took.count());
  std::ranges::sort(waits);
  std::printf(", \"median_ms\": %.3f, \"slowest_ms\": %.3f", waits[waits.size() / 2], waits.back());
  if (with_checksum) std::printf(", \"checksum\": \"%016" PRIx64 "\"", sum.checksum);
  std::printf("}\n");
  return 0;
}
