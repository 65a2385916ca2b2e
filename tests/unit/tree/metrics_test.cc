#include "fs/tree/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace zarrfs::metrics_test {
namespace {

/// What a scraper finds in the text: HELP and TYPE by name, samples by name and labels. Lines that
/// the format does not allow fail the test.
struct Parsed {
  explicit Parsed(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    std::istringstream lines(text);
    std::string name;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string hash, kind;
      if (line.starts_with("# ")) {
        words >> hash >> kind >> name;
        std::string rest;
        std::getline(words >> std::ws, rest);
        auto& of_kind = kind == "HELP" ? help : type;
        EXPECT_TRUE(kind == "HELP" || kind == "TYPE") << line;
        EXPECT_FALSE(rest.empty()) << line;
        EXPECT_TRUE(of_kind.emplace(name, rest).second) << "twice: " << line;
        continue;
      }
      const size_t space = line.rfind(' ');
      if (space == std::string::npos) {
        ADD_FAILURE() << line;
        continue;
      }
      const std::string series = line.substr(0, space);
      EXPECT_EQ(series.compare(0, name.size(), name), 0) << line << " below TYPE of " << name;
      size_t used = 0;
      const std::string number = line.substr(space + 1);
      EXPECT_TRUE(samples.emplace(series, std::stod(number, &used)).second) << "twice: " << line;
      EXPECT_EQ(used, number.size()) << line;
    }
  }

  std::map<std::string, std::string> help, type;
  std::map<std::string, double> samples;
};

std::map<std::string, double> SamplesOf(const RequestMetrics& requests) {
  MountFigures figures;
  figures.requests = requests.figures();
  return Parsed(MetricsText(figures)).samples;
}

TEST(MetricsTest, TextHasEveryMetricWithHelpAndType) {
  MountFigures figures;
  figures.start_time = 1700000000.25;
  figures.index_cache = {.hits = 1, .misses = 2, .evictions = 3, .bytes = 4, .limit = 5};
  figures.chunk_cache = {.hits = 6, .misses = 7, .evictions = 8, .bytes = 9, .limit = 10};
  figures.memory_bytes = 16;
  figures.memory_limit = 17;
  figures.arrays = 11;
  figures.damage = 12;
  figures.store_reads = 13;
  figures.store_read_bytes = 14;
  figures.store_errors = 15;
  const Parsed parsed(MetricsText(figures));
  const std::map<std::string, std::string> types = {
      {"zarrfs_build_info", "gauge"},           {"zarrfs_start_time_seconds", "gauge"},
      {"zarrfs_requests_total", "counter"},     {"zarrfs_request_duration_seconds", "histogram"},
      {"zarrfs_read_bytes_total", "counter"},   {"zarrfs_cache_hits_total", "counter"},
      {"zarrfs_cache_misses_total", "counter"}, {"zarrfs_cache_evictions_total", "counter"},
      {"zarrfs_cache_bytes", "gauge"},          {"zarrfs_cache_limit_bytes", "gauge"},
      {"zarrfs_store_reads_total", "counter"},  {"zarrfs_store_read_bytes_total", "counter"},
      {"zarrfs_store_errors_total", "counter"}, {"zarrfs_arrays", "gauge"},
      {"zarrfs_damage_total", "counter"},       {"zarrfs_read_ahead_files_total", "counter"},
      {"zarrfs_memory_bytes", "gauge"},         {"zarrfs_memory_limit_bytes", "gauge"}};
  EXPECT_EQ(parsed.type, types);
  EXPECT_EQ(parsed.help.size(), types.size());
  const std::map<std::string, double> expected = {
      {R"(zarrfs_build_info{version=")" ZARRFS_VERSION R"("})", 1},
      {"zarrfs_start_time_seconds", 1700000000.25},
      {R"(zarrfs_cache_hits_total{cache="index"})", 1},
      {R"(zarrfs_cache_misses_total{cache="index"})", 2},
      {R"(zarrfs_cache_evictions_total{cache="index"})", 3},
      {R"(zarrfs_cache_bytes{cache="index"})", 4},
      {R"(zarrfs_cache_limit_bytes{cache="index"})", 5},
      {R"(zarrfs_cache_hits_total{cache="chunk"})", 6},
      {R"(zarrfs_cache_limit_bytes{cache="chunk"})", 10},
      {"zarrfs_memory_bytes", 16},
      {"zarrfs_memory_limit_bytes", 17},
      {"zarrfs_arrays", 11},
      {"zarrfs_damage_total", 12},
      {"zarrfs_store_reads_total", 13},
      {"zarrfs_store_read_bytes_total", 14},
      {"zarrfs_store_errors_total", 15}};
  for (const auto& [series, value] : expected) {
    ASSERT_TRUE(parsed.samples.contains(series)) << series;
    EXPECT_EQ(parsed.samples.at(series), value) << series;
  }
  for (const std::string operation :
       {"lookup", "getattr", "open", "read", "opendir", "readdir", "statfs", "other"}) {
    for (const std::string result : {"ok", "absent", "error"}) {
      EXPECT_TRUE(parsed.samples.contains("zarrfs_requests_total{operation=\"" + operation +
                                          "\",result=\"" + result + "\"}"));
    }
  }
}

