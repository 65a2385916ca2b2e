#include "zarrcore/net/secret_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "zarrcore/net/remote_source.h"

namespace zarrfs {
namespace {

class SecretFilesTest : public testing::Test {
 protected:
  // The folder is in /tmp, whose sticky bit keeps other users from replacing it.
  SecretFilesTest() {
    char folder[] = "/tmp/secret_files_test.XXXXXX";
    top_ = mkdtemp(folder);
    options_.headers_file = top_ / "headers";
    Write("headers", "Token: one\n");
    secrets_ = ReadSecretFiles(options_);
  }
  ~SecretFilesTest() override { std::filesystem::remove_all(top_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(top_ / "new") << text;
    std::filesystem::rename(top_ / "new", top_ / name);
  }
  void Link(const std::filesystem::path& target) const {
    std::filesystem::remove(top_ / "headers");
    std::filesystem::create_symlink(target, top_ / "headers");
  }

  std::filesystem::path top_;
  RemoteOptions options_;
  SecretTexts secrets_;
};

TEST_F(SecretFilesTest, ChangedFileIsReadAgain) {
  EXPECT_EQ(secrets_.headers.text, "Token: one\n");
  Write("headers", "Token: two\n");
  EXPECT_NE(VersionOfSecrets(options_), secrets_.version);
  EXPECT_EQ(RenewSecrets(options_, secrets_), "");
  EXPECT_EQ(secrets_.headers.text, "Token: two\n");
  EXPECT_EQ(VersionOfSecrets(options_), secrets_.version);
}

// Kubernetes replaces a secret this way: the name is a link to a file below a link to a folder.
TEST_F(SecretFilesTest, LinkToAnotherFileOfTheOwnerIsFollowed) {
  std::filesystem::create_directory(top_ / "1");
  Write("1/token", "Token: two\n");
  Link("1/token");
  EXPECT_EQ(RenewSecrets(options_, secrets_), "");
  EXPECT_EQ(secrets_.headers.text, "Token: two\n");
}

TEST_F(SecretFilesTest, FileOfAnotherOwnerIsNotRead) {
  if (geteuid() == 0) {
    secrets_.headers.owner = 12345;
  } else {
    Link("/etc/passwd");
  }
  Write("other", "Other: file\n");
  if (geteuid() == 0) Link(top_ / "other");
  EXPECT_NE(RenewSecrets(options_, secrets_).find("headers: the file has changed"),
            std::string::npos);
  EXPECT_EQ(secrets_.headers.text, "Token: one\n");
}

TEST_F(SecretFilesTest, FileInAFolderThatOthersMayWriteToIsNotRead) {
  for (const mode_t mode : {0770U, 0707U}) {
    secrets_ = ReadSecretFiles(options_);
    Write("headers", "Token: two\n");
    ASSERT_EQ(chmod(top_.c_str(), mode), 0);
    EXPECT_NE(RenewSecrets(options_, secrets_).find("may write to it, or to a folder above it"),
              std::string::npos);
    EXPECT_NE(secrets_.version, "");
    ASSERT_EQ(chmod(top_.c_str(), 0700), 0);
    Write("headers", "Token: one\n");
  }
  EXPECT_EQ(secrets_.headers.text, "Token: one\n");
}

// The folder with the link is safe, but the folder of the link's target is not.
TEST_F(SecretFilesTest, NorAFileThatALinkLeadsToThere) {
  std::filesystem::create_directory(top_ / "open");
  Write("open/token", "Token: two\n");
  ASSERT_EQ(chmod((top_ / "open").c_str(), 0777), 0);
  Link("open/token");
  EXPECT_NE(RenewSecrets(options_, secrets_), "");
  EXPECT_EQ(secrets_.headers.text, "Token: one\n");
}

TEST_F(SecretFilesTest, EmptyOrMissingFileReplacesNoText) {
  Write("headers", "");
  EXPECT_NE(RenewSecrets(options_, secrets_).find("the file is empty"), std::string::npos);
  std::filesystem::remove(top_ / "headers");
  EXPECT_NE(RenewSecrets(options_, secrets_), "");
  EXPECT_EQ(secrets_.headers.text, "Token: one\n");
  Write("headers", "Token: two\n");
  EXPECT_EQ(RenewSecrets(options_, secrets_), "");
  EXPECT_EQ(secrets_.headers.text, "Token: two\n");
}

// The number of a descriptor may later belong to another file.
TEST_F(SecretFilesTest, DescriptorIsReadOnce) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "Token: pipe\n", 12), 12);
  close(ends[1]);
  options_.headers_file = "/dev/fd/" + std::to_string(ends[0]);
  SecretTexts secrets = ReadSecretFiles(options_);
  EXPECT_EQ(secrets.headers.text, "Token: pipe\n");
  EXPECT_EQ(secrets.version, "");
  close(ends[0]);
  EXPECT_EQ(RenewSecrets(options_, secrets), "");
  EXPECT_EQ(secrets.headers.text, "Token: pipe\n");
}

TEST_F(SecretFilesTest, NoMoreThan64KiBAreRead) {
  Write("headers", std::string(100'000, 'x'));
  EXPECT_EQ(ReadSecretFiles(options_).headers.text.size(), size_t{64} << 10);
}

}  // namespace
}  // namespace zarrfs
