#include "fs/options/memory_limit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace zarrfs::memory_limit_test {
namespace {

namespace fs = std::filesystem;

// A folder like /sys/fs/cgroup, removed in the end.
class ControlGroups {
 public:
  ControlGroups() {
    std::string name = (fs::temp_directory_path() / "zarrfs-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~ControlGroups() { fs::remove_all(root_); }
  ControlGroups(const ControlGroups&) = delete;
  ControlGroups& operator=(const ControlGroups&) = delete;

  void Put(const std::string& group, const std::string& limit) const {
    fs::create_directories(root_ / group);
    std::ofstream(root_ / group / "memory.max") << limit << "\n";
  }
  [[nodiscard]] std::optional<uint64_t> Limit(std::string_view membership) const {
    return ControlGroupLimit(root_, membership);
  }

 private:
  fs::path root_;
};

TEST(MemoryLimitTest, LeastLimitOfAllGroupsAboveCounts) {
  const ControlGroups groups;
  groups.Put("system.slice", "2000");
  groups.Put("system.slice/zarrfs.service", "max");
  groups.Put("system.slice/other.service", "1000");
  EXPECT_EQ(groups.Limit("0::/system.slice/zarrfs.service\n"), 2000U);
  EXPECT_EQ(groups.Limit("12:memory:/elsewhere\n0::/system.slice/other.service\n"), 1000U);
  EXPECT_EQ(groups.Limit("0::/\n"), std::nullopt) << "the root has no such file";
  EXPECT_EQ(groups.Limit("0::/user.slice\n"), std::nullopt);
  EXPECT_EQ(groups.Limit("12:memory:/system.slice\n"), std::nullopt) << "version 1";
  EXPECT_EQ(groups.Limit(""), std::nullopt);
  groups.Put("", "500");
  EXPECT_EQ(groups.Limit("0::/system.slice/zarrfs.service\n"), 500U) << "in a container";
}

TEST(MemoryLimitTest, DefaultIsBetweenHalfAGibibyteAndFour) {
  EXPECT_GE(DefaultMemory(), uint64_t{512} << 20);
  EXPECT_LE(DefaultMemory(), uint64_t{4} << 30);
}

}  // namespace
}  // namespace zarrfs::memory_limit_test
