#include "zarrcore/net/virtual_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "zarrcore/net/remote_source.h"

namespace zarrfs::virtual_file_test {
namespace {

class VirtualFileTest : public ::testing::Test {
 protected:
  VirtualFileTest() {
    for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3",
                             "AWS_ENDPOINT_URL", "AWS_PROFILE", "HOME"}) {
      unsetenv(name);
    }
    char folder[] = "/tmp/virtual_file_test.XXXXXX";
    top_ = mkdtemp(folder);
  }
  ~VirtualFileTest() override { std::filesystem::remove_all(top_); }

  static std::string ErrorOf(std::string_view text) {
    std::vector<VirtualPrefix> prefixes;
    const auto added = AddVirtualFile(text, "F", prefixes);
    return added ? "" : added.error().message;
  }
  // The sources of the prefixes in `text`, which must be valid.
  static std::vector<RemoteSource> SourcesOf(std::string_view text) {
    std::vector<VirtualPrefix> prefixes;
    EXPECT_TRUE(AddVirtualFile(text, "F", prefixes));
    const auto source = ParseRemoteSource("/data/ocean", {}, prefixes);
    EXPECT_TRUE(source);
    return source ? source->prefixes : std::vector<RemoteSource>();
  }
  // The error of reading a file with this text and mode.
  [[nodiscard]] std::string ErrorOfFile(const std::string& text, mode_t mode) const {
    const std::string path = top_ / "prefixes";
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    const auto read = ReadVirtualFile(path);
    EXPECT_EQ(read.value_or(text), text);
    return read ? "" : read.error().message;
  }

  std::filesystem::path top_;
};

TEST_F(VirtualFileTest, EachLineIsAPrefixWithItsOwnOptions) {
  const auto sources = SourcesOf(
      "# comment\n"
      "\n"
      "  s3://one/a/  region=eu-north-1\tprofile=ocean \r\n"
      "s3://two/ endpoint=https://minio.example:9000 addressing=path\n"
      "https://host/nc/ headers=/home/me/a\\ token query=/q\n"
      "file:///data/nc/\n"
      "s3://three/");
  ASSERT_EQ(sources.size(), 4U);
  EXPECT_EQ(sources[0].url, "https://one.s3.eu-north-1.amazonaws.com/a");
  EXPECT_EQ(sources[0].region, "eu-north-1");
  EXPECT_EQ(sources[0].options.profile, "ocean");
  EXPECT_EQ(sources[1].url, "https://minio.example:9000/two");
  EXPECT_EQ(sources[2].options.headers_file, "/home/me/a token");
  EXPECT_EQ(sources[2].options.query_file, "/q");
  EXPECT_EQ(sources[3].url, "https://three.s3.us-east-1.amazonaws.com");
  for (const RemoteSource& source : sources) EXPECT_TRUE(source.is_virtual);
}

TEST_F(VirtualFileTest, ABucketIsReadUnsignedUnlessItsLineSaysWhoAsks) {
  const auto sources = SourcesOf(
      "s3://b/1/ region=eu-north-1\n"
      "s3://b/2/ profile=ocean\n"
      "s3://b/3/ requester_pays\n"
      "s3://b/4/ anonymous=no\n"
      "s3://b/5/ profile=ocean anonymous\n"
      "https://host/\n"
      "https://host/nc/ headers=/token\n");
  ASSERT_EQ(sources.size(), 7U);
  const bool expected[] = {false, true, true, true, false, false, true};
  for (size_t at = 0; at < sources.size(); ++at) {
    EXPECT_EQ(sources[at].has_credentials(), expected[at]) << sources[at].name;
  }
}

TEST_F(VirtualFileTest, AProfileOfALineNamesItsRegionAndEndpoint) {
  std::ofstream(top_ / "config") << "[profile ocean]\nregion = eu-west-3\n";
  setenv("AWS_CONFIG_FILE", (top_ / "config").c_str(), 1);
  const auto sources = SourcesOf("s3://Bucket/a%20b/ profile=ocean\ns3://two/\n");
  ASSERT_EQ(sources.size(), 2U);
  const RemoteSource source = WithProfile(sources[0]);
  unsetenv("AWS_CONFIG_FILE");
  EXPECT_EQ(source.url, "https://s3.eu-west-3.amazonaws.com/Bucket/a%20b");
  EXPECT_EQ(source.name, "s3://Bucket/a%20b");
  EXPECT_TRUE(source.is_virtual) << "it is guarded still";
}

