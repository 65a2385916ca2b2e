#include "zarrcore/net/credentials.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace zarrfs::credentials_test {
namespace {

// A profile with a credential_process.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = "/tmp/credentials_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("AWS_CONFIG_FILE", (folder_ / "config").c_str(), 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", (folder_ / "none").c_str(), 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  }
  ~ProcessTest() override {
    unsetenv("AWS_CONFIG_FILE");
    unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    std::filesystem::remove_all(folder_);
  }
  Result<ExpiringKey> Find(const std::string& command) {
    std::ofstream(folder_ / "config") << "[profile p]\ncredential_process = " << command << "\n";
    RemoteSource source;
    source.options.profile = "p";
    return FindKey(source);
  }
  std::filesystem::path folder_;
};

constexpr const char* kKey = R"(echo '{"AccessKeyId": "id", "SecretAccessKey": "secret"}')";

TEST_F(ProcessTest, ItsOutputIsTheKey) {
  EXPECT_EQ(Find(kKey)->key.secret, "secret");
  EXPECT_EQ(Find("echo {}").error().code, ErrorCode::kPermissionDenied);
}

TEST_F(ProcessTest, OneThatClosesItsOutputAndGoesOnIsKilled) {
  const auto begun = std::chrono::steady_clock::now();
  const auto found =
      Find(std::string(kKey) + "; echo $$ >" + (folder_ / "pid").string() + "; exec sleep 30 >&-");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->key.secret, "secret");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  pid_t pid = 0;
  std::ifstream(folder_ / "pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace zarrfs::credentials_test
