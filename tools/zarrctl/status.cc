#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/metrics_text.h"
#include "tools/zarrctl/mount_files.h"
#include "tools/zarrctl/output.h"
#include "tools/zarrctl/terminal.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kShownErrors = 5;
constexpr std::string_view kRequests = "zarrfs_requests_total";
constexpr const char* kDuration = "zarrfs_request_duration_seconds";

uint64_t Whole(double value) {
  return value > 0 ? static_cast<uint64_t>(std::llround(std::min(value, 1e18))) : 0;
}

// "12 us", "3.4 ms", "1.2 s".
std::string LatencyText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string AgeText(double seconds) {
  const uint64_t s = Whole(std::max(seconds, 0.0));
  if (s < 60) return CountText(s, "second");
  if (s < 3600) return CountText(s / 60, "minute");
  if (s < 86400)
    return fmt::format("{}, {}", CountText(s / 3600, "hour"), CountText(s / 60 % 60, "minute"));
  return fmt::format("{}, {}", CountText(s / 86400, "day"), CountText(s / 3600 % 24, "hour"));
}

std::string TimeText(double seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm local = {};
  char text[64] = "";
  if (localtime_r(&time, &local) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  }
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

struct Status {
  std::map<std::string, std::string> options;
  std::optional<Metrics> metrics;
  std::vector<std::string> errors;

  [[nodiscard]] std::string Option(const std::string& name) const {
    const auto found = options.find(name);
    return found == options.end() ? "" : found->second;
  }
};

// In the order of a mount's life; then those this program does not know.
std::vector<std::string> Operations(const Metrics& metrics) {
  std::vector<std::string> operations = {"lookup",  "getattr", "open",   "read",
                                         "opendir", "readdir", "statfs", "other"};
  const auto there = metrics.LabelValues(kRequests, "operation");
  std::erase_if(operations, [&](const std::string& name) {
    return std::ranges::find(there, name) == there.end();
  });
  for (const std::string& name : there) {
    if (std::ranges::find(operations, name) == operations.end()) operations.push_back(name);
  }
  return operations;
}

std::optional<double> MeanDuration(const Metrics& metrics, const std::string& operation) {
  const std::string name = kDuration;
  const auto sum = metrics.Sum(name + "_sum", {{"operation", operation}});
  const auto count = metrics.Sum(name + "_count", {{"operation", operation}});
  if (!sum || !count || !(*count > 0)) return std::nullopt;
  return *sum / *count;
}

Json Optional(std::optional<double> value) { return value ? Json(*value) : Json(); }
Json Count(std::optional<double> value) { return value ? Json(Whole(*value)) : Json(); }

Json StatusJson(const StatusOptions& options, const Status& status) {
  Json json = {{"mount", options.mount}, {"options", status.options}};
  json["source"] = status.Option("source");
  json["store"] = status.Option("store");
  json["view"] = status.Option("view");
  json["version"] = status.Option("version");
  json["errors"] = status.errors;
  json["metrics"] = status.metrics.has_value();
  if (!status.metrics) return json;
  const Metrics& m = *status.metrics;
  json["start_time_seconds"] = Optional(m.Sum("zarrfs_start_time_seconds"));
  Json requests = Json::object();
  for (const std::string& operation : Operations(m)) {
    Json& entry = requests[operation];
    for (const char* result : {"ok", "absent", "error"}) {
      entry[result] =
          Whole(m.Sum(kRequests, {{"operation", operation}, {"result", result}}).value_or(0));
    }
    if (const auto mean = MeanDuration(m, operation)) {
      entry["mean_seconds"] = *mean;
      entry["p99_seconds"] = Optional(m.Quantile(kDuration, {{"operation", operation}}, 0.99));
    }
  }
  json["requests"] = std::move(requests);
  json["read_bytes"] = Count(m.Sum("zarrfs_read_bytes_total"));
  Json caches = Json::object();
  for (const std::string& cache : m.LabelValues("zarrfs_cache_limit_bytes", "cache")) {
    const MetricLabels labels = {{"cache", cache}};
    caches[cache] = {{"bytes", Count(m.Sum("zarrfs_cache_bytes", labels))},
                     {"limit_bytes", Count(m.Sum("zarrfs_cache_limit_bytes", labels))},
                     {"hits", Count(m.Sum("zarrfs_cache_hits_total", labels))},
                     {"misses", Count(m.Sum("zarrfs_cache_misses_total", labels))},
                     {"evictions", Count(m.Sum("zarrfs_cache_evictions_total", labels))}};
  }
  json["caches"] = std::move(caches);
  json["store"] = {{"reads", Count(m.Sum("zarrfs_store_reads_total"))},
                   {"read_bytes", Count(m.Sum("zarrfs_store_read_bytes_total"))},
                   {"errors", Count(m.Sum("zarrfs_store_errors_total"))}};
  json["arrays"] = Count(m.Sum("zarrfs_arrays"));
  json["damage"] = Count(m.Sum("zarrfs_damage_total"));
  return json;
}

// Red where there is any.
std::string Bad(double count) {
  const uint64_t number = Whole(count);
  return number == 0 ? "0" : Paint(GroupedText(number), Style::kRed);
}

void PrintFact(std::string_view label, std::string_view value) {
  if (!value.empty()) Print("{:<9} {}\n", label, value);
}

void PrintMetrics(const Metrics& m) {
  if (const auto start = m.Sum("zarrfs_start_time_seconds")) {
    const double now = static_cast<double>(RealNowNs()) * 1e-9;
    PrintFact("since", fmt::format("{} ({})", TimeText(*start), AgeText(now - *start)));
  }
  Print("\n");
  Table requests;
  requests.Add({Paint("requests", Style::kBold), "ok", "absent", "errors", "mean", "99 % within"});
  for (const std::string& operation : Operations(m)) {
    const auto count = [&](const char* result) {
      return m.Sum(kRequests, {{"operation", operation}, {"result", result}}).value_or(0);
    };
    std::vector<std::string> row = {operation, GroupedText(Whole(count("ok"))),
                                    GroupedText(Whole(count("absent"))), Bad(count("error"))};
    if (const auto mean = MeanDuration(m, operation)) {
      row.push_back(LatencyText(*mean));
      const auto p99 = m.Quantile(kDuration, {{"operation", operation}}, 0.99);
      row.push_back(p99 ? LatencyText(*p99) : "");
    }
    requests.Add(std::move(row));
  }
  requests.Print();
  Print("\n");

  Table caches;
  caches.Add({Paint("caches", Style::kBold), "filled", "of", "", "found", "evicted"});
  for (const std::string& cache : m.LabelValues("zarrfs_cache_limit_bytes", "cache")) {
    const auto value = [&](std::string_view name) {
      return m.Sum(name, {{"cache", cache}}).value_or(0);
    };
    const double limit = value("zarrfs_cache_limit_bytes");
    const double filled = value("zarrfs_cache_bytes");
    const double hits = value("zarrfs_cache_hits_total");
    const double asked = hits + value("zarrfs_cache_misses_total");
    caches.Add({cache, SizeText(Whole(filled)), SizeText(Whole(limit)),
                limit > 0 ? fmt::format("{:.0f} %", 100 * filled / limit) : "",
                asked > 0
                    ? fmt::format("{:.1f} % of {}", 100 * hits / asked, GroupedText(Whole(asked)))
                    : "not asked yet",
                GroupedText(Whole(value("zarrfs_cache_evictions_total")))});
  }
  caches.Print();
  Print("\n");

  const auto sum = [&](std::string_view name) { return m.Sum(name).value_or(0); };
  PrintFact("store", fmt::format("{} reads, {}, {} errors",
                                 GroupedText(Whole(sum("zarrfs_store_reads_total"))),
                                 SizeText(Whole(sum("zarrfs_store_read_bytes_total"))),
                                 Bad(sum("zarrfs_store_errors_total"))));
  PrintFact("readers",
            fmt::format("{} given, of {}", SizeText(Whole(sum("zarrfs_read_bytes_total"))),
                        CountText(Whole(sum("zarrfs_arrays")), "array")));
  const double damage = sum("zarrfs_damage_total");
  PrintFact("damage", damage > 0 ? Paint(CountText(Whole(damage), "damaged object"), Style::kRed)
                                 : Paint("none found", Style::kGreen));
}

}  // namespace

