#include "tests/mount/fake_mount.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/mount/mounted.h"

namespace zarrfs {

FakeMount::FakeMount(const std::filesystem::path& source, const std::string& options)
    : mountpoint_(folder_.Folder("mnt")) {
  std::array<int, 2> orders = {-1, -1};
  if (pipe2(orders.data(), O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
  orders_ = orders[1];
  program_ = std::make_unique<Program>(
      std::vector<std::string>{ProgramUnderTest("fake_mount"), source, mountpoint_, options},
      folder_ / "answers", folder_ / "log", orders[0]);
  close(orders[0]);
  Order("");
}

FakeMount::~FakeMount() {
  const Unmounted whatever_happens(mountpoint_);
  Order("release");
  close(orders_);
  EXPECT_EQ(program_->WaitFor(Seconds(10)), 0) << ReadFile(folder_ / "log");
}

void FakeMount::Order(const std::string& order) {
  if (!order.empty()) {
    const std::string line = order + "\n";
    if (write(orders_, line.data(), line.size()) < 0) ADD_FAILURE() << "it is gone";
  }
  std::string answer;
  const bool answered = Eventually(Seconds(15), [&] {
    const std::string answers = ReadFile(folder_ / "answers");
    const size_t end = answers.find('\n', answers_read_);
    if (end == std::string::npos) return program_->WaitFor(Seconds(0)).has_value();
    answer = answers.substr(answers_read_, end - answers_read_);
    answers_read_ = end + 1;
    return true;
  });
  EXPECT_TRUE(answered && answer == "ok")
      << order << ": " << answer << "; " << ReadFile(folder_ / "log");
}

}  // namespace zarrfs
