#include "fs/tree/status.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <string_view>

#include "fs/tree/superseded_shards.h"
#include "fs/tree/timeouts.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr int64_t kGraceSeconds = SupersededShards::kGracePeriod.count();

// Returns "name: value" lines that say how the mount notices changes of the store.
std::string ChangesText(const MountStatus& status) {
  const std::string by_age =
      fmt::format("a tenth of their age, {} to {} s", Timeouts::kMinTtl, Timeouts::kMaxTtl);
  if (status.immutable) return "changes: not checked for (immutable)\n";
  if (status.ttl) return fmt::format("changes: checked for every {} s (ttl)\n", *status.ttl);
  if (!status.not_watched.empty()) {
    return fmt::format("changes: checked for after {}\nnot watched: {}\n", by_age,
                       status.not_watched);
  }
  const std::string& limit = status.watch.limit;
  return fmt::format(
      "changes: reported by the store\nwatched folders: {}\n{}names: {}\n", status.watch.folders,
      limit.empty() ? "" : fmt::format("elsewhere: checked for after {}: {}\n", by_age, limit),
      status.keeps_names ? "kept until something changes"
                         : fmt::format("kept for {}, invalidated one by one", by_age));
}

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string_view DetectionName(const MountStatus& status) {
  if (status.immutable) return "immutable";
  if (status.ttl) return "ttl";
  return status.not_watched.empty() ? "watch" : "age";
}

std::string Separator(const MountStatus& status) {
  return status.separator == 0 ? "auto" : std::string(1, status.separator);
}

// The quantile `share` (such as 0.99) of the durations, in seconds, assuming a uniform distribution
// inside buckets. For a quantile in the last bucket, returns the bucket's lower end. `count` is the
// number of durations, above 0.
double Quantile(const Durations& durations, uint64_t count, double share) {
  const double wanted = share * static_cast<double>(count);
  double below = 0;  // the number of durations in lower buckets
  double from = 0;   // the lower end of the bucket, in nanoseconds
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

Json NetworkJson(const std::optional<FetchCounts>& network) {
  if (!network) return {};
  return {{"get", network->gets},
          {"list", network->lists},
          {"received_bytes", network->received_bytes},
          {"via",
           {{"hit", network->cache_hits},
            {"miss", network->cache_misses},
            {"failed", network->cache_failures}}}};
}

}  // namespace

std::string OptionsText(const MountStatus& status) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n", name, value);
  };
  add("version", ZARRFS_VERSION);
  add("keeper version", status.keeper_version);
  add("pid", status.pid);
  if (status.start_format != 0) add("start_format", status.start_format);
  add("log_level", status.log_level);
  add("capabilities", status.capabilities);
  add("sandbox", status.sandbox);
  if (!status.fetcher.empty()) add("fetcher", status.fetcher);
  add("source", status.store);
  add("store", status.store_problem ? "gone or cannot be read: " + *status.store_problem : "there");
  add("options", status.options);
  if (!status.config_file.empty()) add("config", status.config_file);
  add("view", status.view.empty() ? "all" : status.view);
  if (status.view.empty()) add("views", ViewNames(status.views));
  add("links", status.links);
  add("separator", Separator(status));
  if (status.compressors != kAllCompressors) {
    add("compressors", CompressorNames(status.compressors));
  }
  if (status.consolidated_max == 0) {
    add("consolidated", "no");
  } else {
    add("consolidated_max", status.consolidated_max);
  }
  text += ChangesText(status);
  add("open", status.open_messages ? "message" : "auto");
  add("old versions",
      fmt::format("{} kept, for {} s after the last read, {} at most", status.old_versions,
                  kGraceSeconds, SupersededShards::kMaxSuperseded));
  if (status.known_versions_limit > 0) {
    add("old versions known", fmt::format("{} that the store can read again, {} at most",
                                          status.known_versions, status.known_versions_limit));
  }
  const MountFigures& figures = status.figures;
  add("memory", fmt::format("{} of {} bytes", figures.memory_bytes, figures.memory_limit));
  add("index_cache", fmt::format("{} of {} bytes", figures.index_cache.bytes, status.index_cache));
  add("cache", fmt::format("{} of {} bytes", figures.chunk_cache.bytes, status.cache));
  add("node_cache", fmt::format("{} bytes", status.node_cache));
  add("threads", status.threads);
  const std::string why_not =
      status.no_io_uring.empty() ? "the kernel does not offer io_uring" : status.no_io_uring;
  add("requests",
      status.uses_io_uring ? "by io_uring" : fmt::format("through /dev/fuse ({})", why_not));
  return text;
}

std::string StatusJson(const MountStatus& status) {
  const MountFigures& figures = status.figures;
  const Json json = {
      {"format", kStatusFormat},
      {"version", ZARRFS_VERSION},
      {"keeper_version", status.keeper_version},
      {"pid", status.pid},
      {"start_time_seconds", figures.start_time},
      {"log_level", status.log_level},
      {"capabilities", status.capabilities},
      {"sandbox", status.sandbox},
      {"fetcher", OrNull(status.fetcher)},
      {"store",
       {{"name", status.store},
        {"problem", status.store_problem ? Json(*status.store_problem) : Json()},
        {"reads", figures.store_reads},
        {"read_bytes", figures.store_read_bytes},
        {"errors", figures.store_errors}}},
      {"network", NetworkJson(figures.network)},
      {"options", status.options},
      {"config_file", OrNull(status.config_file)},
      {"view", status.view.empty() ? "all" : status.view},
      {"views", status.view.empty() ? Json(ViewNames(status.views)) : Json()},
      {"links", status.links},
      {"separator", Separator(status)},
      {"fill", kFillNames[static_cast<size_t>(status.fill)].first},
      {"ome", status.keeps_ome ? "keep" : "auto"},
      {"compressors", CompressorNames(status.compressors)},
      {"nc", kNetcdfNames[static_cast<size_t>(status.netcdf)].first},
      {"string_scan", status.string_scan},
      {"consolidated_max", status.consolidated_max},
      {"changes",
       {{"detected_by", DetectionName(status)},
        {"ttl_seconds", status.ttl ? Json(*status.ttl) : Json()},
        {"not_watched", OrNull(status.not_watched)},
        {"watched_folders", status.watch.folders},
        {"watch_limit", OrNull(status.watch.limit)},
        {"keeps_names", status.keeps_names}}},
      {"open", status.open_messages ? "message" : "auto"},
      {"old_versions",
       {{"kept", status.old_versions},
        {"limit", SupersededShards::kMaxSuperseded},
        {"grace_seconds", kGraceSeconds},
        {"known", status.known_versions},
        {"known_limit", status.known_versions_limit}}},
      {"caches",
       {{"index", CacheJson(figures.index_cache)}, {"chunk", CacheJson(figures.chunk_cache)}}},
      {"memory", {{"bytes", figures.memory_bytes}, {"limit_bytes", figures.memory_limit}}},
      {"node_cache_bytes", status.node_cache},
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