TEST(MetricsTest, RequestsAreCountedByOperationAndResult) {
  RequestMetrics requests;
  requests.End(RequestMetrics::Start(Operation::kLookup), RequestResult::kAbsent);
  requests.End(RequestMetrics::Start(Operation::kLookup), RequestResult::kAbsent);
  requests.End(RequestMetrics::Start(Operation::kRead), RequestResult::kOk, 100);
  requests.End(RequestMetrics::Start(Operation::kReadDirectory), RequestResult::kOk, 4096);
  requests.End(RequestMetrics::Start(Operation::kStatFs), RequestResult::kError);
  auto samples = SamplesOf(requests);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="lookup",result="absent"})"], 2);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="lookup",result="ok"})"], 0);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="read",result="ok"})"], 1);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="readdir",result="ok"})"], 1);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="statfs",result="error"})"], 1);
  EXPECT_EQ(samples["zarrfs_read_bytes_total"], 100) << "bytes of files, not of listings";
}

TEST(MetricsTest, WhatIsReadAheadIsGivenToReadersToo) {
  RequestMetrics requests;
  requests.CountPrefetch(10);
  requests.CountPrefetch(20);
  auto samples = SamplesOf(requests);
  EXPECT_EQ(samples["zarrfs_read_ahead_files_total"], 2);
  EXPECT_EQ(samples["zarrfs_read_bytes_total"], 30);
}

TEST(MetricsTest, HistogramIsCumulativeAndEndsAreInclusive) {
  RequestMetrics requests;
  for (const int64_t ns : {0L, 10'000L, 10'001L, 3'000'000L, 20'000'000'000L}) {
    requests.EndAfter(Operation::kRead, ns, RequestResult::kOk);
  }
  auto samples = SamplesOf(requests);
  const auto bucket = [&](const std::string& end) {
    const std::string series =
        R"(zarrfs_request_duration_seconds_bucket{operation="read",le=")" + end + R"("})";
    EXPECT_TRUE(samples.contains(series)) << series;
    return samples[series];
  };
  EXPECT_EQ(bucket("1e-05"), 2);
  EXPECT_EQ(bucket("2.5e-05"), 3);
  EXPECT_EQ(bucket("0.0025"), 3);
  EXPECT_EQ(bucket("0.005"), 4);
  EXPECT_EQ(bucket("10"), 4);
  EXPECT_EQ(bucket("+Inf"), 5);
  EXPECT_EQ(samples[R"(zarrfs_request_duration_seconds_count{operation="read"})"], 5);
  EXPECT_NEAR(samples[R"(zarrfs_request_duration_seconds_sum{operation="read"})"], 20.003020001,
              1e-6);
  EXPECT_EQ(samples[R"(zarrfs_request_duration_seconds_count{operation="lookup"})"], 0);
  EXPECT_EQ(samples[R"(zarrfs_requests_total{operation="read",result="ok"})"], 5);
}

TEST(MetricsTest, TimedRequestsAreTheStatedShareOnEachThread) {
  RequestMetrics requests;
  constexpr uint32_t kRequests = 8 * RequestMetrics::kTimedShare;
  // Kinds take turns, as they do when files are opened and read.
  for (uint32_t i = 0; i < kRequests; ++i) {
    requests.End(RequestMetrics::Start(Operation::kLookup), RequestResult::kOk);
    requests.End(RequestMetrics::Start(Operation::kRead), RequestResult::kOk);
  }
  auto samples = SamplesOf(requests);
  EXPECT_EQ(samples[R"(zarrfs_request_duration_seconds_count{operation="lookup"})"], 8);
  EXPECT_EQ(samples[R"(zarrfs_request_duration_seconds_count{operation="read"})"], 8);
}

TEST(MetricsTest, ManyThreadsLoseNothing) {
  RequestMetrics requests;
  constexpr uint64_t kThreads = 100, kEach = 1000;  // more threads than counters have lines
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&requests] {
      for (uint64_t i = 0; i < kEach; ++i) {
        requests.EndAfter(Operation::kRead, 1, RequestResult::kOk, 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RequestFigures figures = requests.figures();
  const auto read = static_cast<size_t>(Operation::kRead);
  EXPECT_EQ(figures.answered[read][static_cast<size_t>(RequestResult::kOk)], kThreads * kEach);
  EXPECT_EQ(figures.read_bytes, 3 * kThreads * kEach);
  EXPECT_EQ(figures.durations[read].counts[0], kThreads * kEach);
  EXPECT_EQ(figures.durations[read].sum_ns, kThreads * kEach);
}

}  // namespace
}  // namespace zarrfs::metrics_test