TEST_F(VirtualFileTest, AnErrorNamesTheLineAndWhatIsWrong) {
  EXPECT_EQ(ErrorOf("# x\n\nnonsense\n"),
            "F:3: nonsense: it is not an address that begins with file://, s3://, http:// or "
            "https://");
  EXPECT_EQ(ErrorOf("s3://b/a\n"), "F:1: s3://b/a: it must end in '/'");
  EXPECT_EQ(ErrorOf("s3://b/ list=/x"),
            "F:1: 'list=/x': expected options of this prefix, which are region, endpoint, "
            "addressing, profile, requester_pays, headers, query, anonymous");
  EXPECT_EQ(ErrorOf("https://h/ region=x"),
            "F:1: 'region=x': expected options of this prefix, which are headers, query");
  EXPECT_EQ(ErrorOf("file:///a/ headers=/x"), "F:1: 'headers=/x': a folder has no options");
  EXPECT_EQ(ErrorOf("https://h/ headers=token"),
            "F:1: 'headers=token': expected a path that begins with /");
  EXPECT_EQ(ErrorOf("s3://b/ addressing=both"),
            "F:1: 'addressing=both': invalid value (see zarrfs --help)");
  EXPECT_EQ(ErrorOf("s3://b/ region=a region=b"), "F:1: 'region=b': given twice");
  EXPECT_EQ(ErrorOf("s3://b/\nhttps://h/ # not a comment"),
            "F:2: '#': expected options of this prefix, which are headers, query");
  EXPECT_EQ(ErrorOf("s3://b/ region=a\ns3://b/"),
            "F:2: 's3://b/': given twice: in virtual= or in an earlier line, too");
  EXPECT_NE(ErrorOf("s3://b/ endpoint=ftp://x").find("expected https://HOST"), std::string::npos);
  EXPECT_NE(ErrorOf("s3://b/ endpoint=https://me:secret@x").find("no user name"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string("s3://b/\0/", 9)), "");
}

TEST_F(VirtualFileTest, APrefixOfVirtualIsNotGivenAgain) {
  std::vector<VirtualPrefix> prefixes = {*ParseVirtualPrefix("s3://b/")};
  const auto added = AddVirtualFile("s3://b/ profile=x\n", "F", prefixes);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message,
            "F:1: 's3://b/': given twice: in virtual= or in an earlier line, too");
}

TEST_F(VirtualFileTest, ThereAreAtMost64) {
  std::string text;
  for (size_t n = 0; n < kMaxVirtualPrefixes; ++n) text += fmt::format("s3://b/{}/\n", n);
  EXPECT_EQ(ErrorOf(text), "");
  EXPECT_EQ(ErrorOf(text + "s3://c/\n"), "F:65: more than 64 prefixes");
}

TEST_F(VirtualFileTest, AFileThatSaysWhereCredentialsGoIsChangedByItsOwnerAlone) {
  const std::string plain = "s3://b/ region=eu-north-1\n";
  const std::string named = "s3://b/ profile=ocean\n";
  EXPECT_EQ(ErrorOfFile(plain, 0666), "");
  EXPECT_EQ(ErrorOfFile(named, 0644), "");
  EXPECT_NE(ErrorOfFile(named, 0664).find("may write to it"), std::string::npos);
  EXPECT_EQ(chmod(top_.c_str(), 0777), 0);
  EXPECT_NE(ErrorOfFile(named, 0644).find("a folder above it"), std::string::npos);
  EXPECT_EQ(chmod(top_.c_str(), 0700), 0);
  EXPECT_EQ(ErrorOfFile(named, 0600), "");
  if (geteuid() != 0) return;
  EXPECT_EQ(chown((top_ / "prefixes").c_str(), 12345, 12345), 0);
  const auto read = ReadVirtualFile(top_ / "prefixes");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("found one of user 12345"), std::string::npos);
}

TEST_F(VirtualFileTest, AFileThatIsMissingOrTooLargeIsRefused) {
  EXPECT_EQ(ReadVirtualFile("/nowhere/prefixes").error().message,
            "virtual_file=/nowhere/prefixes: No such file or directory");
  EXPECT_NE(ErrorOfFile(std::string((64U << 10) + 1, '#'), 0644).find("larger than 65536 bytes"),
            std::string::npos);
  EXPECT_EQ(ErrorOfFile(std::string(64U << 10, '#'), 0644), "");
}

}  // namespace
}  // namespace zarrfs::virtual_file_test
