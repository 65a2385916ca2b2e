// docs/SEMANTICS.md names the test that executes each promise.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/mount/programs.h"

namespace zarrfs::promises_test {
namespace {

TEST(PromisesTest, EveryTestNamedInTheDocumentExistsAndEveryTestIsNamed) {
  const std::string document =
      ReadFile(std::filesystem::path(ZARRFS_SOURCE_DIR) / "docs/SEMANTICS.md");
  ASSERT_NE(document, "");
  std::set<std::string> named;
  const std::regex name("`([A-Z][A-Za-z0-9]*Test\\.[A-Za-z0-9]+)`");
  for (std::sregex_iterator at(document.begin(), document.end(), name), end; at != end; ++at) {
    named.insert((*at)[1]);
  }
  std::set<std::string> existing;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int suite = 0; suite < tests.total_test_suite_count(); ++suite) {
    const testing::TestSuite& tests_of_suite = *tests.GetTestSuite(suite);
    if (tests_of_suite.name() == std::string("PromisesTest")) continue;
    for (int i = 0; i < tests_of_suite.total_test_count(); ++i) {
      // All parameters of a test are one promise. A parameter follows a slash.
      const std::string test = tests_of_suite.GetTestInfo(i)->name();
      existing.insert(std::string(tests_of_suite.name()) + "." + test.substr(0, test.find('/')));
    }
  }
  for (const std::string& test : named) EXPECT_TRUE(existing.contains(test)) << test;
  for (const std::string& test : existing) EXPECT_TRUE(named.contains(test)) << test;
}

}  // namespace
}  // namespace zarrfs::promises_test
