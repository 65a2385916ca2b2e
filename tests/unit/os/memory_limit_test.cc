#include "zarrcore/os/memory_limit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>

namespace zarrfs::memory_limit_test {
namespace {

namespace fs = std::filesystem;

// A temporary folder laid out like /sys/fs/cgroup.
class ControlGroups {
 public:
  ControlGroups() {
    std::string name = (fs::temp_directory_path() / "zarrfs-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~ControlGroups() { fs::remove_all(root_); }
  ControlGroups(const ControlGroups&) = delete;
  ControlGroups& operator=(const ControlGroups&) = delete;

  void Put(const std::string& group, const std::string& limit,
           const std::string& file = "memory.max") const {
    fs::create_directories(root_ / group);
    std::ofstream(root_ / group / file) << limit << "\n";
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
  EXPECT_EQ(groups.Limit(""), std::nullopt);
  groups.Put("", "500");
  EXPECT_EQ(groups.Limit("0::/system.slice/zarrfs.service\n"), 500U) << "in a container";
}

TEST(MemoryLimitTest, LimitsOfVersion1CountToo) {
  const ControlGroups groups;
  groups.Put("memory", "9223372036854771712", "memory.limit_in_bytes");
  groups.Put("memory/slurm/uid_1000", "3000", "memory.limit_in_bytes");
  groups.Put("memory/slurm/uid_1000/job_7", "4000", "memory.limit_in_bytes");
  EXPECT_EQ(groups.Limit("4:memory:/slurm/uid_1000/job_7\n1:name=systemd:/\n"), 3000U);
  EXPECT_EQ(groups.Limit("4:cpu,memory:/slurm/uid_1000/job_7\n0::/\n"), 3000U);
  EXPECT_EQ(groups.Limit("4:pids:/slurm/uid_1000\n"), std::nullopt);
  EXPECT_EQ(groups.Limit("4:memory\n:\n\n4:memory:none"), std::nullopt);
}

TEST(MemoryLimitTest, ASlurmJobHasTheMemoryItRequested) {
  std::map<std::string, std::string> variables;
  const auto limit = [&] {
    return SlurmLimit([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(limit(), std::nullopt);
  variables = {{"SLURM_MEM_PER_NODE", "2048"}};
  EXPECT_EQ(limit(), uint64_t{2} << 30);
  variables = {{"SLURM_MEM_PER_CPU", "1024"}, {"SLURM_CPUS_ON_NODE", "3"}};
  EXPECT_EQ(limit(), uint64_t{3} << 30);
  for (const char* const wrong :
       {"0", "", "-1", "2G", "18446744073709551615", "99999999999999999999"}) {
    variables = {{"SLURM_MEM_PER_NODE", wrong}};
    EXPECT_EQ(limit(), std::nullopt) << wrong;
  }
}

TEST(MemoryLimitTest, MoreThanHalfOfTheMemoryIsAWarning) {
  EXPECT_EQ(MemoryWarning(uint64_t{512} << 20, uint64_t{1} << 30), "");
  EXPECT_EQ(MemoryWarning(uint64_t{513} << 20, uint64_t{1} << 30),
            "memory=513M is more than half of the 1024M that this process may use: the kernel may "
            "kill it");
}

TEST(MemoryLimitTest, DefaultIsBetween128MebibytesAndFourGibibytes) {
  EXPECT_GE(DefaultMemory(), uint64_t{128} << 20);
  EXPECT_LE(DefaultMemory(), uint64_t{4} << 30);
}

}  // namespace
}  // namespace zarrfs::memory_limit_test
