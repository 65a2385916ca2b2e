// The folder ".zarrfs" at the root of a mount.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "fs/mount/session.h"
#include "tests/mount/mounted.h"
#include "tests/mount/programs.h"
#include "tests/mount/sample_store.h"
#include "zarrcore/metadata/json.h"

namespace zarrfs::status_test {
namespace {

namespace fs = std::filesystem;

std::set<std::string> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

class StatusTest : public testing::Test {
 protected:
  StatusTest() { (void)WriteSampleStore(store_); }
  TemporaryFolder folder_;
  const fs::path store_ = folder_ / "sample.zarr";
};

TEST_F(StatusTest, CanBeOpenedAndIsNotListed) {
  for (const std::string options : {"", "view=v2"}) {
    TestMount mount(store_, options);
    EXPECT_FALSE(NamesIn(mount.path()).contains(".zarrfs"));
    EXPECT_EQ(NamesIn(mount / ".zarrfs"),
              (std::set<std::string>{"errors", "metrics", "options", "status.json"}));
    EXPECT_FALSE(fs::exists(mount / ".zarrfs/nothing"));
    EXPECT_FALSE(fs::exists(mount / "a/.zarrfs"));
    EXPECT_EQ(RunProgram({"cp", "-r", mount / ".zarrfs", folder_ / ("copy" + options)}).code, 0);
  }
}

TEST_F(StatusTest, OptionsSayWhatIsInForce) {
  const auto options_of = [&](const std::string& options) {
    TestMount mount(store_, options);
    const std::string text = ReadFile(mount / ".zarrfs/options");
    EXPECT_EQ(text.size(), fs::file_size(mount / ".zarrfs/options"));
    return text;
  };
  const auto has = [](const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
  };
  const std::string plain = options_of("");
  EXPECT_TRUE(has(plain, "source: " + store_.string())) << plain;
  EXPECT_TRUE(has(plain, "changes: reported by the store")) << plain;
  const std::string ttl = options_of("ttl=5,consolidated=no,separator=/");
  EXPECT_TRUE(has(ttl, "changes: checked for every 5 s (ttl)")) << ttl;
  EXPECT_TRUE(has(ttl, "consolidated: no")) << ttl;
  EXPECT_TRUE(has(ttl, "separator: /")) << ttl;
  EXPECT_TRUE(has(options_of("immutable"), "changes: not checked for (immutable)"));
  EXPECT_TRUE(has(options_of("noio_uring"), "requests: through /dev/fuse (noio_uring)"));
  EXPECT_TRUE(has(plain, "requests: through /dev/fuse (io_uring is not set)")) << plain;
  MountOptions uring;
  uring.io_uring = true;
  const std::string why = WhyNoIoUring(uring);
  TestMount asked(store_, "io_uring");
  EXPECT_EQ(asked.Log().find("io_uring is not used: ") == std::string::npos, why.empty())
      << asked.Log();
}

TEST_F(StatusTest, ErrorsNameWhatTheStoreHasWrong) {
  Replace(store_ / "a/c/0/0", "no shard at all");
  Replace(store_ / "broken/zarr.json", "{");
  TestMount mount(store_);
  EXPECT_EQ(ReadFile(mount / ".zarrfs/errors"), "");
  EXPECT_NE(RunProgram({"cat", mount / "v2/a/0.0"}).code, 0);
  EXPECT_EQ(ReadFile(mount / "v2/broken/.zarray"), "");
  const std::string errors = ReadFile(mount / ".zarrfs/errors");
  EXPECT_NE(errors.find("a/c/0/0"), std::string::npos) << errors;
  EXPECT_NE(errors.find("broken/zarr.json"), std::string::npos) << errors;
}

TEST_F(StatusTest, JsonHasOptionsFiguresAndErrors) {
  Replace(store_ / "broken/zarr.json", "{");
  TestMount mount(store_, "view=v2,ttl=5,fill=keep");
  EXPECT_NE(ReadFile(mount / "a/.zarray"), "");
  EXPECT_EQ(ReadFile(mount / "broken/.zarray"), "");
  const auto json = ParseJson(ReadFile(mount / ".zarrfs/status.json"), "status.json");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ((*json)["format"], 1);
  EXPECT_EQ((*json)["store"]["name"], store_.string());
  EXPECT_EQ((*json)["store"]["problem"], nullptr);
  EXPECT_GT((*json)["store"]["reads"], 0);
  EXPECT_EQ((*json)["view"], "v2");
  EXPECT_EQ((*json)["fill"], "keep");
  EXPECT_EQ((*json)["changes"]["detected_by"], "ttl");
  EXPECT_EQ((*json)["changes"]["ttl_seconds"], 5);
  EXPECT_EQ((*json)["log_level"], "info");
  EXPECT_GT((*json)["requests"]["read"]["ok"], 0);
  EXPECT_GT((*json)["read_bytes"], 0);
  EXPECT_GT((*json)["caches"]["index"]["limit_bytes"], 0);
  ASSERT_EQ((*json)["errors"].size(), 1) << (*json)["errors"];
  EXPECT_NE((*json)["errors"][0].get<std::string>().find("broken/zarr.json: "), std::string::npos)
      << (*json)["errors"];
}

TEST_F(StatusTest, OpenFileKeepsItsTextWhileOthersAreMade) {
  TestMount mount(store_);
  const int fd = open((mount / ".zarrfs/errors").c_str(), O_RDONLY);
  struct stat first = {}, second = {};
  ASSERT_EQ(fstat(fd, &first), 0);
  Replace(store_ / "broken/zarr.json", "{");
  EXPECT_EQ(ReadFile(mount / "v2/broken/.zarray"), "");
  EXPECT_NE(ReadFile(mount / ".zarrfs/errors"), "");
  char byte = 0;
  EXPECT_EQ(read(fd, &byte, 1), 0) << "as it was when it was opened: empty";
  ASSERT_EQ(stat((mount / ".zarrfs/errors").c_str(), &second), 0);
  EXPECT_NE(first.st_ino, second.st_ino);
  close(fd);
}

}  // namespace
}  // namespace zarrfs::status_test