int RunStatus(const StatusOptions& options) {
  Status status;
  auto read = ReadMountOptions(options.mount);
  if (!read) return Complain(read.error());
  status.options = std::move(*read);
  int code = kExitOk;
  // Said at the end, under what is known.
  std::optional<std::string> complaint;
  const auto text = ReadMountFile(options.mount, "metrics");
  if (!text) return Complain(text.error());
  if (*text) {
    auto metrics = Metrics::Parse(**text);
    if (metrics) {
      status.metrics = std::move(*metrics);
    } else {
      complaint = fmt::format("{}/.zarrfs/metrics: {}; is zarrctl older than the mount's zarrfs?",
                              options.mount, metrics.error().message);
    }
  } else {
    complaint = fmt::format(
        "{}: its zarrfs{} is older than this zarrctl and has no metrics; unmount and mount it "
        "again to have them",
        options.mount,
        status.Option("version").empty() ? "" : " (" + status.Option("version") + ")");
  }
  if (const auto errors = ReadMountFile(options.mount, "errors"); errors && *errors) {
    status.errors = Lines(**errors);
  }

  if (options.json) {
    Write(DumpJson(StatusJson(options, status)));
  } else {
    const std::string version = status.Option("version");
    Print("{}{}\n", Paint(Visible(options.mount), Style::kBold),
          version.empty() ? "" : "  zarrfs " + Visible(version));
    PrintFact("source", Visible(status.Option("source")));
    if (const std::string store = status.Option("store"); store != "there" && !store.empty()) {
      PrintFact("the store is", Visible(store));
    }
    PrintFact("view", Visible(status.Option("view")));
    PrintFact("changes", Visible(status.Option("changes")));
    PrintFact("log", Visible(status.Option("log_level")));
    if (status.metrics) PrintMetrics(*status.metrics);
    if (!status.errors.empty()) {
      const size_t shown = std::min(status.errors.size(), kShownErrors);
      Print("\n{}\n", Paint(shown < status.errors.size()
                                ? fmt::format("the last {} of {} messages in .zarrfs/errors", shown,
                                              status.errors.size())
                                : "in .zarrfs/errors",
                            Style::kBold));
      for (size_t i = status.errors.size() - shown; i < status.errors.size(); ++i) {
        Print("  {}\n", Visible(status.errors[i]));
      }
    }
  }
  if (complaint) {
    std::fflush(stdout);
    Complain(*complaint);
    code = kExitSystem;
  }
  return code;
}

}  // namespace zarrfs::ctl
