#include "fs/tree/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "zarrcore/base/clocks.h"

namespace zarrfs {
namespace {

constexpr double kNsPerSecond = 1e9;

// Writes the Prometheus format. Each metric begins with Describe(), followed by its samples.
class PrometheusText {
 public:
  void Describe(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(out(), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <typename Value>
  void Sample(const Value& value, std::string_view labels = "", std::string_view suffix = "") {
    if (labels.empty()) {
      fmt::format_to(out(), "{}{} {}\n", name_, suffix, value);
    } else {
      fmt::format_to(out(), "{}{}{{{}}} {}\n", name_, suffix, labels, value);
    }
  }
  template <typename Value>
  void Only(std::string_view name, std::string_view type, std::string_view help,
            const Value& value) {
    Describe(name, type, help);
    Sample(value);
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  std::string_view name_;
  std::string text_;
};

void WriteRequests(PrometheusText& text, const RequestFigures& requests) {
  text.Describe("zarrfs_requests_total", "counter",
                "Requests of the kernel that were answered; absent: the name does not exist.");
  for (size_t o = 0; o < kOperations; ++o) {
    for (size_t r = 0; r < kRequestResults; ++r) {
      text.Sample(requests.answered[o][r], fmt::format(R"(operation="{}",result="{}")",
                                                       kOperationNames[o], kResultNames[r]));
    }
  }
  text.Describe("zarrfs_request_duration_seconds", "histogram",
                fmt::format("From a request to its answer; one request in {} is timed.",
                            RequestMetrics::kTimedShare));
  for (size_t o = 0; o < kTimedOperations; ++o) {
    const Durations& durations = requests.durations[o];
    uint64_t count = 0;
    for (size_t b = 0; b < durations.counts.size(); ++b) {
      count += durations.counts[b];
      const std::string end =
          b < kDurationBuckets.size()
              ? fmt::format("{}", static_cast<double>(kDurationBuckets[b]) / kNsPerSecond)
              : "+Inf";
      text.Sample(count, fmt::format(R"(operation="{}",le="{}")", kOperationNames[o], end),
                  "_bucket");
    }
    const std::string labels = fmt::format(R"(operation="{}")", kOperationNames[o]);
    text.Sample(static_cast<double>(durations.sum_ns) / kNsPerSecond, labels, "_sum");
    text.Sample(count, labels, "_count");
  }
  text.Only("zarrfs_read_bytes_total", "counter", "Bytes of files that readers received.",
            requests.read_bytes);
  text.Only("zarrfs_read_ahead_files_total", "counter",
            "Chunk files that were pushed to the kernel before they were requested.",
            requests.files_read_ahead);
}

void WriteCaches(PrometheusText& text, const MountFigures& figures) {
  const auto write = [&](std::string_view name, std::string_view type, std::string_view help,
                         uint64_t CacheStatistics::*figure) {
    text.Describe(name, type, help);
    text.Sample(figures.index_cache.*figure, R"(cache="index")");
    text.Sample(figures.chunk_cache.*figure, R"(cache="chunk")");
  };
  write("zarrfs_cache_hits_total", "counter", "Requests that found their entry in the cache.",
        &CacheStatistics::hits);
  write("zarrfs_cache_misses_total", "counter",
        "Requests that had to load their entry into the cache.", &CacheStatistics::misses);
  write("zarrfs_cache_evictions_total", "counter",
        "Entries evicted to make room for others; many mean that the cache is too small.",
        &CacheStatistics::evictions);
  write("zarrfs_cache_bytes", "gauge", "Bytes of memory that the cache holds.",
        &CacheStatistics::bytes);
  write("zarrfs_cache_limit_bytes", "gauge",
        "Bytes of memory that the cache may hold (options index_cache and cache).",
        &CacheStatistics::limit);
  text.Only("zarrfs_memory_bytes", "gauge",
            "Bytes of memory in use: caches, metadata, running decodes.", figures.memory_bytes);
  text.Only("zarrfs_memory_limit_bytes", "gauge",
            "Bytes of memory that the worker may use (option memory).", figures.memory_limit);
}

}  // namespace

RequestMetrics::Request RequestMetrics::Start(Operation operation) {
  const auto o = static_cast<size_t>(operation);
  if (o >= kTimedOperations) return {operation, 0};
  thread_local std::array<uint32_t, kTimedOperations> turns{};
  if (turns[o]++ % kTimedShare != 0) return {operation, 0};
  return {operation, SteadyNowNs()};
}

void RequestMetrics::End(const Request& request, RequestResult result, uint64_t bytes) {
  if (request.started_ns != 0 && static_cast<size_t>(request.operation) < kTimedOperations) {
    EndAfter(request.operation, SteadyNowNs() - request.started_ns, result, bytes);
    return;
  }
  counters_.Add(static_cast<size_t>(request.operation) * kRequestResults +
                static_cast<size_t>(result));
  if (request.operation == Operation::kRead) counters_.Add(kReadBytes, bytes);
}

void RequestMetrics::EndAfter(Operation operation, int64_t duration_ns, RequestResult result,
                              uint64_t bytes) {
  size_t bucket = 0;  // a linear search, because most durations are short
  while (bucket < kDurationBuckets.size() && duration_ns > kDurationBuckets[bucket]) ++bucket;
  const size_t first = kDurations + static_cast<size_t>(operation) * kDurationCounters;
  counters_.Add(first + bucket);
  counters_.Add(first + kDurationBuckets.size() + 1,
                static_cast<uint64_t>(std::max<int64_t>(duration_ns, 0)));
  End({operation, 0}, result, bytes);
}

void RequestMetrics::CountPrefetch(uint64_t bytes) {
  counters_.Add(kFilesPrefetched, 1);
  counters_.Add(kReadBytes, bytes);
}

RequestFigures RequestMetrics::figures() const {
  RequestFigures figures;
  for (size_t o = 0; o < kOperations; ++o) {
    for (size_t r = 0; r < kRequestResults; ++r) {
      figures.answered[o][r] = counters_.Sum(o * kRequestResults + r);
    }
  }
  for (size_t o = 0; o < kTimedOperations; ++o) {
    Durations& durations = figures.durations[o];
    const size_t first = kDurations + o * kDurationCounters;
    for (size_t b = 0; b < durations.counts.size(); ++b) {
      durations.counts[b] = counters_.Sum(first + b);
    }
    durations.sum_ns = counters_.Sum(first + durations.counts.size());
  }
  figures.read_bytes = counters_.Sum(kReadBytes);
  figures.files_read_ahead = counters_.Sum(kFilesPrefetched);
  return figures;
}

std::string MetricsText(const MountFigures& figures) {
  PrometheusText text;
  text.Describe("zarrfs_build_info", "gauge", "The version of zarrfs.");
  text.Sample(1, fmt::format(R"(version="{}")", ZARRFS_VERSION));
  text.Only("zarrfs_start_time_seconds", "gauge", "When this mount began, in seconds since 1970.",
            fmt::format("{:.3f}", figures.start_time));
  WriteRequests(text, figures.requests);
  WriteCaches(text, figures);
  text.Only("zarrfs_store_reads_total", "counter",
            "Reads from the store, including those that failed or found no object.",
            figures.store_reads);
  text.Only("zarrfs_store_read_bytes_total", "counter", "Bytes read from the store.",
            figures.store_read_bytes);
  text.Only("zarrfs_store_errors_total", "counter",
            "Store calls that failed: input/output errors, refusals, timeouts.",
            figures.store_errors);
  if (const auto& network = figures.network) {
    text.Describe("zarrfs_network_requests_total", "counter",
                  "Requests sent to the bucket or web server, repeated ones too.");
    text.Sample(network->gets, R"(kind="get")");
    text.Sample(network->lists, R"(kind="list")");
    text.Only("zarrfs_network_received_bytes_total", "counter",
              "Bytes in responses of the bucket or web server, without headers.",
              network->received_bytes);
    text.Describe(
        "zarrfs_network_via_total", "counter",
        "Requests sent to the caches of via=: answered from the cache, answered by asking "
        "the store, and repeated at the store.");
    text.Sample(network->cache_hits, R"(result="hit")");
    text.Sample(network->cache_misses, R"(result="miss")");
    text.Sample(network->cache_failures, R"(result="failed")");
  }
  text.Only("zarrfs_arrays", "gauge", "Arrays that were used since the mount began.",
            figures.arrays);
  text.Only("zarrfs_damage_total", "counter",
            "Damaged objects found in the store; .zarrfs/errors names them.", figures.damage);
  return text.Take();
}

}  // namespace zarrfs
