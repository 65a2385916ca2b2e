// Measures the zstd library alone: reads a list of zstd files into memory, then decompresses them.
//
//   decodefiles LIST [--threads N]
//
// LIST has one path per line. Each thread reuses one buffer and one context, like an efficient
// reader. Prints one JSON object.
#include <getopt.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char* argv[]) {
  const option kOptions[] = {{"threads", required_argument, nullptr, 't'},
                             {nullptr, 0, nullptr, 0}};
  size_t threads = 1;
  for (int flag; (flag = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (flag == 't') threads = std::max<size_t>(std::strtoul(optarg, nullptr, 10), 1);
    if (flag == '?') optind = argc;
  }
  if (optind + 1 != argc) {
    std::fprintf(stderr, "usage: decodefiles LIST [--threads N]\n");
    return 1;
  }
  std::vector<std::vector<char>> files;
  std::ifstream list(argv[optind]);
  for (std::string path; std::getline(list, path);) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::atomic<size_t> next = 0;
  std::atomic<uint64_t> bytes = 0;
  std::atomic<bool> failed = files.empty();
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> workers;
  for (size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                         ZSTD_freeDCtx);
      std::vector<char> decoded;
      for (size_t i; !failed && (i = next++) < files.size();) {
        const auto size = ZSTD_getFrameContentSize(files[i].data(), files[i].size());
        if (size > (1u << 30)) {  // also true if the size is unknown
          failed = true;
          break;
        }
        decoded.resize(size);
        const size_t got = ZSTD_decompressDCtx(context.get(), decoded.data(), decoded.size(),
                                               files[i].data(), files[i].size());
        if (got != size) failed = true;
        bytes += got;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (failed) {
    std::fprintf(stderr, "%s: not a list of zstd files that say their size\n", argv[optind]);
    return 1;
  }
  std::printf("{\"files\": %zu, \"bytes\": %llu, \"seconds\": %.6f, \"mb_per_s\": %.1f}\n",
              files.size(), static_cast<unsigned long long>(bytes), took.count(),
              static_cast<double>(bytes) / 1e6 / took.count());
  return 0;
}
