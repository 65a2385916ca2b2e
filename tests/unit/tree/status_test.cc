#include "fs/tree/status.h"

#include <gtest/gtest.h>

#include <string>

#include "zarrcore/metadata/json.h"

namespace zarrfs::status_test {
namespace {

MountStatus Example() {
  MountStatus status;
  status.pid = 42;
  status.keeper_version = "0.0.9";
  status.log_level = "info";
  status.capabilities = "none";
  status.sandbox = "landlock 6, seccomp";
  status.store = "/data/ocean.zarr";
  status.options = "view=v2";
  status.view = "v2";
  status.links = "follow";
  status.consolidated_max = 4096;
  status.watch.folders = 3;
  status.keeps_names = true;
  status.old_versions = 1;
  status.index_cache = 1000;
  status.cache = 2000;
  status.node_cache = 3000;
  status.threads = 4;
  status.no_io_uring = "noio_uring";
  status.figures.index_cache = {
      .hits = 1, .misses = 2, .evictions = 3, .bytes = 100, .limit = 1000};
  status.figures.memory_bytes = 500;
  status.figures.memory_limit = 5000;
  return status;
}

Json Parsed(const MountStatus& status) {
  auto json = ParseJson(StatusJson(status), "status.json");
  EXPECT_TRUE(json) << json.error().message;
  return json ? *json : Json();
}

TEST(StatusTest, OptionsTextHasALineForEachOption) {
  EXPECT_EQ(OptionsText(Example()),
            "version: " ZARRFS_VERSION
            "\n"
            "keeper version: 0.0.9\n"
            "pid: 42\n"
            "log_level: info\n"
            "capabilities: none\n"
            "sandbox: landlock 6, seccomp\n"
            "source: /data/ocean.zarr\n"
            "store: there\n"
            "options: view=v2\n"
            "view: v2\n"
            "links: follow\n"
            "separator: auto\n"
            "consolidated_max: 4096\n"
            "changes: reported by the store\n"
            "watched folders: 3\n"
            "names: kept until something changes\n"
            "open: auto\n"
            "old versions: 1 kept, for 60 s after the last read, 1024 at most\n"
            "memory: 500 of 5000 bytes\n"
            "index_cache: 100 of 1000 bytes\n"
            "cache: 0 of 2000 bytes\n"
            "node_cache: 3000 bytes\n"
            "threads: 4\n"
            "requests: through /dev/fuse (noio_uring)\n");
}

TEST(StatusTest, OptionsTextSaysHowChangesAreDetected) {
  MountStatus status = Example();
  const auto has = [&](const std::string& lines) {
    return OptionsText(status).find("\n" + lines + "\n") != std::string::npos;
  };
  status.keeps_names = false;
  status.watch.limit = "too many folders";
  EXPECT_TRUE(
      has("elsewhere: checked for after a tenth of their age, 1 to 60 s: too many folders\n"
          "names: kept for a tenth of their age, 1 to 60 s, invalidated one by one"));
  status.not_watched = "not local";
  EXPECT_TRUE(
      has("changes: checked for after a tenth of their age, 1 to 60 s\n"
          "not watched: not local\n"
          "open: auto"));
  EXPECT_EQ(Parsed(status)["changes"]["detected_by"], "age");
  status.ttl = 2.5;
  EXPECT_TRUE(has("changes: checked for every 2.5 s (ttl)\nopen: auto"));
  EXPECT_EQ(Parsed(status)["changes"]["detected_by"], "ttl");
  status.immutable = true;
  EXPECT_TRUE(has("changes: not checked for (immutable)\nopen: auto"));
  EXPECT_EQ(Parsed(status)["changes"]["detected_by"], "immutable");
}

// The keys are documented in docs/METRICS.md: whoever renames one raises kStatusFormat.
TEST(StatusTest, JsonHasTheDocumentedKeys) {
  std::string keys;
  const Json json = Parsed(Example());
  for (const auto& [key, value] : json.items()) {
    keys += key + " ";
    if (!value.is_object() || key == "requests") continue;
    for (const auto& member : value.items()) keys += key + "." + member.key() + " ";
  }
  EXPECT_EQ(
      keys,
      "format version keeper_version pid start_time_seconds log_level capabilities sandbox fetcher "
      "store store.name store.problem store.reads store.read_bytes store.errors network "
      "options config_file view views links separator fill ome compressors nc string_scan "
      "consolidated_max "
      "changes changes.detected_by changes.ttl_seconds changes.not_watched "
      "changes.watched_folders changes.watch_limit changes.keeps_names "
      "open old_versions old_versions.kept old_versions.limit old_versions.grace_seconds "
      "old_versions.known old_versions.known_limit "
      "caches caches.index caches.chunk memory memory.bytes memory.limit_bytes "
      "node_cache_bytes threads io_uring no_io_uring "
      "requests read_bytes read_ahead_files arrays damage errors ");
  EXPECT_EQ(json["caches"]["index"], Json::parse(R"({"bytes": 100, "limit_bytes": 1000, "hits": 1,
                                                     "misses": 2, "evictions": 3})"));
  EXPECT_EQ(json["requests"]["read"],
            Json::parse(R"({"ok": 0, "absent": 0, "error": 0, "timed": 0})"));
  EXPECT_EQ(json["requests"]["other"], Json::parse(R"({"ok": 0, "absent": 0, "error": 0})"));
}

TEST(StatusTest, QuantileLiesInsideItsBucket) {
  MountStatus status = Example();
  Durations& reads = status.figures.requests.durations[static_cast<size_t>(Operation::kRead)];
  reads.counts[0] = 500;  // up to 10 us
  reads.counts[3] = 500;  // 50 to 100 us
  reads.sum_ns = 40'000'000;
  const Json json = Parsed(status)["requests"]["read"];
  EXPECT_EQ(json["timed"], 1000);
  EXPECT_DOUBLE_EQ(json["mean_seconds"], 40e-6);
  EXPECT_DOUBLE_EQ(json["p99_seconds"], 50e-6 + 50e-6 * 490 / 500);
  reads.counts.back() = 1000;  // longer than the last bound
  EXPECT_DOUBLE_EQ(Parsed(status)["requests"]["read"]["p99_seconds"], 10);
}

TEST(StatusTest, JsonIsValidWhateverTheStoreIsCalled) {
  MountStatus status = Example();
  status.store = "/data/\xff\"ocean";
  EXPECT_EQ(Parsed(status)["store"]["name"], "/data/\xef\xbf\xbd\"ocean");
}

}  // namespace
}  // namespace zarrfs::status_test
