#include "fs/tree/status.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <string_view>

#include "zarrcore/metadata/json.h"

namespace zarrfs {
namespace {

constexpr double kSecondsPerNs = 1e-9;

// "name: value" lines.
class Lines {
 public:
  template <typename Value>
  void Add(std::string_view name, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}: {}\n", name, value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void AddChanges(const ChangeDetection& changes, Lines& lines) {
  const std::string by_age =
      fmt::format("a tenth of their age, {} to {} s", changes.min_ttl, changes.max_ttl);
  if (changes.immutable) {
    lines.Add("changes", "not looked for (immutable)");
  } else if (changes.ttl) {
    lines.Add("changes", fmt::format("looked for every {} s (ttl)", *changes.ttl));
  } else if (!changes.not_watched.empty()) {
    lines.Add("changes", "looked for after " + by_age);
    lines.Add("not watched", changes.not_watched);
  } else {
    lines.Add("changes", "told by the store");
    lines.Add("watched folders", changes.watched_folders);
    if (!changes.watch_limit.empty()) {
      lines.Add("elsewhere", fmt::format("looked for after {}: {}", by_age, changes.watch_limit));
    }
    lines.Add("names", changes.keeps_names
                           ? "kept until something changes"
                           : fmt::format("kept for {}, taken back one by one", by_age));
  }
}

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string_view FillName(FillPolicy fill) {
  switch (fill) {
    case FillPolicy::kKeep:
      return "keep";
    case FillPolicy::kMaterialize:
      return "materialize";
    case FillPolicy::kAuto:
      break;
  }
  return "auto";
}

std::string_view DetectionName(const ChangeDetection& changes) {
  if (changes.immutable) return "immutable";
  if (changes.ttl) return "ttl";
  return changes.not_watched.empty() ? "watch" : "age";
}

Json ChangesJson(const ChangeDetection& changes) {
  return {{"detected_by", DetectionName(changes)},
          {"ttl_seconds", changes.ttl ? Json(*changes.ttl) : Json()},
          {"not_watched", OrNull(changes.not_watched)},
          {"watched_folders", changes.watched_folders},
          {"watch_limit", OrNull(changes.watch_limit)},
          {"keeps_names", changes.keeps_names}};
}

// What a share (0.99) of the durations does not exceed, in seconds, as if they lay evenly inside
// their bucket; beyond the last end, that end. `count` > 0: of all.
double Quantile(const Durations& durations, uint64_t count, double share) {
  const double wanted = share * static_cast<double>(count);
  double below = 0;  // durations
  double from = 0;   // lower end of the bucket, ns
  for (size_t b = 0; b < kDurationBuckets.size(); ++b) {
    const auto in_bucket = static_cast<double>(durations.counts[b]);
    const auto to = static_cast<double>(kDurationBuckets[b]);
    if (in_bucket > 0 && below + in_bucket >= wanted) {
      return (from + (to - from) * (wanted - below) / in_bucket) * kSecondsPerNs;
    }
    below += in_bucket;
    from = to;
  }
  return from * kSecondsPerNs;
}

Json RequestsJson(const RequestFigures& requests) {
  Json json = Json::object();
  for (size_t o = 0; o < kOperations; ++o) {
    Json& entry = json[std::string(kOperationNames[o])];
    for (size_t r = 0; r < kRequestResults; ++r) {
      entry[std::string(kResultNames[r])] = requests.answered[o][r];
    }
    if (o >= kTimedOperations) continue;
    const Durations& durations = requests.durations[o];
    const uint64_t count =
        std::accumulate(durations.counts.begin(), durations.counts.end(), uint64_t{0});
    entry["timed"] = count;
    if (count == 0) continue;
    entry["mean_seconds"] =
        static_cast<double>(durations.sum_ns) * kSecondsPerNs / static_cast<double>(count);
    entry["p99_seconds"] = Quantile(durations, count, 0.99);
  }
  return json;
}

Json CacheJson(const CacheStatistics& cache) {
  return {{"bytes", cache.bytes},
          {"limit_bytes", cache.limit},
          {"hits", cache.hits},
          {"misses", cache.misses},
          {"evictions", cache.evictions}};
}

}  // namespace

std::string OptionsText(const MountStatus& status) {
  Lines lines;
  lines.Add("version", ZARRFS_VERSION);
  lines.Add("pid", status.pid);
  lines.Add("log_level", status.log_level);
  lines.Add("capabilities", status.capabilities);
  lines.Add("source", status.store);
  lines.Add("store",
            status.store_problem ? "gone or cannot be read: " + *status.store_problem : "there");
  lines.Add("options", status.options);
  if (!status.config_file.empty()) lines.Add("config", status.config_file);
  lines.Add("view", status.view.empty() ? "all" : status.view);
  lines.Add("links", status.links);
  lines.Add("separator", status.separator == 0 ? "auto" : std::string(1, status.separator));
  if (status.consolidated_max == 0) {
    lines.Add("consolidated", "no");
  } else {
    lines.Add("consolidated_max", status.consolidated_max);
  }
  AddChanges(status.changes, lines);
  lines.Add("open", status.open_messages ? "message" : "auto");
  lines.Add("old versions",
            fmt::format("{} kept, for {} s after the last read, {} at most", status.old_versions,
                        status.old_version_grace, status.max_old_versions));
  lines.Add("index_cache", fmt::format("{} of {} bytes", status.figures.index_cache.bytes,
                                       status.index_cache_size));
  lines.Add("cache", fmt::format("{} of {} bytes", status.figures.chunk_cache.bytes,
                                 status.chunk_cache_size));
  lines.Add("node_cache", fmt::format("{} bytes", status.node_cache_size));
  lines.Add("threads", status.threads);
  lines.Add("requests", status.uses_io_uring ? "by io_uring"
                        : status.no_io_uring.empty()
                            ? "through /dev/fuse (the kernel does not offer io_uring)"
                            : fmt::format("through /dev/fuse ({})", status.no_io_uring));
  return lines.text();
}

std::string StatusJson(const MountStatus& status) {
  const MountFigures& figures = status.figures;
  const Json json = {
      {"format", kStatusFormat},
      {"version", ZARRFS_VERSION},
      {"pid", status.pid},
      {"start_time_seconds", figures.start_time},
      {"log_level", status.log_level},
      {"capabilities", status.capabilities},
      {"store",
       {{"name", status.store},
        {"problem", status.store_problem ? Json(*status.store_problem) : Json()},
        {"reads", figures.store_reads},
        {"read_bytes", figures.store_read_bytes},
        {"errors", figures.store_errors}}},
      {"options", status.options},
      {"config_file", OrNull(status.config_file)},
      {"view", status.view.empty() ? "all" : status.view},
      {"links", status.links},
      {"separator", status.separator == 0 ? "auto" : std::string(1, status.separator)},
      {"fill", FillName(status.fill)},
      {"consolidated_max", status.consolidated_max},
      {"changes", ChangesJson(status.changes)},
      {"open", status.open_messages ? "message" : "auto"},
      {"old_versions",
       {{"kept", status.old_versions},
        {"limit", status.max_old_versions},
        {"grace_seconds", status.old_version_grace}}},
      {"caches",
       {{"index", CacheJson(figures.index_cache)}, {"chunk", CacheJson(figures.chunk_cache)}}},
      {"node_cache_bytes", status.node_cache_size},
      {"threads", status.threads},
      {"io_uring", status.uses_io_uring},
      {"no_io_uring", OrNull(status.no_io_uring)},
      {"requests", RequestsJson(figures.requests)},
      {"read_bytes", figures.requests.read_bytes},
      {"read_ahead_files", figures.requests.files_read_ahead},
      {"arrays", figures.arrays},
      {"damage", figures.damage},
      {"errors", status.errors}};
  return DumpJson(json);
}

}  // namespace zarrfs
