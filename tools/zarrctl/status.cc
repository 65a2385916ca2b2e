#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "tools/zarrctl/commands.h"
#include "tools/zarrctl/mount_status.h"
#include "tools/zarrctl/output.h"
#include "zarrcore/base/clocks.h"
#include "zarrcore/base/printable.h"

namespace zarrfs::ctl {
namespace {

constexpr size_t kShownErrors = 5;

uint64_t CountIn(const Json& object, const char* name) {
  return static_cast<uint64_t>(std::llround(std::clamp(NumberIn(object, name), 0.0, 1e18)));
}

// Returns a latency in words: "12 us", "3.4 ms", "1.2 s".
std::string LatencyText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string AgeText(double seconds) {
  const auto s = static_cast<uint64_t>(std::clamp(seconds, 0.0, 1e18));
  if (s < 60) return CountText(s, "second");
  if (s < 3600) return CountText(s / 60, "minute");
  if (s < 86400)
    return fmt::format("{}, {}", CountText(s / 3600, "hour"), CountText(s / 60 % 60, "minute"));
  return fmt::format("{}, {}", CountText(s / 86400, "day"), CountText(s / 3600 % 24, "hour"));
}

std::string TimeText(double seconds) {
  const auto time = static_cast<std::time_t>(std::clamp(seconds, 0.0, 1e11));
  return fmt::format("{:%F %T}", fmt::localtime(time));
}

std::string ChangesText(const Json& changes) {
  std::string detected_by = TextIn(changes, "detected_by");
  if (detected_by == "immutable") return "not checked for (immutable)";
  if (detected_by == "ttl") {
    return fmt::format("checked for every {} s (ttl)", NumberIn(changes, "ttl_seconds"));
  }
  if (detected_by == "age") {
    return "checked for within a minute: " + TextIn(changes, "not_watched");
  }
  if (detected_by != "watch") return detected_by;
  const std::string limit = TextIn(changes, "watch_limit");
  return "reported by the store" +
         (limit.empty() ? "" : "; elsewhere checked for within a minute: " + limit);
}

// Returns a number of errors as text, in red unless it is 0.
std::string ErrorCountText(uint64_t count) {
  return count == 0 ? "0" : Paint(GroupedText(count), Style::kRed);
}

void PrintFact(std::string_view label, std::string_view value) {
  if (!value.empty()) Print("{:<9} {}\n", label, value);
}

void PrintOptions(const std::string& mount, const Json& status) {
  Print("{}  zarrfs {}\n", Paint(Visible(mount), Style::kBold), Visible(TextIn(status, "version")));
  const Json& store = MemberOrNull(status, "store");
  PrintFact("store", Visible(TextIn(store, "name")));
  if (const std::string problem = TextIn(store, "problem"); !problem.empty()) {
    PrintFact("", Paint("gone or cannot be read: " + Visible(problem), Style::kRed));
  }
  PrintFact("view", Visible(TextIn(status, "view")));
  PrintFact("changes", Visible(ChangesText(MemberOrNull(status, "changes"))));
  PrintFact("log", Visible(TextIn(status, "log_level")));
  const double start = NumberIn(status, "start_time_seconds");
  const double now = static_cast<double>(RealNowNs()) * 1e-9;
  PrintFact("since", fmt::format("{} ({})", TimeText(start), AgeText(now - start)));
}

void PrintRequests(const Json& requests) {
  Table table;
  table.Add({Paint("requests", Style::kBold), "ok", "absent", "errors", "mean", "99 % within"});
  for (const auto& [operation, counts] : requests.items()) {
    std::vector<std::string> row = {Visible(operation), GroupedText(CountIn(counts, "ok")),
                                    GroupedText(CountIn(counts, "absent")),
                                    ErrorCountText(CountIn(counts, "error"))};
    if (NumberIn(counts, "timed") > 0) {
      row.push_back(LatencyText(NumberIn(counts, "mean_seconds")));
      row.push_back(LatencyText(NumberIn(counts, "p99_seconds")));
    }
    table.Add(std::move(row));
  }
  table.Print();
}

void PrintCaches(const Json& caches) {
  Table table;
  table.Add({Paint("caches", Style::kBold), "filled", "of", "", "found", "evicted"});
  for (const auto& [name, cache] : caches.items()) {
    const double filled = NumberIn(cache, "bytes");
    const double limit = NumberIn(cache, "limit_bytes");
    const double hits = NumberIn(cache, "hits");
    const uint64_t lookups = CountIn(cache, "hits") + CountIn(cache, "misses");
    table.Add(
        {Visible(name), SizeText(CountIn(cache, "bytes")), SizeText(CountIn(cache, "limit_bytes")),
         limit > 0 ? fmt::format("{:.0f} %", 100 * filled / limit) : "",
         lookups > 0 ? fmt::format("{:.1f} % of {}", 100 * hits / static_cast<double>(lookups),
                                   GroupedText(lookups))
                     : "not used yet",
         GroupedText(CountIn(cache, "evictions"))});
  }
  table.Print();
}

void PrintTotals(const Json& status) {
  const Json& store = MemberOrNull(status, "store");
  PrintFact("reads",
            fmt::format("{} of the store, {}, {} errors", GroupedText(CountIn(store, "reads")),
                        SizeText(CountIn(store, "read_bytes")),
                        ErrorCountText(CountIn(store, "errors"))));
  PrintFact("readers", fmt::format("got {} of {}", SizeText(CountIn(status, "read_bytes")),
                                   CountText(CountIn(status, "arrays"), "array")));
  const uint64_t damage = CountIn(status, "damage");
  PrintFact("damage", damage > 0 ? Paint(CountText(damage, "damaged object"), Style::kRed)
                                 : Paint("none found", Style::kGreen));
}

void PrintErrors(const Json& errors) {
  if (!errors.is_array() || errors.empty()) return;
  const size_t shown = std::min(errors.size(), kShownErrors);
  Print("\n{}\n",
        Paint(shown < errors.size() ? fmt::format("the last {} of {} messages in .zarrfs/errors",
                                                  shown, errors.size())
                                    : "in .zarrfs/errors",
              Style::kBold));
  for (size_t i = errors.size() - shown; i < errors.size(); ++i) {
    Print("  {}\n", Visible(errors[i].is_string() ? errors[i].get<std::string>() : ""));
  }
}

}  // namespace

int Status(const StatusOptions& options) {
  const auto status = ReadMountStatus(options.mount);
  if (!status) return Complain(status.error());
  if (options.json) {
    Json json = {{"mount", options.mount}};
    json.update(*status);
    Write(DumpJson(json));
    return kExitOk;
  }
  PrintOptions(options.mount, *status);
  Print("\n");
  PrintRequests(MemberOrNull(*status, "requests"));
  Print("\n");
  PrintCaches(MemberOrNull(*status, "caches"));
  Print("\n");
  PrintTotals(*status);
  PrintErrors(MemberOrNull(*status, "errors"));
  return kExitOk;
}

}  // namespace zarrfs::ctl
